# The statements of README.md and docs/*.md.
#
# Each page has a server of its own, in whose database shop its SQL blocks run in
# order, as in psql.  If a block without a language follows, it is what psql must
# print, except for ids, times and sizes; it can leave out all but the last results.
# PAGES="README.md docs/outbox.md" chooses pages.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

use IPC::Run ();

my ($begin, $end) = ('@@@ begin ', '@@@ end ');

# Runs blocks in one psql.  Returns what it printed for each, by where the block is, and
# which of them it ran to their end.
sub run_blocks ($node, @blocks)
{
	my $script = $blocks[0]{text} =~ /^CREATE EXTENSION seqid\b/m ? '' : "CREATE EXTENSION seqid;\n\\c\n";
	my (%printed, %ended, $where);

	for my $block (@blocks)
	{
		my $stop = ($block->{output} // '') =~ /^ERROR:/m ? 'off' : 'on';

		$script .= "\\echo $begin$block->{where}\n\\set ON_ERROR_STOP $stop\n$block->{text}"
		  . "\\set ON_ERROR_STOP on\n\\echo $end$block->{where}\n";
	}
	IPC::Run::run([ 'psql', '-Xq', '-P', 'footer=off', '-d', $node->connstr('shop') ],
		'<', \$script, '>', \my $output, '2>&1', IPC::Run::timeout(900));
	for my $line (split /\n/, $output)
	{
		if ($line =~ /^$begin(.*)/) { $where = $1; $printed{$where} = ''; }
		elsif ($line =~ /^$end(.*)/) { $ended{$1} = 1; }
		else { $printed{ $where // '' } .= "$line\n"; }
	}
	return (\%printed, \%ended);
}

# The results in what psql prints, without what differs from run to run.  Examples have
# times before 2026, which are compared.
sub results ($text)
{
	for ($text)
	{
		s/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/<uuid>/g;
		s/\b20(2[6-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?([+-]\d\d(:\d\d)?)?/<time>/g;
		s/\b([4-9]\d{17}|1\d{18})\b/<id>/g;
		s/\b1[789]\d{11}\b/<milliseconds>/g;
		s/\b\d+\.\d{6,}\b/<number>/g;
		s/\b\d+ (bytes|kB|MB|GB)\b/<size>/g;
		s/\b\d+ ms\b/<time>/g;

		# Columns are as wide as what was replaced.
		s/-{2,}/-/g;
		s/ +/ /g;
		s/^ | $//mg;
		s/^\n+|\n+$//g;
	}
	return split /\n{2,}/, $text;
}

# Two texts: the output on the page, and the part of what was printed that it must equal.
sub comparable ($block, $printed)
{
	my @expected = results($block->{output});
	my @got = results($printed);

	splice @got, 0, @got - @expected if @got > @expected;
	s/\n.*//s for $block->{'only headings compared'} ? (@expected, @got) : ();
	return (join("\n\n", @got), join("\n\n", @expected));
}

sub test_blocks ($node, $page)
{
	my @blocks = grep { $_->{language} eq 'sql' } @{ $page->{blocks} };
	my ($printed, $ended) = run_blocks($node, grep { !$_->{'not run'} } @blocks);

	for my $block (@blocks)
	{
		my $where = $block->{where};
	  SKIP:
		{
			skip "$where: $block->{'not run'}", 1 if $block->{'not run'};
			ok($ended->{$where}, $where) or diag($printed->{$where} // 'not reached');
			next unless $ended->{$where} && $block->{output};
			my ($got, $expected) = comparable($block, $printed->{$where});
			is($got, $expected, "$where: output");
		}
	}
}

# What the extension has that the page does not name, with its arguments.
sub not_listed ($node, $page)
{
	my $text = join "\n", values %{ $page->{text} };
	my $objects = $node->safe_psql('postgres', <<'SQL');
LOAD 'seqid';
SELECT format('%s%s(%s)', CASE WHEN pronamespace = 'seqid'::regnamespace THEN 'seqid.' END, proname,
           regexp_replace(replace(replace(replace(
               regexp_replace(pg_get_function_arguments(p.oid), '(, )?\mOUT .*', ''),
               'timestamp with time zone', 'timestamptz'), 'integer', 'int'), 'IN ', ''), '::\w+', '', 'g'))
  FROM pg_proc p
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
 WHERE e.extname = 'seqid'
 UNION ALL
SELECT name FROM pg_settings WHERE name LIKE 'seqid.%'
SQL

	return grep { index($text, "`$_`") < 0 } split /\n/, $objects;
}

for my $path ($ENV{PAGES} ? split ' ', $ENV{PAGES} : ('README.md', glob 'docs/*.md examples/*/README.md'))
{
	my $page = SeqidPage->new($path);

	next unless grep { $_->{language} eq 'sql' } @{ $page->{blocks} };
	my $node = new_server($path =~ s/\W/_/gr, init => [ extra => [ '--no-locale', '-E', 'UTF8' ] ],
		conf => "timezone = 'UTC'\njit = off\nmax_parallel_workers_per_gather = 0\n");
	is(join("\n", not_listed($node, $page)), '', "$path: has all functions and settings")
	  if $path eq 'docs/reference.md';
	$node->safe_psql('postgres', 'CREATE DATABASE shop');
	test_blocks($node, $page);
	$node->stop('immediate');
}
done_testing();

# The pages of the documentation: links, spelling, names of the source.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use File::Basename qw(dirname);
use SeqidPage;
use Test::More;

# The anchors that GitHub makes of a page's headings.
sub anchors ($path)
{
	my @headings = map { /^#+ (.*)/ ? lc $1 : () } values %{ SeqidPage->new($path)->{text} };

	return map { s/[^\w\- ]//gr =~ tr/ /-/r } @headings;
}

sub broken_links ($page, $line)
{
	my @broken;

	while ($line =~ /(?:\]\(|\b(?:src|srcset|href)=")([^)"#\s]*)(?:#([^)"\s]*))?[)"]/g)
	{
		my ($file, $anchor) = ($1, $2);
		my $target = $file eq '' ? $page->{path} : dirname($page->{path}) . "/$file";

		next if $file =~ m{^https?://};
		next if resolves($target, $anchor);
		push @broken, $target . (defined $anchor ? "#$anchor" : '');
	}
	return @broken;
}

# Whether a file has the anchor, if one is named.
sub resolves ($target, $anchor)
{
	return -e $target && (!defined $anchor || grep { $_ eq $anchor } anchors($target));
}

# Names of a page that do not exist: a file of src/ or t/, and a function in the file that is
# named next, or anywhere in src/.
sub unknown_names ($page)
{
	my @unknown;
	my $text = join ' ', map { $page->{text}{$_} } sort { $a <=> $b } keys %{ $page->{text} };

	while ($text =~ /`([\w\/]+\.(?:c|h|pl|pml))`|`(\w+)\(\)`(?: in\s+`([\w\/.]+)`)?/g)
	{
		my ($file, $function, $in) = ($1, $2, $3);

		if (defined $file) { push @unknown, $file unless grep { -f } "src/$file", $file, "t/models/$file"; }
		else
		{
			my $source = SeqidPage::contents(grep { -f } defined $in ? "src/$in" : glob 'src/*.[ch] src/*/*.[ch] seqid--*.sql');

			push @unknown, $& unless $source =~ /^[\w *]*\b$function\(/m;
		}
	}
	return @unknown;
}

for my $path ('README.md', glob 'docs/*.md examples/*/README.md')
{
	my $page = SeqidPage->new($path);
	my @broken = map { broken_links($page, $_) } values %{ $page->{text} };

	is("@broken", '', "$path: links");
}

# Pages that hints, alerts and comments name
my @broken;
for my $path (glob 'src/*.[ch] src/*/*.[ch] seqid--*.sql examples/monitoring/* bench/*.sh scripts/*.sh t/*/*.pl')
{
	my $text = SeqidPage::contents($path);

	while ($text =~ m{\b(docs/[\w-]+\.md)(?:#([\w-]+))?}g) { push @broken, "$path: $&" unless resolves($1, $2); }
}
is(join("\n", @broken), '', 'pages that other files name');

# The page of monitoring has each alert.
my $operations = SeqidPage::contents('docs/operations.md');
my @alerts = SeqidPage::contents('examples/monitoring/alerts.yaml') =~ /^ *- alert: (\w+)/mg;
is(join(' ', grep { $operations !~ /\b$_\b/ } @alerts), '', 'docs/operations.md: alerts');

is(join("\n", unknown_names(SeqidPage->new($_))), '', "$_: files and functions exist")
  for 'docs/internals.md', 'docs/limits.md';

# The tables of promises name tests: 002 is t/002_concurrency.pl.
my @tests = grep { m{^(?:\d{3}|[a-z]\w*/\w+)$} } map { split /, / } SeqidPage::contents('docs/limits.md') =~ /\| ([^|\n]+) \|$/mg;
is(join(' ', grep { my $test = $_; !grep { -e } glob "t/$test.pl t/${test}_*.pl" } @tests), '', 'docs/limits.md: tests exist');
cmp_ok(scalar @tests, '>', 20, 'docs/limits.md: tests are named');

my $misspelt = `codespell -L inout README.md CHANGELOG.md CONTRIBUTING.md docs/*.md src/README.md seqid--1.0.sql src/*.[ch] src/*/*.[ch] 2>&1`;
is($misspelt, '', 'spelling');
is($?, 0, 'codespell has run; it is a package of Debian');

done_testing();

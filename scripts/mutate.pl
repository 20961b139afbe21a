#!/usr/bin/env perl
# mutate.pl: changes the sources in one place at a time, and runs the tests, which must fail.
#
# A change that no test sees is a survivor, which needs a test or a reason.

use v5.36;

use FindBin;
use File::Temp qw(tempdir);
use Getopt::Long;
use List::Util qw(first min shuffle);

my $usage = <<'USAGE';
usage: scripts/mutate.pl [OPTION...] [ARGUMENT...]

  --list        prints the changes without making them
  --sample N    one of N changes, at random; otherwise all
  --seed SEED   of the random choice
  --only REGEX  changes whose lines in the list match
  ARGUMENT      of make installcheck; otherwise the quick suites run in turn

The changes are those of the patterns in this file, and those by hand in scripts/mutations.
It uses the packages of scripts/test.sh, and ends by printing the survivors.
USAGE

my ($list, $sample, $seed, $only) = (0, 1, time, '');
GetOptions('list' => \$list, 'sample=i' => \$sample, 'seed=i' => \$seed, 'only=s' => \$only) or die $usage;
chdir "$FindBin::RealBin/.." or die $!;

my @suites = @ARGV ? [@ARGV] : (['ISOLATION='], ['REGRESS='], map { [ 'REGRESS=', 'ISOLATION=', 'TAP_TESTS=1', "PROVE_TESTS=$_" ] } glob 't/0*.pl');
srand $seed;
STDOUT->autoflush;

# How code is changed, and which of its places are taken outside of clock/, state/ and
# intern/: one of so many.  In these three, one of a third as many.
my @patterns = (
	[ 18, qr/ < /,        ' <= ' ],
	[ 18, qr/ > /,        ' >= ' ],
	[ 24, qr/ <= /,       ' < ' ],
	[ 24, qr/ >= /,       ' > ' ],
	[ 30, qr/ == /,       ' != ' ],
	[ 30, qr/ != /,       ' == ' ],
	[ 15, qr/ [-+] 1\b/,  '' ],
	[ 6,  qr/\bMax\(/,    'Min(' ],
	[ 6,  qr/\bMin\(/,    'Max(' ],
	[ 9,  qr/\bif \([^\n]*\)(?=\n\t+ereport\(ERROR)/,       'if (false)' ],
	[ 6,  qr/\n\t+\K(?:seqid_)?(?:check|prevent)_\w+\([^\n]*\);(?=\n)/, ';' ],
	[ 1,  qr/\bpg_(?:read|write|memory)_barrier\(\);/,      ';' ],
	[ 1,  qr/\n\t+\K\w*(?:LockBuffer|LockAcquire|LockRelationOid|LockTuple|_lock|make_wal_durable|XLogFlush)\((?![^\n]*UNLOCK)[^\n]*\);(?=\n)/, ';' ]);

sub contents ($path)
{
	open my $in, '<', $path or die "$path: $!";
	return join '', <$in>;
}

# Changes are hashes of file, at, length and new.
sub change ($file, $source, $at, $length, $new)
{
	my $line = 1 + substr($source, 0, $at) =~ tr/\n//;
	my $old = substr($source, $at, $length);
	my $code = (split /\n/, $source)[ $line - 1 ] =~ s/^\s+//r;

	return { file => $file, at => $at, length => $length, new => $new, text => "$file:$line: $code: '$old' -> '$new'" };
}

sub changes_by_pattern ($file)
{
	my $source = contents($file);
	my $divisor = $file =~ m{^src/(?:clock|state|intern)/} ? 3 : 1;
	my @changes;

	# Comments, texts and lines of the preprocessor do not count.
	my $code = $source =~ s{/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^#(?:[^\\\n]|\\.)*}{$& =~ s/[^\n]/_/gr}egmsr;
	for (@patterns)
	{
		my ($rarity, $pattern, $new) = @$_;

		while ($code =~ /$pattern/g)
		{
			state %seen;

			push @changes, change($file, $source, $-[0], $+[0] - $-[0], $new)
			  unless $seen{"$pattern $divisor"}++ % ($rarity > $divisor ? $rarity / $divisor : 1);
		}
	}
	return @changes;
}

sub changes_by_hand ()
{
	return map {
		my ($file, $old, $new) = /^(\S+): (.*) => (.*)$/ or die "scripts/mutations: $_\n";
		my $source = contents("src/$file");
		my $at = index $source, $old;

		die "src/$file does not contain this once: $old\n" if $at < 0 || index($source, $old, $at + 1) >= 0;
		change("src/$file", $source, $at, length $old, $new);
	} grep { /^[^#]/ } split /\n/, contents('scripts/mutations');
}

my @changes = grep { $_->{text} =~ /$only/ } changes_by_hand(), map { changes_by_pattern($_) } glob 'src/*.[ch] src/*/*.[ch]';
@changes = (shuffle @changes)[ 0 .. ($#changes / $sample) ] if $sample > 1;
if ($list) { say $_->{text} for @changes; exit; }

my $work = tempdir(CLEANUP => 1);
chmod 0755, $work;
my $pg_config = `bash -c 'set -e; . scripts/lib.sh; top=. work=$work; choose_major; private_postgres; copy_sources; echo max_prepared_transactions = 0 >\$work/source/defaults.conf; give_to_user; echo \$pg_config'`;
$? == 0 or die 'cannot copy PostgreSQL and the sources';
chomp $pg_config;

# Whether make succeeds within 10 minutes.  What it leaves running ends.
sub make_succeeds (@arguments)
{
	my @user = $> == 0 ? ('runuser', '-u', 'postgres', '--') : ();
	my $status = system "cd / && exec timeout -k 30 600 @user make -s -C $work/source PG_CONFIG=$pg_config with_llvm=no "
	  . join(' ', map { "'$_'" } @arguments) . " >$work/log 2>&1";

	kill 'KILL', map { m{(\d+)} } grep { (readlink $_ // '') =~ m{^$work/} } glob '/proc/[0-9]*/exe';
	return $status == 0;
}

my $server = 'EXTRA_REGRESS_OPTS=--temp-instance=./tmp_check --temp-config=defaults.conf';
# What notices the current state of the sources, or nothing.  Of TAP files, the last to notice
# a change comes first.
sub noticed_by ()
{
	return 'the compiler' unless make_succeeds('-j2', 'all') && make_succeeds('install');
	my $i = (first { !make_succeeds('installcheck', $server, @{ $suites[$_] }) } 0 .. $#suites) // return;
	splice @suites, min($i, 2), 0, my $suite = splice @suites, $i, 1;
	return "@$suite";
}

my $fault = noticed_by();
die "without a change: ", $fault, "\n", contents("$work/log") if defined $fault;
my @survivors;
for my $change (@changes)
{
	my $source = contents($change->{file});
	my $write = sub ($text) { open my $out, '>', "$work/source/$change->{file}" or die $!; print $out $text; };

	$write->(substr($source, 0, $change->{at}) . $change->{new} . substr $source, $change->{at} + $change->{length});
	my $by = noticed_by();
	push @survivors, $change unless defined $by;
	say $change->{text}, defined $by ? ": noticed by $by" : ': SURVIVES';
	$write->($source);
}
say scalar @changes, " changes with seed $seed, ", scalar @survivors, ' survivors';
say $_->{text} for @survivors;

# The litmus tests of t/litmus/ transcribe the sources.
#
# A line "FILE: FUNCTION: CODE ... CODE" of a litmus test lists accesses in their order.
# The function must contain them in that order, and a test must list each barrier of
# src/.  So a barrier that is removed, moved or added is an error here, and herd7 shows
# what it is for.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidPage;
use Test::More;

my %listed;

# The error of one line, or none
sub compare ($line)
{
	my ($file, $function, $codes) = split /: /, $line, 3;
	my $source = SeqidPage::contents("src/$file");

	$source =~ m/^\Q$function\E\(.*?^}$/ms or return 'no such function';
	my ($place, $end) = ($-[0], $+[0]);
	for my $code (split / \.\.\. /, $codes)
	{
		my $at = index $source, $code, $place;

		return "no \"$code\" in its place" if $at < 0 || $at >= $end;
		$listed{"$file $at"} = 1;
		$place = $at + 1;
	}
	return '';
}

for my $test (glob 't/litmus/*.litmus')
{
	my @lines = SeqidPage::contents($test) =~ m/^   (\w+\/\S+\.c: .*?)(?: \*\))?$/mg;

	cmp_ok(@lines, '>', 0, "$test lists accesses");
	is(compare($_), '', "$test: " . s/: [^:]*$//r) for @lines;
}

for my $path (glob 'src/*/*.[ch] src/*.c')
{
	my ($source, $file) = (SeqidPage::contents($path), $path =~ s/^src\///r);

	while ($source =~ m/pg_(?:read|write|memory)_barrier\(\)/g)
	{
		ok($listed{"$file $-[0]"}, "$path: $& at character $-[0] is listed");
	}
}

done_testing();

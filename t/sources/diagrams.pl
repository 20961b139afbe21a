# The diagrams of docs/diagrams/ are those that draw.pl makes of diagrams.txt, and the charts
# of docs/ those that charts.pl makes of bench/results/.

use strict;
use warnings;

use File::Temp qw(tempdir);
use Test::More;

sub contents
{
	open my $in, '<', $_[0] or return '';
	return join '', <$in>;
}

# Names of the files in a directory, without it.  The demo draws what it measures.
sub names
{
	return join ' ', grep { $_ ne 'leaf_pages.svg' } map { s{.*/}{}r } glob "$_[0]/*.svg";
}

# check(COMMITTED, COMMAND): the command draws the pictures of a directory, and no other ones.
sub check
{
	my ($committed, @command) = @_;
	my $directory = tempdir(CLEANUP => 1);

	is(system($^X, @command, $directory), 0, "$command[0] draws");
	is(names($committed), names($directory), "each picture of $committed is drawn");
	for my $drawn (glob "$directory/*.svg")
	{
		my $file = $drawn =~ s{.*/}{$committed/}r;

		ok(contents($drawn) eq contents($file), "$file is as drawn") or diag("run @command $committed");
	}
	return;
}

check('docs/diagrams', 'docs/diagrams/draw.pl');
check('docs', 'bench/charts.pl', 'bench/results');

done_testing();

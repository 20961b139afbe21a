# The diagrams of docs/diagrams/ are those that draw.pl makes of diagrams.txt.

use strict;
use warnings;

use File::Temp qw(tempdir);
use Test::More;

my $directory = tempdir(CLEANUP => 1);

sub contents
{
	open my $in, '<', $_[0] or return '';
	return join '', <$in>;
}

# Names of the files in a directory, without it.
sub names
{
	return join ' ', map { s{.*/}{}r } glob "$_[0]/*.svg";
}

is(system($^X, 'docs/diagrams/draw.pl', $directory), 0, 'draw.pl draws them');
is(names('docs/diagrams'), names($directory), 'each has its file');
for my $drawn (glob "$directory/*.svg")
{
	my $file = $drawn =~ s{.*/}{docs/diagrams/}r;

	ok(contents($drawn) eq contents($file), "$file is as drawn") or diag('run docs/diagrams/draw.pl docs/diagrams');
}

done_testing();

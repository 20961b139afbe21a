# Files that are made of others are as they are made: the diagrams of docs/diagrams/ of
# diagrams.txt, and the charts of docs/ of bench/results/.  The files for other exporters have
# the queries of examples/monitoring/queries.yaml.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use File::Temp qw(tempdir);
use SeqidPage;
use Test::More;

# Names of the pictures in a directory.  The demo draws what it measures.
sub names ($directory)
{
	return join ' ', grep { $_ ne 'leaf_pages.svg' } map { s{.*/}{}r } glob "$directory/*.svg";
}

# are_drawn($committed, @command): the command draws the pictures of a directory, and no others.
sub are_drawn ($committed, @command)
{
	my $directory = tempdir(CLEANUP => 1);

	is(system($^X, @command, $directory), 0, "$command[0] draws");
	is(names($committed), names($directory), "each picture of $committed is drawn");
	for my $file (grep { -f } map { "$committed/$_" } split / /, names($directory))
	{
		ok(SeqidPage::contents($file) eq SeqidPage::contents($file =~ s{.*/}{$directory/}r), "$file is as drawn")
		  or diag("run @command $committed");
	}
}

are_drawn('docs/diagrams', 'docs/diagrams/draw.pl');
are_drawn('docs', 'bench/charts.pl', 'bench/results');

# Queries with their metrics, which an empty line ends.  sql_exporter describes these in another way.
my @queries = SeqidPage::contents('examples/monitoring/queries.yaml') =~ /^  query: \|\n(.*?)(?:^$|\z)/msg;
for my $path ('examples/monitoring/sql_exporter.yml', 'examples/cnpg/monitoring.yaml')
{
	my $text = SeqidPage::contents($path);
	my @has = $text =~ /query: \|$/mg;
	my @needs = map { s/\s+/ /gr =~ s/^ | $//gr } map { $path =~ /cnpg/ ? $_ : s/^  metrics:.*//msr } @queries;

	$text =~ s/\s+/ /g;
	is(join("\n", grep { index($text, $_) < 0 } @needs), '', "$path has the queries of queries.yaml");
	is(@has, @queries, "$path has no others");
}

done_testing();

# herd7 compares the protocols between sessions with Arm's memory model.
#
# Each litmus test transcribes accesses of src/ to arm64's instructions; t/sources/
# compares it with the sources.  Its outcome never occurs, but it can occur without any
# one of the instructions that order the accesses.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use IPC::Run ();

my %ordering = (
	(map { $_ => 'DMB \w+' } qw(clock ended entry slot)),
	floor => 'LDAXR|STLR',
	leave => 'STLXR');
my %weaker = (LDAXR => 'LDXR', STLXR => 'STXR', STLR => 'STR');

sub outcome_of
{
	my ($test, $name) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir . "/$name.litmus";
	my $log;

	append_to_file($file, $test);
	IPC::Run::run([ 'herd7', $file ], '>&', \$log) or return $log;
	return $log =~ m/^Observation \w+ (\w+)/m ? $1 : $log;
}

is_deeply([ map { s/.*\/|\.litmus//gr } glob "$FindBin::RealBin/*.litmus" ], [ sort keys %ordering ],
	'each file is a test');
for my $name (sort keys %ordering)
{
	my $test = slurp_file("$FindBin::RealBin/$name.litmus");
	my @places;

	is(outcome_of($test, $name), 'Never', "$name: the outcome does not occur");
	push @places, [ $1, $-[1], $+[1] ] while $test =~ m/ ($ordering{$name})(?= )/g;
	cmp_ok(@places, '>', 0, "$name: instructions order its accesses");
	for (@places)
	{
		my ($instruction, $start, $end) = @$_;
		my $without = $test;

		substr $without, $start, $end - $start, $weaker{$instruction} // 'NOP';
		is(outcome_of($without, $name), 'Sometimes', "$name: the outcome occurs without $instruction at $start");
	}
}

done_testing();

# spin checks the models of t/models/ in all their states.
#
# The banner of each model lists its runs: a word of the assertion that must fail, or
# "cycle" or "none", and definitions.  A correct model must have no error.  In a variant
# that is wrong on purpose, spin must find the expected one, or the check would prove
# nothing.  Runs with a star take minutes, and need SEQID_MODELS=all: at night, and after a
# change of the model or of what it describes.  The largest needs 3.5 GB.
#
# SEQID_MODELS can also be a pattern of the runs that are wanted.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use IPC::Run ();

my $wanted = $ENV{SEQID_MODELS} // '^ ';
$wanted = '' if $wanted eq 'all';

# What spin finds in a model with these definitions, and in how many states
sub check
{
	my ($model, $expected, %value) = @_;
	# A search for cycles, in which each process is fair
	my ($compile, @run) = exists $value{PROGRESS} ? ('-DNFAIR=3', '-a', '-f') : '-DSAFETY';
	my $log = '';

	chdir PostgreSQL::Test::Utils::tempdir or die $!;
	for my $command (
		[ 'spin', '-a', (map { "-D$_=$value{$_}" } sort keys %value), $model ],
		[ 'gcc', '-O2', '-w', $compile, '-DCOLLAPSE', '-DVECTORSZ=2048', '-o', 'pan', 'pan.c' ],
		[ './pan', '-m1000000', '-w26', @run ])
	{
		IPC::Run::run($command, '>&', \$log) or $command->[0] eq './pan' or die "@$command: $log";
	}
	my ($errors) = $log =~ /errors: (\d+)$/m;
	my ($states) = $log =~ /^ *(\S+) states, stored/m;
	my $found = $log =~ /depth too small|out of memory/ ? 'no memory'
	  : $log =~ /^pan:1: acceptance cycle/m ? 'cycle'
	  : $log =~ /^pan:1: assertion violated .*\b\Q$expected\E\b/m ? $expected
	  : !defined $errors || $errors || $log =~ /Search not completed/ ? $log
	  : 'none';

	return ($found, $states);
}

for my $model (glob "$FindBin::RealBin/*.pml")
{
	my ($name) = $model =~ m{(\w+)\.pml$};
	my $text = slurp_file($model);
	my ($defaults, $list) = $text =~ m{^ \* models\.pl defines (.*), and runs:\n(.*?)^ \*/$}ms;
	my @runs = $list =~ /^ \*\t(?!\t)(.*)$/mg or die "$model lists no runs";

	is(join(' ', grep { $list !~ /\b$_\b/ } $text =~ /^#(?:ifn?def|if defined\() ?(\w+)/mg), '', "$name: each variant has a run");
	for (grep { "$_ $name" =~ /$wanted/ } @runs)
	{
		my ($expected, $defines) = /^(?:\* |  )(\w+) ?([^:]*)/ or die "$model: $_";
		my ($found, $states) = check($model, $expected, map { /(\w+)=?(.*)/ } split ' ', "$defaults $defines");

		is($found, $expected, "$name, $defines: $states states");
	}
}

done_testing();

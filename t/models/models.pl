# spin checks the models of t/models/ in all their states.
#
# The banner of each model lists its runs: a word of the assertion that must fail, or
# "cycle" or "none", and definitions.  A correct model must have no error.  A name without
# a value is a variant that is wrong on purpose, 1 in its run and 0 in others.  There spin
# must find the expected error, or the check would prove nothing.  PROGRESS is a search for
# cycles.  Runs with a star take minutes, and need SEQID_MODELS=all: at night, and after a
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
	# Each process is fair in a search for cycles.
	my ($compile, @run) = $value{PROGRESS} ? ('-DNFAIR=3', '-a', '-f') : '-DSAFETY';
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
	my ($defaults, $list) = slurp_file($model) =~ m{^ \* models\.pl defines (.*), and runs:\n(.*?)^ \*/$}ms;
	my @runs = map { [ /^(\*? *)(\w+) ?([^:]*)/ ] } $list =~ /^ \*\t(?!\t)(.*)$/mg or die "$model lists no runs";
	my %default = ((map { $_ => 0 } map { $_->[2] =~ /\b([A-Z_]+)\b(?!=)/g } @runs), split /[ =]/, $defaults);

	for (grep { "$_->[0]$_->[1] $_->[2] $name" =~ /$wanted/ } @runs)
	{
		my ($star, $expected, $defines) = @$_;
		my %run = map { /(\w+)=?(.*)/ && ($1 => length $2 ? $2 : 1) } split ' ', $defines;
		my ($found, $states) = check($model, $expected, %default, %run);

		is($found, $expected, "$name, $defines: $states states");
	}
}

done_testing();

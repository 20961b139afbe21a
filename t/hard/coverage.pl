# The lines of src/ that the regression and isolation tests reach; with
# SEQID_COVERAGE_TAP=1 also those of the TAP tests, which takes many minutes.
#
# The report names the lines that no test reaches.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;
use IPC::Run ();

my $build = SeqidBuild->new('-O0 --coverage');
my $log;

delete $ENV{PROVE_TESTS};
ok($build->make('installcheck', 'EXTRA_REGRESS_OPTS=--temp-instance=./tmp_check', $ENV{SEQID_COVERAGE_TAP} ? 'TAP_TESTS=1' : ()), 'the tests pass') or diag $build->{log};
ok(IPC::Run::run([ 'gcovr', '--root', $build->{source}, '--filter', "$build->{source}/src/", '--fail-under-line', '85', $build->{source} ],
		'>&', \$log), 'tests reach 85 percent of the lines');
diag $log;

done_testing();

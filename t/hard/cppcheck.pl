# cppcheck finds nothing, whatever version of PostgreSQL src/ is compiled for.
#
# It reads no header of the server, which would take an hour.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use IPC::Run ();

my @wrong = (
	# It takes .callback in an initializer for a variable.
	'legacyUninitvar:src/pg/durable_wal.c', 'legacyUninitvar:src/pg/segment.c',
	# The condition is true for a clock before the first or after the last time of a key.
	'knownConditionTrueFalse:src/clock/counter.h');

for my $version (15 .. 19)
{
	my $findings = '';

	ok(IPC::Run::run([ qw(cppcheck -q -j 2 --library=gnu --library=posix
				-Isrc --error-exitcode=1), '--enable=warning,style,performance,portability', "-DPG_VERSION_NUM=${version}0000", map({ "--suppress=$_" } @wrong), 'src' ],
			'>&', \$findings), "PostgreSQL $version")
	  or diag $findings;
}

done_testing();

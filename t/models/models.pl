# spin checks the models of t/models/ in all their states.
#
# A correct model must have no error.  In a variant that is wrong on purpose, spin must
# find the expected one, or the check would prove nothing.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use IPC::Run ();

my %defaults = (
	seqid => 'CRASHES=1 CANCELS=0 CLOCK_MAX=3 BACKFILLS=0',
	sequence => 'LAST=2 SESSIONS=2 PREPARES=0 CRASHES=0 SET_BACKS=0 FILES=0 LOSSES=0',
	settled => 'LAST=2 WRITERS=1 XIDS=2 OWN=0',
	horizon => 'CLOCK_MAX=2 CRASHES=0 READERS=1 BACKENDS=2 WORKERS=0 PREPARES=0');

# Model, a word of the assertion that must fail, or "cycle" or none, and definitions.
# Those with a star take minutes, and run with SEQID_MODELS=all: at night, and after a change
# of the model or of what it describes.  The largest needs 3.5 GB.
my $checks = <<'CHECKS';
seqid    none
*seqid   none      CRASHES=2
*seqid   none      CRASHES=2 CLOCK_MAX=1 CANCELS=1
seqid    issued    MARK_AFTER_ID
seqid    issued    NO_FLOOR
seqid    issued    LIFETIME_FIRST
seqid    issued    TRUST_PAGE
seqid    issued    LEVEL_OF_SESSION
seqid    none      CLOCK_MAX=1 CANCELS=1
seqid    none      CLOCK_MAX=1 BACKFILLS=1
*seqid   none      BACKFILLS=1
seqid    issued    BACKFILLS=1 BACKFILL_READS
seqid    issued    BACKFILLS=1 BACKFILL_UNCOVERED
horizon  none      WORKERS=1 PREPARES=1
horizon  none      PREPARES=1 CRASHES=1
horizon  none      BACKENDS=1 WORKERS=1 PREPARES=1 CRASHES=1
horizon  none      BACKENDS=1 WORKERS=1 PREPARES=1 CRASHES=1 SETTLED STRICT
horizon  none      BACKENDS=1 READERS=2 CRASHES=1
horizon  none      AGAIN WORKERS=1
horizon  none      PROGRESS WORKERS=1
horizon  none      PROGRESS PREPARES=1
horizon  promised  CLAIM_BEFORE_SLOT
horizon  promised  NO_BARRIER
horizon  promised  READER_NO_BARRIER
horizon  promised  CLEAR_BEFORE_VISIBLE
horizon  promised  HAND_OVER_AT_END WORKERS=1
horizon  promised  LAPSE_BEFORE_LOCK PREPARES=1
horizon  promised  RELEASE_BEFORE_VISIBLE PREPARES=1
horizon  promised  LOCKS_BEFORE_SLOTS PREPARES=1
horizon  promised  TRUST_LEFTOVER AGAIN
horizon  promised  PUBLISH_BEFORE_DURABLE CRASHES=1 MAY_GO_BACK
horizon  before    SLOT_WITHOUT_FLOOR CRASHES=1
horizon  before    STRICT PREPARES=1 CRASHES=1
horizon  unseen    READ_WITH_OLD_SNAPSHOT
horizon  cycle     PUBLISHED_IN_SLOT PROGRESS
sequence none      PREPARES=1 CRASHES=1 LOSSES=1
sequence none      PREPARES=1 SET_BACKS=1
sequence none      FILES=1 CRASHES=1
sequence none      FILES=1 RESTART
sequence none      SESSIONS=3
sequence none      LAST=3 CRASHES=2
sequence value     HOLDERS_FIRST
sequence value     LOCK_AFTER_VALUE
sequence value     LOCK_ENDS_FIRST
sequence value     PREPARE_UNLOCKS PREPARES=1
sequence value     RESTART_UNLOCKS PREPARES=1 CRASHES=1
sequence value     OWN_IS_NONE
sequence value     NUMBER_OF_NOW
sequence value     NUMBER_OF_LAST
sequence value     UNKNOWN_IS_NONE
sequence value     KEPT_AT_SET_BACK SET_BACKS=1
sequence value     KEPT_FOR_FILE FILES=1 RESTART
sequence my_known  KNOWN_AT_SET_BACK SET_BACKS=1
sequence value     KNOWN_FOR_FILE FILES=1 RESTART
sequence my_known  KNOWN_TO_MEMORY LOSSES=1
sequence last      NOT_LOGGED CRASHES=1
sequence last      LOGGED_AHEAD CRASHES=1
sequence last      NOT_FLUSHED CRASHES=1
sequence last      OWN_FILE FILES=1 CRASHES=1
settled  none
settled  row       ONLY_IDS
settled  row       SNAPSHOT_FIRST
settled  row       NO_SNAPSHOT
settled  due       ONE_BOUND
settled  due       OWN_ID_IS_NONE OWN=1 LAST=1
settled  kept      ANSWER_CHANGES
CHECKS

for (split /\n/, $checks)
{
	next if s/^\*// && ($ENV{SEQID_MODELS} // '') ne 'all';
	my ($model, $expected, @defines) = split;
	my %value = map { /(\w+)=?(.*)/ } split(/ /, $defaults{$model}), @defines;
	# A search for cycles, in which each process is fair
	my ($compile, @run) = exists $value{PROGRESS} ? ('-DNFAIR=3', '-a', '-f') : '-DSAFETY';
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $log = '';

	chdir $directory or die $!;
	for my $command (
		[ 'spin', '-a', (map { "-D$_=$value{$_}" } sort keys %value), "$FindBin::RealBin/$model.pml" ],
		[ 'gcc', '-O2', '-w', $compile, '-DCOLLAPSE', '-DVECTORSZ=2048', '-o', 'pan', 'pan.c' ],
		[ './pan', '-m1000000', '-w26', @run ])
	{
		IPC::Run::run($command, '>&', \$log) or $command->[0] eq './pan' or die $log;
	}
	my ($errors) = $log =~ /errors: (\d+)$/m;
	my ($states) = $log =~ /^ *(\S+) states, stored/m;
	my $found = $log =~ /depth too small|out of memory/ ? 'no memory'
	  : $log =~ /^pan:1: acceptance cycle/m ? 'cycle'
	  : $log =~ /^pan:1: assertion violated .*\b\Q$expected\E\b/m ? $expected
	  : !defined $errors || $errors || $log =~ /Search not completed/ ? $log
	  : 'none';

	is($found, $expected, "$model, @defines: $states states");
}

done_testing();

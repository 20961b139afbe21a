# The clock is set back while a session stands between two accesses to the memory that
# writers share with readers of the settled horizon.  No key is below the horizon, which does
# not go back, also after a crash.
#
# For a library with the places of test_stop.h: scripts/test.sh stops.  Only a clock that
# is set back makes a key earlier than a horizon.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

use constant { LISTING => 1, LISTED => 2, RAISED => 3, SCANNED => 4 };

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, conf => "max_prepared_transactions = 5\nseqid.max_lead = 1h");
my ($control, $writer, $reader) = map { SeqidSession->new($node) } 1 .. 3;

# Sends a statement to a session, and returns when it stands at a stop.
sub send_to_stop ($session, $stop, $sql)
{
	$control->query("SELECT pg_advisory_lock(20230101, $stop)");
	$session->send($sql);
	$session->waits_for($node, 'advisory') or die "no session comes to stop $stop";
}

sub go ($stop)
{
	$control->query("SELECT pg_advisory_unlock(20230101, $stop)");
}

my %draw = (
	snowflake => 'snowflake_timestamp(snowflake_nextval(5))',
	# of a shard that no key keeps above the clock
	unused => 'snowflake_timestamp(snowflake_nextval(6))',
	block => 'snowflake_timestamp(snowflake_nextblock(7, 100))',
	comb => 'comb_uuid_timestamp(comb_uuid())');

# A writer has read the raised time and is not listed, or is listed, when a reader looks.
for my $kind (sort keys %draw)
{
	for my $stop (LISTING, LISTED)
	{
		my $what = "stop $stop of a writer, $kind";

		$clock->set('+0s');
		$writer->query('BEGIN');
		send_to_stop($writer, $stop, "SELECT $draw{$kind}");
		my $horizon = settled_horizon($node);
		$clock->set('-30m');
		go($stop);
		is_no_earlier($node, $writer->answer, $horizon, "$what: the key is not below the horizon");
		is($writer->errors, '', "$what: no error");
		is(settled_horizon($node), $horizon, "$what: the horizon stands");
		$writer->query('COMMIT');
	}
}

# A reader has raised the time and not returned it, while a writer's clock is set back.
for my $stop (RAISED, SCANNED)
{
	$clock->set('+0s');
	send_to_stop($reader, $stop, 'CALL seqid.horizon()');
	$clock->set('-30m');
	my $key = $writer->query("BEGIN; SELECT $draw{snowflake}");
	go($stop);
	is_no_earlier($node, $key, $reader->answer =~ s/\|.*//r, "stop $stop of a reader: the key is not below the horizon");
	$writer->query('COMMIT');
}

# A transaction was listed with an earlier time than the horizon, because it read that
# before it was raised.  Prepared, it keeps the horizon where it was over a crash.
$clock->set('+0s');
$writer->query('BEGIN');
send_to_stop($writer, LISTING, 'SELECT snowflake_nextval(5)');
my $horizon = settled_horizon($node);
go(LISTING);
$writer->answer;
$writer->query("PREPARE TRANSACTION 'regress_seqid_listing'");
is(settled_horizon($node), $horizon, 'prepared: the horizon stands');
$_->close for $control, $writer, $reader;
$clock->crash($node);
is_no_earlier($node, settled_horizon($node), $horizon, 'prepared, crash: the horizon does not go back');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'regress_seqid_listing'");
is(outcome($node, "SELECT '" . settled_horizon($node) . "'::timestamptz > '$horizon'"), 't', 'rolled back: it goes on');

$node->stop;
done_testing();

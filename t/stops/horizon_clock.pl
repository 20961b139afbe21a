# The clock is set back while a session stands between two accesses to the memory
# that writers share with readers of the settled horizon: no key is below what a
# reader was told.  Nor is the horizon, after a crash.
#
# For a library with the places of src/pg/test_stop.h: scripts/test.sh stops.
# Only a clock that is set back draws a key that is earlier than what was told
# before.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

use constant { LISTING => 1, LISTED => 2, RAISED => 3, SCANNED => 4 };

my $clock = SeqidClock->new;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_prepared_transactions = 5\nautovacuum = off\nseqid.max_clock_regression = 1h");
$clock->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

my ($control, $writer);

sub connect_sessions
{
	$control = SeqidSession->new($node);
	$writer = SeqidSession->new($node);
	return;
}

sub horizon
{
	return outcome($node, 'postgres', 'CALL seqid.horizon()') =~ s/\|.*//r;
}

sub value
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', "SELECT $sql");
}

# Sends a statement of a session that shall come to a stop, and returns when it has.
sub send_to_stop
{
	my ($session, $stop, $sql) = @_;

	$control->query("SELECT pg_advisory_lock(20230101, $stop)");
	$session->send($sql);
	$session->waits_for($node, 'advisory') or die "nobody comes to stop $stop";
	return;
}

sub go
{
	my ($stop) = @_;

	$control->query("SELECT pg_advisory_unlock(20230101, $stop)");
	return;
}

my %draw = (
	snowflake => 'snowflake_timestamp(snowflake_nextval(5))',
	# of a shard that no key keeps above the clock
	unused => 'snowflake_timestamp(snowflake_nextval(6))',
	block => 'snowflake_timestamp(snowflake_nextblock(7, 100))',
	comb => 'comb_uuid_timestamp(comb_uuid())');

connect_sessions();
for my $kind (sort keys %draw)
{
	# Has read the raised time, and is not listed when the reader looks.
	$clock->set('+0s');
	$writer->query('BEGIN');
	send_to_stop($writer, LISTING, "SELECT $draw{$kind}");
	my $told = horizon();
	$clock->set('-30m');
	go(LISTING);
	my $drawn = $writer->answer;
	is(value("'$drawn'::timestamptz >= '$told'"), 't', "listing, $kind: the key is not below the horizon")
	  or diag("$drawn < $told");
	is(horizon(), $told, "listing, $kind: the horizon stands");
	is($writer->errors, '', "listing, $kind: no error");
	$writer->query('COMMIT');

	# Is listed, and so holds it.
	$clock->set('+0s');
	$writer->query('BEGIN');
	send_to_stop($writer, LISTED, "SELECT $draw{$kind}");
	$told = horizon();
	$clock->set('-30m');
	go(LISTED);
	$drawn = $writer->answer;
	is(value("'$drawn'::timestamptz >= '$told'"), 't', "listed, $kind: the key is not below the horizon");
	is(horizon(), $told, "listed, $kind: the horizon stands");
	$writer->query('COMMIT');
}

# A reader has raised the time and not told it.  A writer whose clock is set back
# meanwhile draws no key below it.
for my $stop (RAISED, SCANNED)
{
	my $reader = SeqidSession->new($node);

	$clock->set('+0s');
	send_to_stop($reader, $stop, 'CALL seqid.horizon()');
	$clock->set('-30m');
	$writer->query('BEGIN');
	my $drawn = $writer->query("SELECT $draw{snowflake}");
	go($stop);
	my $told = $reader->answer =~ s/\|.*//r;
	is(value("'$drawn'::timestamptz >= '$told'"), 't', "stop $stop of a reader: the key is not below the horizon");
	$writer->query('COMMIT');
	$reader->close;
}

# A transaction was listed with an earlier time than was told, as it looked when
# that was not raised yet.  Prepared, it keeps the horizon where it was over a crash.
$clock->set('+0s');
$writer->query('BEGIN');
send_to_stop($writer, LISTING, 'SELECT snowflake_nextval(5)');
my $told = horizon();
go(LISTING);
$writer->answer;
$writer->query("PREPARE TRANSACTION 'regress_seqid_listing'");
is(horizon(), $told, 'prepared: the horizon stands');
$writer->close;
$control->close;
$clock->crash($node);
is(value("'" . horizon() . "'::timestamptz >= '$told'"), 't', 'prepared, crash: the horizon does not go back');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'regress_seqid_listing'");
is(value("'" . horizon() . "'::timestamptz > '$told'"), 't', 'rolled back: it goes on');

$node->stop;
done_testing();

# A slot outlives its process.  The next process of the slot has a transaction whose local
# id has the same 16 bits.  It is not listed with the time that was left in the slot, which
# is of another database and ahead of the clock.
#
# SQL cannot choose a process's slot.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main');

for my $database ('ahead', 'here')
{
	add_database($node, $database);
	$node->safe_psql($database, 'CREATE TABLE t (id bigint DEFAULT snowflake_nextval(5))');
}

# The local id of the current transaction.
sub lxid ($session)
{
	return $session->query("SELECT split_part(virtualtransaction, '/', 2) FROM pg_locks
		WHERE pid = pg_backend_pid() AND locktype = 'virtualxid'");
}

# Uses up local ids until a transaction has one with the bits of another, and begins it.
sub begin_with_bits_of ($session, $lxid)
{
	for (;;)
	{
		$session->query('BEGIN');
		my $left = ($lxid - lxid($session)) % 65536;
		return if $left == 0;
		$session->query('COMMIT');
		$session->query('DO $$ BEGIN FOR i IN 1 .. ' . ($left - 10) . ' LOOP COMMIT; END LOOP; END $$') if $left > 20;
	}
}

# These have slots of their own.
my ($reader, $quick) = map { SeqidSession->new($node, 'here') } 1 .. 2;
$reader->query('CALL seqid.horizon()');

my $leaving = SeqidSession->new($node, 'ahead');
$leaving->query("SELECT setval('seqid.clock_mark', (extract(epoch FROM timestamptz '2040-01-01 00:00Z') * 1000)::bigint)");
like($leaving->query("SET timezone = 'UTC'; CALL seqid.horizon()"), qr/^2040-01-01/m, 'a database that is ahead of the clock');
$leaving->query('BEGIN');
my $lxid = lxid($leaving);
$leaving->query('SELECT comb_uuid(); COMMIT');
$leaving->close;
$node->poll_query_until('here', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'ahead')")
  or die 'the session does not leave';

my $slow = SeqidSession->new($node, 'here');
begin_with_bits_of($slow, $lxid);
my $id = $slow->query('INSERT INTO t DEFAULT VALUES RETURNING id');
my $since = $quick->query('INSERT INTO t DEFAULT VALUES RETURNING snowflake_timestamp(id)');
wait_for_clock($node, $since);
$reader->query('CALL seqid.horizon()');
is($reader->query("SELECT pid || ' ' || (held < clock_timestamp()) FROM seqid.horizon_holders"),
	"$slow->{pid} true", 'it is listed, with a time of its own database');
is($reader->query("SELECT snowflake_first(horizon) <= $id FROM seqid.stat_database"), 't', 'and holds the horizon');

$_->close for $reader, $quick, $slow;
$node->stop;
done_testing();

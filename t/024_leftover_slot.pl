# A slot outlives its process, and another one takes its place, whose transaction has a
# local id with the same 16 bits: it is not listed by what was left there, least of
# all by the time of another database, which is ahead of the clock.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
for my $database ('ahead', 'here')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION seqid; CREATE TABLE t (id bigint DEFAULT snowflake_nextval(5))');
}

# The local id of the transaction that the session is in, or of its next one.
sub lxid
{
	my ($session) = @_;

	return $session->query("SELECT split_part(virtualtransaction, '/', 2) FROM pg_locks
		WHERE pid = pg_backend_pid() AND locktype = 'virtualxid'");
}

# Uses up local ids until a transaction has one with the bits of another, and begins it.
sub begin_with_bits_of
{
	my ($session, $lxid) = @_;

	for (;;)
	{
		$session->query('BEGIN');
		my $left = ($lxid - lxid($session)) % 65536;
		return if $left == 0;
		$session->query('COMMIT');
		$session->query('DO $$ BEGIN FOR i IN 1 .. ' . ($left - 10) . ' LOOP COMMIT; END LOOP; END $$') if $left > 20;
	}
	return;
}

# They have places of their own.
my $reader = SeqidSession->new($node, 'here');
my $quick = SeqidSession->new($node, 'here');
$reader->query('CALL seqid.horizon()');

my $leaving = SeqidSession->new($node, 'ahead');
$leaving->query("SELECT setval('seqid.clock_mark', (extract(epoch FROM timestamptz '2040-01-01 00:00Z') * 1000)::bigint)");
like($leaving->query("SET timezone = 'UTC'; CALL seqid.horizon()"), qr/^2040-01-01/m, 'a database that is ahead of the clock');
$leaving->query('BEGIN');
my $lxid = lxid($leaving);
$leaving->query('SELECT comb_uuid()');
$leaving->query('COMMIT');
$leaving->close;
$node->poll_query_until('here', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'ahead')")
  or die 'the session does not leave';

my $slow = SeqidSession->new($node, 'here');
begin_with_bits_of($slow, $lxid);
my $id = $slow->query('INSERT INTO t DEFAULT VALUES RETURNING id');
my $since = $quick->query('INSERT INTO t DEFAULT VALUES RETURNING snowflake_timestamp(id)');
$node->poll_query_until('here', "SELECT clock_timestamp() > '$since'::timestamptz + interval '1 ms'") or die 'the clock stands';

$reader->query('CALL seqid.horizon()');
is($reader->query("SELECT pid || ' ' || (held < clock_timestamp()) FROM seqid.horizon_holders"),
	"$slow->{pid} true", 'it is listed, with a time of its own database');
is($reader->query("SELECT snowflake_first(horizon) <= $id FROM seqid.stat_database"), 't', 'and holds the horizon');
$slow->query('COMMIT');

$_->close for $reader, $quick, $slow;
$node->stop;
done_testing;

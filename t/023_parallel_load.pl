# A session whose first use of seqid is within a parallel query, where the library is
# not preloaded: settings cannot be defined then.  What needs them is refused, and the
# session has them afterwards; what does not need them works.
#
# The library is loaded there by functions that a plan does not show: within another
# function, or an index's expression.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
seqid.allowed_shards = '0-30, 32-1023'
max_prepared_transactions = 5
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
max_parallel_workers_per_gather = 2
max_parallel_maintenance_workers = 2
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION seqid;
CREATE TABLE many AS SELECT generate_series(1, 20000)::bigint AS id;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
CREATE FUNCTION draw() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN snowflake_nextval(5); END';
CREATE FUNCTION draw_of_server() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN snowflake_nextval(); END';
CREATE FUNCTION draw_comb() RETURNS uuid LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN comb_uuid(); END';
ALTER DATABASE postgres SET seqid.shards = '7';
ALTER DATABASE postgres SET seqid.max_clock_regression = '1h';
SQL

my $workers = qr/Workers Launched: [12]/;

# Whether the session has what was set for it, and nobody said that it was dropped.
sub has_settings
{
	my ($session, $what) = @_;

	is($session->full_outcome('SELECT snowflake_shard(snowflake_nextval(5))'), 5, "$what: then it draws");
	is($session->full_outcome('SELECT snowflake_shard(snowflake_nextval())'), 7, "$what: of the server's shard");
	is($session->full_outcome('SHOW seqid.max_clock_regression'), '1h', "$what: has the limit");
	like($session->full_outcome('SELECT snowflake_nextval(31)'), qr/^55000: shard 31 is not one/, "$what: has the list");
	unlike($session->errors, qr/cannot be set during a parallel operation/, "$what: without a warning");
	return;
}

for my $participation ('on', 'off')
{
	for my $draw ('draw', 'draw_of_server')
	{
		my $what = "$draw, leader participation $participation";
		my $session = SeqidSession->new($node);

		$session->query("SET parallel_leader_participation = $participation");
		like($session->full_outcome("SELECT count($draw()) FROM many"), qr/^55000: settings of seqid are not known yet/, "$what: refused");
		has_settings($session, $what);
		is($session->full_outcome("SELECT count($draw()) FROM many"), 20000, "$what: then it works");
		$session->close;
	}
}

{
	my $session = SeqidSession->new($node);

	$session->query('SET min_parallel_table_scan_size = 0');
	is($session->full_outcome('CREATE INDEX ON many (snowflake_timestamp(id))'), '', 'an index on an expression is made');
	has_settings($session, 'after the index');
	$session->close;
}

# The leader would not know at PREPARE what its workers have drawn.
{
	my $session = SeqidSession->new($node);

	$session->query('SET parallel_leader_participation = off');
	like($session->full_outcome('SELECT count(draw_comb()) FROM many'), qr/^55000: settings of seqid are not known yet/, 'COMBs that could be prepared: refused');
	$session->query("LOAD 'seqid'");
	like($session->query('EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT count(draw_comb()) FROM many'), $workers, 'loaded: drawn by workers');
	$session->query('BEGIN; CREATE TABLE drawn AS SELECT draw_comb() FROM many');
	$session->query("PREPARE TRANSACTION 'drawn'");
	is($node->safe_psql('postgres', 'SELECT gid FROM seqid.horizon_holders'), 'drawn', 'loaded: holds the horizon when prepared');
	$session->query("ROLLBACK PREPARED 'drawn'");
	$session->close;
}

$node->append_conf('postgresql.conf', 'max_prepared_transactions = 0');
$node->restart;
{
	my $session = SeqidSession->new($node);

	$session->query('SET parallel_leader_participation = off');
	is($session->full_outcome('SELECT count(DISTINCT draw_comb()) FROM many'), 20000, 'COMBs that cannot be prepared: drawn');
	has_settings($session, 'after COMBs');
	$session->close;
}

$node->stop;
done_testing;

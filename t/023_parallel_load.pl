# Keys of parallel workers, where the library is not preloaded.
#
# A session that loads it within a parallel query cannot define settings then: calls that
# need them are refused, and the session has them afterwards.
# (019_horizon.pl has workers of a session that has loaded it.)
#
# The library is loaded there by functions that a plan does not show: within another
# function, or an index's expression.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main', conf => <<'CONF');
seqid.allowed_shards = '0-30, 32-1023'
max_prepared_transactions = 5
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
max_parallel_workers_per_gather = 2
max_parallel_maintenance_workers = 2
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many AS SELECT generate_series(1, 20000)::bigint AS id;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
CREATE FUNCTION draw() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN snowflake_nextval(5); END';
CREATE FUNCTION draw_of_server() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN snowflake_nextval(); END';
CREATE FUNCTION draw_comb() RETURNS uuid LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN comb_uuid(); END';
ALTER DATABASE postgres SET seqid.shards = '7';
ALTER DATABASE postgres SET seqid.max_lead = '1h';
SQL

# Runs a query in a new session, which has its settings afterwards.
sub check ($participation, $sql, $expected, $again = undef)
{
	my $what = "$sql, leader participation $participation";
	my $session = SeqidSession->new($node);

	$session->query("SET parallel_leader_participation = $participation");
	is($session->outcome($sql), $expected, $what);
	is($session->outcome('SELECT snowflake_shard(snowflake_nextval(5)), snowflake_shard(snowflake_nextval())'),
		'5|7', "$what: then it generates keys");
	is($session->outcome('SHOW seqid.max_lead'), '1h', "$what: has the limit");
	is($session->outcome('SELECT snowflake_nextval(31)'), '55000', "$what: has the list");
	is($session->outcome($sql), $again, "$what: then it works") if $again;
	is($session->errors, '', "$what: without a warning");
	$session->close;
}

for my $participation ('on', 'off')
{
	check($participation, "SELECT count($_()) FROM many", '55000', 20000) for 'draw', 'draw_of_server';
}
check('on', 'CREATE INDEX ON many (snowflake_timestamp(id))', '');

# Unless its workers are refused, the leader would not know at PREPARE that they have
# generated COMBs.
check('off', 'SELECT count(draw_comb()) FROM many', '55000', 20000);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 0');
$node->restart;
check('off', 'SELECT count(DISTINCT draw_comb()) FROM many', 20000);

$node->stop;
done_testing();

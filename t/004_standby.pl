# On a standby: snowflakes are refused, COMBs are not; after promotion both go on.
#
# Only a real standby is in recovery.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql('postgres',
	'CREATE EXTENSION seqid; CREATE SEQUENCE seq; CREATE TABLE t (id bigint)');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'seqid.shards = 6');
$standby->start;

my $last = $primary->safe_psql('postgres',
	'INSERT INTO t SELECT snowflake_nextval(5); SELECT max(id) FROM t');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

for my $call (
	'snowflake_nextval(5)', 'snowflake_nextval()',
	'snowflake_nextvals(5, 3)', 'snowflake_nextblock(5, 10)',
	'snowflake53_nextval(5)', 'snowflake53_nextval()',
	'snowflake53_nextvals(5, 3)', 'snowflake53_nextblock(5, 10)')
{
	is(full_outcome($standby, 'postgres', "SELECT $call"),
		'25006: cannot issue snowflake ids during recovery', "standby: $call is refused");
}
is(outcome($standby, 'postgres', "SELECT uuid_sequence_nextval('seq')"),
	'25006', 'standby: a sequence cannot be advanced');

is($standby->safe_psql('postgres', 'SELECT snowflake_shard(id) FROM t'),
	'5', 'standby: ids can be decoded');
is( $standby->safe_psql(
		'postgres',
		'SELECT count(*) FILTER (WHERE id > previous) FROM
		 (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM
		  (SELECT n, comb_uuid() AS id FROM generate_series(1, 1001) n) d) c'),
	'1000',
	'standby: combs can be drawn, in order');
is($standby->safe_psql('postgres', 'SELECT count(uuid_time_nextval())'),
	'1', 'standby: so can UUIDs by time');

is( $standby->safe_psql('postgres', 'SELECT clock_mark > snowflake_timestamp(max(id)) FROM seqid.stat_database, t GROUP BY clock_mark'),
	't', 'standby: the mark that was replayed can be read');

$standby->promote;
cmp_ok(
	$standby->safe_psql('postgres', 'INSERT INTO t SELECT snowflake_nextval(5) RETURNING id'),
	'>', $last, 'promoted: ids go on');
is($standby->safe_psql('postgres', 'SELECT snowflake_shard(snowflake_nextval())'),
	'6', 'promoted: of its own shard too');

$standby->stop;
$primary->stop;
done_testing();

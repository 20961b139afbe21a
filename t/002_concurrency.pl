# Eight clients generate keys at the same time: no key twice, none out of order.
#
# A regression test has one session, and an isolation test runs one step at a time.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main');
$node->safe_psql('postgres', 'CREATE SEQUENCE seq');

# Each client runs a script 50 times.  None begins before all are connected.
sub run_clients ($what, $script)
{
	state $scripts = 0;

	$node->pgbench('--no-vacuum --client=8 --jobs=8 --transactions=50 --define=round=0',
		0, [qr{processed: 400/400}], [qr/^$/], $what, { 'script' . ++$scripts => $script });
}

# Each run generates 500 keys.  The last two columns are keys that are below an earlier one of
# their client, and whether the clients ran at the same time: otherwise they would prove nothing.
sub check_keys ($keys, $expected)
{
	my $draw = "array_agg(key) AS keys FROM (SELECT $keys) k (key)";

	$node->safe_psql('postgres', "DROP TABLE IF EXISTS drawn;
		CREATE UNLOGGED TABLE drawn AS SELECT 0 AS client, 0 AS round, $draw WHERE false");
	run_clients($keys, "\\set round :round + 1\nINSERT INTO drawn SELECT :client_id, :round, $draw;");
	like(outcome($node, <<'SQL'), $expected, "$keys: no key twice, and in order");
SELECT count(*), count(DISTINCT key), count(*) FILTER (WHERE key <= previous),
       count(*) FILTER (WHERE client <> neighbour) > 8
  FROM (SELECT client, key, lag(key) OVER (PARTITION BY client ORDER BY round, place) AS previous,
               lag(client) OVER (ORDER BY key) AS neighbour
          FROM drawn, unnest(keys) WITH ORDINALITY u (key, place)) d
SQL
}

my $ascending = qr/^200000\|200000\|0\|t$/;
my $different = qr/^200000\|200000\|/;
my $each = 'FROM generate_series(1, 500) n';

for my $kind ('snowflake', 'snowflake53')
{
	check_keys("${kind}_nextval(5) $each", $ascending);
	check_keys("${kind}_nextval(n % 8) $each", $different);
	check_keys("${kind}_nextvals(7, 500)", $ascending);
}
check_keys("comb_uuid() $each", $ascending);
check_keys('comb_uuids(500)', $ascending);
check_keys("uuid_time_nextval() $each", $different);
check_keys("uuid_sequence_nextval('seq') $each", $different);

# Single ids, large and small blocks of one shard do not overlap, the large ones get their
# turn, and each is within one millisecond.
$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE blocks (first bigint, size int)');
run_clients('blocks', <<'SQL');
INSERT INTO blocks SELECT snowflake_nextval(9), 1 FROM generate_series(1, 400);
INSERT INTO blocks VALUES (snowflake_nextblock(9, 4096), 4096);
INSERT INTO blocks SELECT snowflake_nextblock(9, n), n FROM generate_series(1, 50) n;
SQL
is(outcome($node, <<'SQL'), '180400|0|0', 'blocks: no id is in two of them, and none is in two milliseconds');
SELECT count(*), count(*) FILTER (WHERE first <= previous_last), count(*) FILTER (WHERE first % 4096 + size > 4096)
  FROM (SELECT first, size, lag(first + size - 1) OVER (ORDER BY first) AS previous_last FROM blocks) b
SQL

# Signals end naps early, and any session can send them with NOTIFY.  With a limit of 0,
# a shard that therefore ran ahead of the clock would be refused.
my $session = SeqidSession->new($node);
$session->query('SET seqid.max_lead = 0');
$session->send('SELECT count(snowflake_nextblock(12, 4096)) FROM generate_series(1, 1000)');
do
{
	kill 'USR1', $session->{pid} for 1 .. 100;
} until $session->answered;
is($session->answer . $session->errors, '1000', 'signals: all blocks were generated');
is($session->query('SELECT snowflake_timestamp(snowflake_nextval(12)) <= clock_timestamp()'),
	't', 'signals: the shard is not ahead of the clock');

# COMBs that are reserved and thrown away, faster than the clock has ticks for them: two
# sessions ask for many and fetch half of those that are reserved.
my @sessions = ($session, SeqidSession->new($node));
my $most = 0;
$_->send('SELECT count(c) FROM generate_series(1, 60000) n, LATERAL (SELECT comb_uuids(1000 + 0 * n) AS c LIMIT 129) d')
  for @sessions;
do
{
	my $lead = outcome($node, 'SELECT ceil(extract(epoch FROM at - clock_timestamp()) * 1000)
		FROM (SELECT comb_uuid_time AS at FROM seqid.stat_database OFFSET 0) t');
	$most = $lead if $lead > $most;
} until @sessions == grep { $_->answered } @sessions;
is($_->answer, 60000 * 129, 'wasted COMBs: generated') for @sessions;
cmp_ok($most, '<=', 2, 'wasted COMBs: were never ahead of the clock');
$_->close for @sessions;

$node->stop;
done_testing();

# A standby refuses snowflakes and generates COMBs.  When it is promoted, both go on
# above all keys that it has replayed, or are refused, although its clock is behind.
#
# Only a real standby is in recovery.  (011_sync_level.pl has synchronous standbys.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $primary = new_server('primary', clock => SeqidClock->new, streaming => 1);
$primary->safe_psql('postgres', 'CREATE TABLE t (id bigint, c uuid); CREATE SEQUENCE seq');

sub standby_with_rows ($name, $clock)
{
	my $standby = new_standby($primary, $name, clock => $clock, conf => 'seqid.shards = 6');

	$primary->safe_psql('postgres',
		'INSERT INTO t SELECT snowflake_nextval(5), comb_uuid() FROM generate_series(1, 10000)');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return $standby;
}

my $combs_go_on = 'SELECT bool_and(new > c) FROM t, (SELECT comb_uuid() AS new OFFSET 0) n';

sub check_promoted ($standby, $what)
{
	is(outcome($standby, 'SELECT snowflake_nextval(5) > (SELECT max(id) FROM t)'), 't', "$what: ids go on");
	is( outcome($standby, 'WITH n AS MATERIALIZED (SELECT snowflake_nextval(5) AS id FROM generate_series(1, 20000))
			SELECT count(*) FROM n JOIN t USING (id)'), '0', "$what: none comes again");
	is(outcome($standby, $combs_go_on), 't', "$what: COMBs go on in order");
}

{
	my $clock = SeqidClock->new('-6s');
	my $standby = standby_with_rows('six_seconds', $clock);

	for my $kind ('snowflake', 'snowflake53')
	{
		is(outcome($standby, "SELECT ${kind}_$_"), '25006', "standby: ${kind}_$_ is refused")
		  for 'nextval(5)', 'nextval()', 'nextvals(5, 3)', 'nextblock(5, 10)', 'nextblock(10)';
	}
	like(($standby->psql('postgres', $_))[2], qr/^HINT:  Connect to the primary\.$/m, "standby: the hint of $_")
	  for 'SELECT snowflake_nextval(5)', 'CALL seqid.horizon()', 'SELECT seqid.repair_mark()', "SELECT intern_create('words')";
	is(outcome($standby, "SELECT uuid_sequence_nextval('seq')"), '25006', 'standby: a sequence cannot be advanced');
	is(outcome($standby, 'SELECT DISTINCT snowflake_shard(id) FROM t'), '5', 'standby: ids can be decoded');
	is( outcome($standby, 'SELECT count(*) FILTER (WHERE id > previous) FROM
			(SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM
			 (SELECT n, comb_uuid() AS id FROM generate_series(1, 1001) n) d) c'),
		'1000', 'standby: COMBs are generated, in order');
	is(outcome($standby, 'SELECT count(uuid_time_nextval())'), '1', 'standby: so are UUIDs by time');
	is(outcome($standby, 'SELECT clock_mark > (SELECT snowflake_timestamp(max(id)) FROM t) FROM seqid.stat_database'),
		't', 'standby: the view shows the mark that was replayed');

	# The file by which a database is known changes when the database is moved.  The mark
	# does not cover COMBs of a standby, so that the entry must stay.
	my $file = outcome($standby, "SELECT 'base/' || oid || '/PG_VERSION' FROM pg_database WHERE datname = 'postgres'");
	my $comb = outcome($standby, 'SELECT comb_uuid()');
	$clock->set('-9s');
	utime(1, 1, $standby->data_dir . "/$file") == 1 or die "$file: $!";
	cmp_ok(outcome($standby, 'SELECT comb_uuid()'), 'gt', $comb, 'standby: COMBs go on after a change of the file');
	$clock->set('-6s');

	my $session = SeqidSession->new($standby);
	$comb = $session->query('SELECT comb_uuid()');
	$standby->promote;
	cmp_ok($session->query('SELECT comb_uuid()'), 'gt', $comb, '6 s: a session that stays goes on in order');
	$session->close;
	check_promoted($standby, '6 s');
	is(outcome($standby, 'SELECT snowflake_shard(snowflake_nextval())'), '6', '6 s: its own shard');
	$standby->stop;
}

{
	my $clock = SeqidClock->new('-1h');
	my $standby = standby_with_rows('one_hour', $clock);

	$standby->promote;
	is(outcome($standby, "SELECT snowflake_nextval($_)"), '55000', "1 h: shard $_ is refused") for 5, 6;
	is(outcome($standby, $combs_go_on), 't', '1 h: COMBs go on in order');
	$clock->set('+0s');
	check_promoted($standby, '1 h, clock corrected');
	$standby->stop;
}

$primary->stop;
done_testing();

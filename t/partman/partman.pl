# A month under pg_partman, and each of its functions.
#
# A clock that is set forward a day at a time lets rows arrive and maintenance run:
# partitions must exist before rows need them, and be gone when they are old.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidPage;
use SeqidTest;

# Noon is half a day away from any midnight that a test does not mean to pass.
my $noon = 86400 - time % 86400 + 43200;
my $clock = SeqidClock->new;

sub set_day ($day)
{
	$clock->set('+' . ($noon + $day * 86400) . 's');
}

set_day(0);
my $node = new_server('partman', clock => $clock, conf => "timezone = 'UTC'\nclient_min_messages = error\n");

sub run_sql (@statements) { $node->safe_psql('postgres', $_) for @statements }

# all_are([ name, expected answer or SQLSTATE, statement ], ...)
sub all_are (@checks)
{
	is(outcome($node, $_->[2]), $_->[1], $_->[0]) for @checks;
}

# The tables of the page: letters have COMBs, visits have snowflakes, in partitions of a day
# that are dropped after ten.
run_sql(map { $_->{text} } grep { ($_->{'not run'} // '') eq 'needs pg_partman' }
	  @{ SeqidPage->new('docs/partitioning.md')->{blocks} });

# A month.  An error of the maintenance ends the test.
my $in_default = 0;
for my $day (1 .. 30)
{
	run_sql(map { "INSERT INTO $_ SELECT FROM generate_series(1, 100)" } qw(letters visits));
	set_day($day);
	run_sql('CALL partman.run_maintenance_proc()');
	$in_default += $node->safe_psql('postgres', 'SELECT count(*) FROM partman.check_default()');
}
is($in_default, 0, 'no row in a default partition on any day');

# $low: the time of a lower bound; $premade: days that are made ahead.
for ([ 'letters', 'comb_uuid_timestamp_text(low)', 4 ], [ 'visits', 'snowflake_timestamp(low::bigint)', 13 ])
{
	my ($table, $low, $premade) = @$_;

	run_sql("CREATE VIEW ${table}_days AS SELECT id, $low AS day FROM (
		SELECT p.oid AS id, substring(pg_get_expr(p.relpartbound, p.oid) FROM 'FROM \\(''([^'']+)''\\)') AS low
		  FROM pg_class p JOIN pg_inherits i ON i.inhrelid = p.oid WHERE i.inhparent = '$table'::regclass) p
		WHERE low IS NOT NULL");
	all_are(
		[ "$table: partitions are days, from midnight to midnight, without a gap", 't', "
			SELECT bool_and(day = date_trunc('day', day) AND next = day + interval '1 day') FROM (
				SELECT day, lead(day) OVER (ORDER BY day) AS next FROM ${table}_days) d" ],
		[ "$table: partitions older than ten days are gone, and those of the next days exist", 't|t', "
			SELECT min(day) BETWEEN now() - interval '12 days' AND now() - interval '9 days',
			       max(day) >= date_trunc('day', now()) + interval '$premade days' FROM ${table}_days" ],
		[ "$table: 100 rows in each of the last nine days", '100|100|9', "
			SELECT min(rows), max(rows), count(*) FROM (
				SELECT tableoid AS id, count(*) AS rows FROM $table GROUP BY 1) r JOIN ${table}_days USING (id)
			 WHERE day >= date_trunc('day', now()) - interval '9 days'" ]);
}

# Which functions work with which keys.
run_sql("INSERT INTO letters VALUES (comb_uuid_at(now() - interval '40 days'), 'late')",
	"INSERT INTO visits VALUES (snowflake_make(now() - interval '40 days', 1, 1), 'late')");
all_are(
	[ 'show_partitions', 't', "SELECT (SELECT count(*) FROM partman.show_partitions('public.letters')) > 10
		AND (SELECT count(*) FROM partman.show_partitions('public.visits')) > 10" ],
	[ 'show_partition_name: a time of COMBs', 't', q{
		SELECT partition_table = to_char(now(), '"letters_p"YYYYMMDD') AND table_exists
		  FROM partman.show_partition_name('public.letters', now()::text)} ],
	[ 'show_partition_name: an id', 't', "
		SELECT suffix_id = snowflake_first(date_trunc('day', now())) AND table_exists
		  FROM partman.show_partition_name('public.visits', snowflake_first(now())::text)" ],
	[ 'show_partition_info: of COMBs, not without the parent', '22007', q{
		SELECT partman.show_partition_info(to_char(now(), '"public.letters_p"YYYYMMDD'))} ],
	[ 'show_partition_info: of COMBs, with the parent', 't', q{
		SELECT child_start_time = date_trunc('day', now()) FROM partman.show_partition_info(
			to_char(now(), '"public.letters_p"YYYYMMDD'), p_parent_table := 'public.letters')} ],
	[ 'show_partition_info: of ids', 't', "
		SELECT child_start_id = snowflake_first(date_trunc('day', now()))
		  FROM partman.show_partition_info('public.visits_p' || snowflake_first(date_trunc('day', now())))" ],
	[ 'check_default: a late row in each', "public.letters_default|1\npublic.visits_default|1",
		'SELECT * FROM partman.check_default() ORDER BY 1' ],
	[ 'partition_data_proc: not of COMBs', '42883', "CALL partman.partition_data_proc('public.letters')" ],
	[ 'partition_data_proc: of ids', '0|1', "CALL partman.partition_data_proc('public.visits');
		SELECT (SELECT count(*) FROM visits_default), count(*) FROM visits WHERE page = 'late'" ],
	[ 'partition_gap_fill: of ids, what retention has dropped', 't', "SELECT partman.partition_gap_fill('public.visits') > 20" ],
	[ 'partition_gap_fill: of COMBs, without a gap', 0, "SELECT partman.partition_gap_fill('public.letters')" ]);

# Partitions of COMBs are made by the clock, those of ids by the highest id, 14 days ahead.
set_day(50);
run_sql('CALL partman.run_maintenance_proc()',
	"INSERT INTO letters (body) VALUES ('after silence')", "INSERT INTO visits (page) VALUES ('after silence')");
all_are(
	[ '20 days of silence: a COMB has its partition', 0, "SELECT count(*) FROM letters_default WHERE body = 'after silence'" ],
	[ '20 days of silence: an id has none, until partition_data_proc moves it', 't', "
		CREATE TEMP TABLE before AS TABLE visits_default; CALL partman.partition_data_proc('public.visits');
		SELECT visits.tableoid::regclass::text = 'visits_p' || snowflake_first(date_trunc('day', now()))
		  FROM visits JOIN before USING (id) WHERE visits.page = 'after silence'" ]);

run_sql('UPDATE partman.part_config SET ignore_default_data = false');
all_are(
	[ 'ignore_default_data = false: not of COMBs', 'P0001', "SELECT partman.run_maintenance('public.letters')" ],
	[ 'ignore_default_data = false: of ids', '', "SELECT partman.run_maintenance('public.visits')" ],
	map { [ "undo_partition_proc of $_ keeps all rows", 't', "CREATE TABLE ${_}_plain (LIKE $_); CREATE TABLE ${_}_rows AS TABLE $_;
		CALL partman.undo_partition_proc('public.$_', 'public.${_}_plain', p_keep_table := false);
		SELECT (SELECT count(*) FROM ${_}_plain) = count(*) FROM ${_}_rows" ] } qw(letters visits));

# Parameters that are accepted and do not work.
run_sql('CREATE TABLE plain_names (id uuid PRIMARY KEY DEFAULT comb_uuid()) PARTITION BY RANGE (id)',
	'CREATE TABLE uuid_decoder (LIKE plain_names INCLUDING ALL) PARTITION BY RANGE (id)',
	'CREATE TABLE epoch (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5)) PARTITION BY RANGE (id)',
	"SELECT partman.create_parent('public.plain_names', 'id', '1 day', p_time_encoder := 'comb_uuid_first',
		p_time_decoder := 'comb_uuid_timestamp_text')",
	"SELECT partman.create_parent('public.uuid_decoder', 'id', '1 day', p_time_encoder := 'public.comb_uuid_first',
		p_time_decoder := 'public.comb_uuid_timestamp')");
all_are(
	[ 'names without a schema fail later', '42883', "SELECT partman.show_partitions('public.plain_names')" ],
	[ 'the decoder of uuids fails later', '42883', "SELECT partman.show_partitions('public.uuid_decoder')" ],
	[ "p_epoch := 'milliseconds' is accepted, and rows are in the default partition", "t\nepoch_default", "
		SELECT partman.create_parent('public.epoch', 'id', '1 day', p_epoch := 'milliseconds');
		INSERT INTO epoch DEFAULT VALUES RETURNING tableoid::regclass" ]);

$node->stop;
done_testing();

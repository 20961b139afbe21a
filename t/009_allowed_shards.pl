# The list of allowed shards is read from the configuration file, and nothing else can
# change it; statistics of shards and of the database.
#
# SQL can neither write the configuration file nor set the clock.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock);
my $issue = 'SELECT snowflake_nextval(5)';

is(outcome($node, "LOAD 'seqid'; SHOW seqid.allowed_shards"), '0-1023', 'allowed: all by default');
is(outcome($node, "LOAD 'seqid'; $_"), '55P02', "allowed: refused: $_")
  for "SET seqid.allowed_shards = '5'", "ALTER DATABASE postgres SET seqid.allowed_shards = '5'";

my $changes = 0;

sub allow
{
	reconfigure($node, 'seqid.allowed_shards' => $_[0], 'regress_test.changes' => ++$changes);
}

# The shards that a new session can issue.
sub allowed
{
	my %state = map { split /\|/ } split /\n/, outcome($node, 'CREATE FUNCTION pg_temp.try(shard int) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN PERFORM snowflake_nextval(shard); RETURN $a$yes$a$;
		EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
		SELECT s, pg_temp.try(s) FROM generate_series(0, 1023) s');
	is_deeply([ grep { $state{$_} !~ /^(yes|55000)$/ } keys %state ], [], 'allowed: a shard is either issued or 55000');
	return join ' ', sort { $a <=> $b } grep { $state{$_} eq 'yes' } keys %state;
}

# A list that is not known is not empty: any shard can be in use, so none can number
# existing rows.
my $backfill = "SELECT snowflake_backfill('2024-01-01', 700) OVER ()";
is(outcome($node, "SET seqid.allowed_shards = '1'; $backfill"), '55000', 'backfill: not with a list of a session');
allow('3, 16-18');
is(allowed(), '3 16 17 18', 'allowed: numbers and ranges');
for my $kind ('snowflake', 'snowflake53')
{
	is(outcome($node, "SET seqid.shards = 5; SELECT ${kind}_$_"), '55000', "allowed: ${kind}_$_ is refused")
	  for 'nextval()', 'nextval(5)', 'nextvals(5, 3)', 'nextblock(5, 3)', 'nextblock(3)';
	like(outcome($node, "SELECT ${kind}_nextval(16) + ${kind}_make('2024-01-01', 5, 0)"),
		qr/^\d+$/, "allowed: $kind of another shard, and codecs");
}

# Before the library is loaded, a session can set any value; it has no effect.
is(outcome($node, "SET seqid.allowed_shards = '$_'; $issue"), '55000', "allowed: not '$_' of a session")
  for '5', '0-1023', '3', 'rubbish';
my $force = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
{
	local $ENV{PGOPTIONS} = "-c seqid.allowed_shards=0-1023 -c $force=on";
	is(outcome($node, $issue), '55000', 'allowed: nor in a parallel worker');
}
$node->safe_psql('postgres', "ALTER DATABASE postgres SET seqid.allowed_shards = '0-1023'");
is(outcome($node, $issue), '55000', 'allowed: nor that of a database');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET seqid.allowed_shards');
allow(' 1023 ,0');
is(allowed(), '0 1023', 'allowed: the ends, and spaces');

# A list that cannot be read leaves the one before in force in sessions that have one,
# and allows nothing in others.
my $session = SeqidSession->new($node);
$session->query("LOAD 'seqid'");
for my $bad ('rubbish', '', ' ', '1024', '-1', '1-', '5-3', '1,,2', '1 2', '99999999999999999999', '1,')
{
	allow($bad);
	poll_until { $session->query("SELECT current_setting('regress_test.changes', true)") eq $changes }
	  or die 'the session does not read the configuration file';
	is($session->query('SHOW seqid.allowed_shards'), ' 1023 ,0', "allowed: '$bad' is not taken");
	is(outcome($node, $_), '55000', "allowed: '$bad' is nothing, $_") for $issue, $backfill;
}

allow('0-1023');
# A cursor that was opened while its shard was allowed.
like($session->query('BEGIN; DECLARE c CURSOR FOR SELECT snowflake_nextvals(5, 1000000); FETCH 1 FROM c'),
	qr/^\d+$/, 'a cursor: issues ids');
allow('6');
poll_until { $session->query('SHOW seqid.allowed_shards') eq '6' } or die 'the session does not read the file';
is($session->outcome('FETCH 100000 FROM c') =~ s/.*\n//sr, '55000', 'a cursor: issues no more, when its shard is not allowed');
$session->query('ROLLBACK');

$node->adjust_conf('postgresql.conf', 'seqid.allowed_shards', undef);
reconfigure($node, 'regress_test.changes' => ++$changes);
poll_until { $session->query("SELECT current_setting('regress_test.changes')") eq $changes } or die 'the session does not read the file';
like($session->query($issue), qr/^\d+$/, 'allowed: all in a session whose list was removed from the file');
$session->close;

#
# Statistics.
#
my $of_shard = 'FROM seqid.stat_shards WHERE shard =';
is(outcome($node, "SELECT preloaded, (SELECT count(*) $of_shard 700) FROM seqid.stat_server"),
	'f|0', 'statistics: not preloaded, and an unused shard is not shown');
my $id = outcome($node, 'SELECT snowflake_nextval(700)');
is(outcome($node, "SELECT last_id, last_time = snowflake_timestamp(last_id), lead_ms, clock_regressions $of_shard 700"),
	"$id|t|0|0", 'statistics: the last id of a shard');
# A call waits if it comes before its millisecond; on a busy machine some do not.
my $blocks = 'SELECT count(snowflake_nextblock(700, 4096)), count(snowflake53_nextblock(30, 128)) FROM generate_series(1, 100)';
ok((poll_until { outcome($node, $blocks); outcome($node, "SELECT bool_and(waits > 0) $of_shard 700 OR shard = 30") eq 't' }),
	'statistics: waits are counted, of both layouts');
is(outcome($node, "SELECT layout, snowflake53_shard(last_id), last_time = snowflake53_timestamp(last_id) $of_shard 30"),
	'snowflake53|30|t', 'statistics: the other layout');
$clock->set('-30m');
is(outcome($node, "SET seqid.max_lead = '1h'; SELECT lead_ms BETWEEN 1 AND 1800000, clock_regressions
		FROM (SELECT snowflake_nextval(700) OFFSET 0) i, LATERAL (SELECT * $of_shard 700 OFFSET 0) s"),
	't|1', 'statistics: clock regressions are counted');
$clock->set('+0s');
$node->safe_psql('postgres', 'CREATE ROLE regress_seqid_user');
my $comb_time = outcome($node, 'SELECT comb_uuid_timestamp(comb_uuid())');
is(outcome($node, <<SQL), 't|t|t|t', 'statistics: of the database, for any role');
SET ROLE regress_seqid_user;
SELECT comb_uuid_time >= '$comb_time', clock_mark > comb_uuid_time, marks_written > 0,
       abs(years_left - extract(epoch FROM timestamptz '2092-09-06 15:47:35.551Z' - now()) / 86400 / 365.25) < 0.01
  FROM seqid.stat_database, seqid.stat_server, (SELECT FROM seqid.stat_shards LIMIT 1) s
SQL

$node->stop;
done_testing();

# The mark is missing, damaged or another thing; the extension is dropped and
# created again; the configuration is another server's.
#
# A damaged page and a configuration file are out of the reach of SQL.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$clock->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

#
# Dropped and created again: also for a session that was there before, also
# over a crash, and although the clock is then behind.
#
my $session = SeqidSession->new($node);
my $last = $session->query('SELECT snowflake_nextval(5)');
$node->safe_psql('postgres', 'DROP EXTENSION seqid; CREATE EXTENSION seqid');
my $next = $session->query('SELECT snowflake_nextval(5)');
cmp_ok($next, '>', $last, 'created again: ids go on');
$session->close;
$last = full_outcome($node, 'postgres', 'SELECT max(snowflake_nextblock(5, 4096)) FROM generate_series(1, 100)');
$node->safe_psql('postgres', 'DROP EXTENSION seqid');
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');
$clock->crash($node, '-5s');
cmp_ok(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), '>', $last + 4095,
	'created again, not used, and a crash: ids go on');
$clock->set('+0s');

# The ids of the dropped extension were ahead of the clock, and of the COMBs.
$clock->set('+5s');
$last = full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)');
$clock->set('+0s');
$node->safe_psql('postgres', 'DROP EXTENSION seqid');
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');
$clock->crash($node);
cmp_ok(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), '>', $last,
	'created again, with ids ahead of the clock, and a crash: ids go on');

# Created in a transaction that is rolled back.
$session = SeqidSession->new($node);
$session->query('DROP EXTENSION seqid');
$session->query('BEGIN');
$session->query('CREATE EXTENSION seqid');
$last = $session->query('SELECT snowflake_nextval(5)');
$session->query('ROLLBACK');
$session->query('CREATE EXTENSION seqid');
cmp_ok($session->query('SELECT snowflake_nextval(5)'), '>', $last, 'rolled back: ids go on');
is($session->errors, '', 'rolled back: no error');

$session->close;

#
# ALTER SEQUENCE gives the mark a new file without its nonce.  It is the same mark, so
# it is no floor, and the lead of the keys does not add up.
#
my $floor = full_outcome($node, 'postgres', 'SELECT clock_floor FROM seqid.stat_database');
for my $round (1 .. 3)
{
	$node->safe_psql('postgres', 'ALTER SEQUENCE seqid.clock_mark CACHE 1');
	full_outcome($node, 'postgres', 'SELECT comb_uuid()');
	is(full_outcome($node, 'postgres', 'SELECT clock_floor FROM seqid.stat_database'), $floor, 'altered: the floor stays');
}

#
# Missing, or another thing.
#
$node->safe_psql('postgres', 'ALTER SEQUENCE seqid.clock_mark RENAME TO elsewhere');
is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
	'55000: clock mark of extension "seqid" does not exist', 'missing: snowflakes are refused');
is(full_outcome($node, 'postgres', 'SELECT comb_uuid()'),
	'55000: clock mark of extension "seqid" does not exist', 'missing: combs are refused');
is(full_outcome($node, 'postgres', 'SELECT clock_mark IS NULL, clock_floor IS NULL, marks_written > 0 FROM seqid.stat_database'),
	't|t|t', 'missing: statistics show the rest');
like(full_outcome($node, 'postgres', 'SELECT uuid_time_nextval()'), qr/^[0-9a-f-]{36}$/, 'missing: others go on');
$node->safe_psql('postgres', 'CREATE TABLE seqid.clock_mark (last_value bigint)');
is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
	'42809: clock mark "seqid.clock_mark" is not a permanent sequence', 'a table: refused');
$node->safe_psql('postgres', 'DROP TABLE seqid.clock_mark; CREATE TEMP SEQUENCE clock_mark');
is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
	'55000: clock mark of extension "seqid" does not exist', 'a temporary sequence: not found');
$node->safe_psql('postgres', 'ALTER SEQUENCE seqid.elsewhere RENAME TO clock_mark');
like(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), qr/^\d+$/, 'back again: ids go on');

# Whoever may not set it cannot; whoever resets it resets nothing.
$node->safe_psql('postgres', 'CREATE ROLE regress_seqid_user');
like(full_outcome($node, 'postgres', "SET ROLE regress_seqid_user; SELECT setval('seqid.clock_mark', 1)"),
	qr/^42501: /, 'an ordinary role cannot set the mark');
like(full_outcome($node, 'postgres', 'SET ROLE regress_seqid_user; SELECT snowflake_nextval(5)'),
	qr/\d+$/, 'an ordinary role can raise it');
for my $value (-5, '3000000000000000', '9223372036854775807')
{
	$node->safe_psql('postgres',
		"ALTER SEQUENCE seqid.clock_mark MINVALUE -10; SELECT setval('seqid.clock_mark', $value)");
	is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
		"XX001: value of clock mark \"seqid.clock_mark\" is out of range: $value", "set to $value: refused");
}
$node->safe_psql('postgres', "SELECT setval('seqid.clock_mark', 0); ALTER SEQUENCE seqid.clock_mark MINVALUE 0");
$last = full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)');
$node->safe_psql('postgres', "SELECT setval('seqid.clock_mark', 1)");
cmp_ok(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), '>', $last, 'set to 1: ids go on');
is(full_outcome($node, 'postgres', 'SELECT clock_mark > clock_timestamp() FROM seqid.stat_database'),
	't', 'set to 1: and it is raised again');

#
# A damaged page: the magic number in its special space.
#
my $path = $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('seqid.clock_mark')");
$node->stop;
open my $file, '+<:raw', $path or die $!;
seek $file, 8192 - 8, 0;
read $file, my $magic, 4;
is(unpack('L', $magic), 0x1717, 'damaged: the magic number is where we think');
seek $file, 8192 - 8, 0;
print $file pack('L', 0xdeadbeef);
close $file;
$clock->start($node);
# Where pages have checksums, which is the default from 18 on, the server itself
# would refuse it.
is(full_outcome($node, 'postgres', 'SET ignore_checksum_failure = on; SELECT snowflake_nextval(5)'),
	'XX001: page of clock mark "seqid.clock_mark" is damaged', 'damaged: refused');
is(full_outcome($node, 'postgres', 'SELECT 1'), '1', 'damaged: the server goes on');
$node->safe_psql('postgres', 'DROP EXTENSION seqid CASCADE; CREATE EXTENSION seqid');
like(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), qr/^\d+$/, 'damaged: the hint helps');

#
# Allowed shards.
#
is(full_outcome($node, 'postgres', "LOAD 'seqid'; SHOW seqid.allowed_shards"),
	'0-1023', 'allowed: all, unless told otherwise');
like(full_outcome($node, 'postgres', "LOAD 'seqid'; SET seqid.allowed_shards = '5'"),
	qr/^55P02: /, 'allowed: no session can set it');
like(full_outcome($node, 'postgres', "LOAD 'seqid'; ALTER DATABASE postgres SET seqid.allowed_shards = '5'"),
	qr/^55P02: /, 'allowed: no database can set it');

sub allow
{
	my ($list) = @_;

	$node->append_conf('postgresql.conf', "seqid.allowed_shards = '$list'");
	$node->reload;
	return;
}

# Waits until the session has read the configuration file once more: it then
# shows a setting that is in none of the lines before.
my $marks = 0;

sub allow_marker
{
	$marks++;
	$node->append_conf('postgresql.conf', "regress_test.mark = '$marks'");
	$node->reload;
	poll_until { $session->query("SELECT current_setting('regress_test.mark', true)") eq $marks }
	  or die 'the session does not read the configuration file';
	return;
}

# Which shards a new session may issue.
sub allowed
{
	my %state = map { split /\|/ }
	  split /\n/, full_outcome($node, 'postgres', "CREATE FUNCTION pg_temp.try(shard int) RETURNS text LANGUAGE plpgsql AS \$\$
		BEGIN PERFORM snowflake_nextval(shard); RETURN 'yes';
		EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END \$\$;
		SELECT s, pg_temp.try(s) FROM generate_series(0, 1023) s");
	my @odd = grep { $state{$_} !~ /^(yes|55000)$/ } keys %state;
	is_deeply(\@odd, [], 'allowed: a shard is either issued or 55000');
	return join ' ', sort { $a <=> $b } grep { $state{$_} eq 'yes' } keys %state;
}

allow('3, 16-18');
is(allowed(), '3 16 17 18', 'allowed: numbers and ranges');
is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
	'55000: shard 5 is not one that this server may issue', 'allowed: others are refused');
is(full_outcome($node, 'postgres', 'SELECT count(*) FROM snowflake_nextvals(5, 3)'),
	'55000: shard 5 is not one that this server may issue', 'allowed: by every function');
is(full_outcome($node, 'postgres', 'SELECT snowflake_nextblock(5, 3)'),
	'55000: shard 5 is not one that this server may issue', 'allowed: by every function');
is(full_outcome($node, 'postgres', 'SET seqid.shards = 5; SELECT snowflake_nextval()'),
	'55000: shard 5 is not one that this server may issue', 'allowed: also the configured shard');
for my $call ('snowflake53_nextval(5)', 'snowflake53_nextvals(5, 3)', 'snowflake53_nextblock(5, 3)')
{
	is(full_outcome($node, 'postgres', "SELECT $call"),
		'55000: shard 5 is not one that this server may issue', "allowed: by $call, too");
}
like(full_outcome($node, 'postgres', 'SELECT snowflake53_nextval(16)'), qr/^\d+$/, 'allowed: of both layouts');
like(full_outcome($node, 'postgres', "SELECT snowflake_make('2024-01-01', 5, 0)"), qr/^\d+$/, 'allowed: codecs do not care');

# Before the library is loaded a session can set what it likes: that is no way
# around the list.
for my $list ('5', '0-1023', '3', 'rubbish')
{
	is(full_outcome($node, 'postgres', "SET seqid.allowed_shards = '$list'; SELECT snowflake_nextval(5)"),
		'55000: shard 5 is not one that this server may issue', "allowed: not '$list' of a session");
}
for my $force ('force_parallel_mode', 'debug_parallel_query')
{
	# One of the two names exists; the other is an error that is not the answer.
	local $ENV{PGOPTIONS} = "-c seqid.allowed_shards=0-1023 -c $force=on";
	unlike(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), qr/^\d+$/, 'allowed: nor in a parallel worker');
}
$node->safe_psql('postgres', "ALTER DATABASE postgres SET seqid.allowed_shards = '0-1023'");
is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
	'55000: shard 5 is not one that this server may issue', 'allowed: nor that of a database');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET seqid.allowed_shards');
allow('rubbish');
is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
	'55000: shard 5 is not one that this server may issue', 'allowed: nothing, if the list cannot be read');

allow(' 1023 ,0');
is(allowed(), '0 1023', 'allowed: the ends, and spaces');

# A list that cannot be read leaves the one before in force, in sessions that
# have one.
$session = SeqidSession->new($node);
$session->query("LOAD 'seqid'");
for my $bad ('', ' ', '1024', '-1', '1-', '5-3', '1,,2', '1 2', 'five', '99999999999999999999', '1,')
{
	allow($bad);
	allow_marker();
	is($session->query('SHOW seqid.allowed_shards'), ' 1023 ,0', "allowed: '$bad' is not taken");
	is(full_outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'),
		'55000: shard 5 is not one that this server may issue', "allowed: '$bad' is nothing");
}
$session->close;
allow('0-1023');

#
# Statistics.
#
is(full_outcome($node, 'postgres', 'SELECT preloaded FROM seqid.stat_server'), 'f', 'statistics: not preloaded');
is(full_outcome($node, 'postgres', 'SELECT count(*) FROM seqid.stat_shards WHERE shard = 700'), '0', 'statistics: an unused shard is not shown');
my $id = full_outcome($node, 'postgres', 'SELECT snowflake_nextval(700)');
is(full_outcome($node, 'postgres', 'SELECT last_id, last_time = snowflake_timestamp(last_id), ahead_ms, clock_regressions FROM seqid.stat_shards WHERE shard = 700'),
	"$id|t|0|0", 'statistics: the last id of a shard');
# Of a hundred whole milliseconds, some are asked for before they come.
full_outcome($node, 'postgres', 'SELECT count(snowflake_nextblock(700, 4096)) FROM generate_series(1, 100)');
cmp_ok(full_outcome($node, 'postgres', 'SELECT waits FROM seqid.stat_shards WHERE shard = 700'), '>', 0, 'statistics: waits are counted');
full_outcome($node, 'postgres', 'SELECT count(snowflake53_nextblock(30, 128)) FROM generate_series(1, 100)');
is(full_outcome($node, 'postgres', 'SELECT layout, snowflake53_shard(last_id), last_time = snowflake53_timestamp(last_id), waits > 0 FROM seqid.stat_shards WHERE shard = 30'),
	'snowflake53|30|t|t', 'statistics: tell the layout');
$clock->set('-30m');
full_outcome($node, 'postgres', "SET seqid.max_clock_regression = '1h'; SELECT snowflake_nextval(700)");
is(full_outcome($node, 'postgres', 'SELECT ahead_ms BETWEEN 1 AND 1800000, clock_regressions FROM seqid.stat_shards WHERE shard = 700'),
	't|1', 'statistics: clock regressions are counted');
$clock->set('+0s');
my $comb_time = full_outcome($node, 'postgres', 'SELECT comb_uuid_timestamp(comb_uuid())');
is(full_outcome($node, 'postgres', "SELECT comb_time >= '$comb_time', clock_mark > comb_time, marks_written > 0, abs(years_left - extract(epoch FROM timestamptz '2092-09-06 15:47:35.551Z' - now()) / 86400 / 365.25) < 0.01 FROM seqid.stat_database"),
	't|t|t|t', 'statistics: of the server');
is(full_outcome($node, 'postgres', 'SET ROLE regress_seqid_user; SELECT count(*) > 0 FROM seqid.stat_shards, seqid.stat_server, seqid.stat_database'),
	't', 'statistics: anybody may look');

$node->stop;
done_testing();

# The recipes of docs/outbox.md, varied as readers of the page would: other types and
# keys, LIMIT, WHERE and joins, other isolation levels, DateStyles and time zones,
# misspelt names, repetition, kill -9 and a replica.  No row is lost, or an error says why.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use IPC::Run ();
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new('docs/outbox.md');
my $node = new_server('shop', streaming => 1, conf => "restart_after_crash = on\n");
my $settle = "SELECT outbox_settle('mail')";
my $unread = q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM outbox_unread('mail')};

sub recipe ($name) { return join '', map { $_->{text} } $page->recipe($name) }
sub run ($sql) { return $node->safe_psql('postgres', $sql) }

# What psql prints, with variables of the environment.
sub psql ($sql, %environment)
{
	local @ENV{ keys %environment } = values %environment;

	IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$sql, '>', \my $out, '2>&1', IPC::Run::timeout(180));
	return $out =~ s/\n\z//r;
}

# The tables and functions, without rows.
sub set_up ($type = 'bigserial')
{
	run('DROP TABLE IF EXISTS outbox, outbox_reader CASCADE; DROP FUNCTION IF EXISTS outbox_settle, outbox_settle_snowflake');
	run(recipe('table') =~ s/bigserial/$type/r);
	run('TRUNCATE outbox RESTART IDENTITY');
	run(recipe('outbox'));
	run(slurp_file('examples/outbox/settle_snowflake.sql'));
	return;
}

sub insert ($topic) { return "INSERT INTO outbox (topic) VALUES ('$topic') RETURNING id" }

# A writer whose transaction is open, with its row's key.
sub open_writer
{
	my $writer = SeqidSession->new($node);

	return ($writer, $writer->query('BEGIN; ' . insert('slow')));
}

#
# Types
#
for my $type ('smallserial', 'serial', 'bigserial')
{
	set_up($type);
	my ($writer) = open_writer();
	run(insert('quick'));
	run($settle);
	is(run($unread), '', "$type: a late commit holds the quick row back");
	$writer->query('COMMIT');
	run($settle);
	is(run($unread), '1 2', "$type: then both come");
	is(run("$settle; $settle; $unread"), "2\n2\n1 2", "$type: again, if the position is not moved");
	run("UPDATE outbox_reader SET last_id = 2; $settle");
	is(run($unread), '', "$type: and not when it is");
	$writer->close;
}

#
# LIMIT, WHERE and a join
#
run('INSERT INTO outbox (topic) SELECT CASE WHEN n % 2 = 0 THEN $$even$$ ELSE $$odd$$ END FROM generate_series(3, 8) n');
is(run("BEGIN; $settle; SELECT id FROM outbox_unread('mail') ORDER BY id LIMIT 2; UPDATE outbox_reader SET last_id = 4 WHERE name = 'mail'; COMMIT"),
	"8\n3\n4", 'LIMIT: two rows');
is(run($unread), '5 6 7 8', 'LIMIT: the others come later');
is(run("BEGIN; $settle; SELECT id FROM outbox_unread('mail') WHERE topic = 'odd' ORDER BY id LIMIT 1; UPDATE outbox_reader SET last_id = 5 WHERE name = 'mail'; COMMIT"),
	"8\n5", 'WHERE: one row');
is(run("$settle; SELECT id FROM outbox_unread('mail') u JOIN outbox o USING (id) WHERE o.topic = 'odd'"), "8\n7", 'JOIN: the rows are there');
is(run("WITH s AS (SELECT outbox_settle('mail')) SELECT id FROM s, outbox_unread('mail') ORDER BY id"), "6\n7\n8", 'in one statement');

#
# Wrong names and positions
#
like(psql("SELECT outbox_settle('mial')"), qr/reader "mial" does not exist/, 'a misspelt reader');
is(run("UPDATE outbox_reader SET last_id = 8 WHERE name = 'mial'; $unread"), '6 7 8', 'a misspelt reader keeps its position');
my ($writer, $slow) = open_writer();
run(insert('quick'));
run($settle);
is(outcome($node, 'UPDATE outbox_reader SET last_id = (SELECT max(id) FROM outbox)'), '23514', 'a position by max(id)');
$writer->query('COMMIT');
run($settle);
is(run($unread), "6 7 8 $slow " . ($slow + 1), 'the late row is not lost');

#
# Isolation levels
#
for my $level ('repeatable read', 'serializable')
{
	is(outcome($node, "SET default_transaction_isolation = '$level'; $settle"), '25001', "$level: refused");
	my $reader = SeqidSession->new($node);
	$reader->query("BEGIN ISOLATION LEVEL $level; SELECT 1");
	my $seen = run($unread);
	my $id = run(insert('new'));
	run($settle);
	is($reader->query($unread), $seen, "$level: an older snapshot has the older bound");
	is(run($unread), "$seen $id", "$level: a newer one has the row");
	$reader->close;
}

#
# kill -9 between the read and the UPDATE
#
my $seen = run($unread);
$writer->query("BEGIN; $settle; $unread; UPDATE outbox_reader SET last_id = settled_id");
$writer->kill_backend;
wait_until($node, 'SELECT true') or die 'the server does not restart';
$writer->abandon;
is(run($unread), $seen, 'kill -9: the rows come again');

#
# A replica, which is behind at first
#
my $standby = new_standby($node, 'replica');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
($writer, $slow) = open_writer();
run("UPDATE outbox_reader SET last_id = settled_id");
run(insert('quick'));
run($settle);
$writer->query('COMMIT');
run($settle);
is(outcome($standby, $unread), $seen, 'replica: what it has is in order');
is(outcome($standby, $settle), '25006', 'replica: no horizon');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is(outcome($standby, $unread), run($unread), 'replica: then it has all');
$standby->stop;

#
# A sequence that is set back, and keys of another kind
#
run('TRUNCATE outbox RESTART IDENTITY; ' . insert('new'));
like(psql($settle), qr/outbox_id_seq is behind/, 'TRUNCATE ... RESTART IDENTITY');
for my $key ('snowflake_nextval(5)', 'snowflake53_nextval(5)')
{
	set_up();
	run("ALTER TABLE outbox ALTER id SET DEFAULT $key");
	my ($writer, $slow) = open_writer();
	my $quick = run(insert('quick'));
	like(psql($settle), qr/outbox_id_seq is behind/, "$key: not by the sequence");
	run("SELECT outbox_settle_snowflake('mail')");
	is(run($unread), '', "$key: a late commit holds the quick row back");
	$writer->query('COMMIT');
	ok(poll_until { psql("SELECT outbox_settle_snowflake('mail'); $unread") =~ /^$slow $quick$/m }, "$key: then both come");
	run(recipe('new reader') =~ s/outbox_settle/outbox_settle_snowflake/r);
	is(run("SELECT count(*) FROM outbox_unread('cache')"), '0', "$key: a new reader starts with now");
	$writer->close;
}
like(psql("SELECT outbox_settle_snowflake('mial')"), qr/reader "mial" does not exist/, 'a misspelt reader of snowflakes');

# The first horizon of a database is the smallest one while a writer is open.
run('CREATE DATABASE fresh');
$node->safe_psql('fresh', join '', 'CREATE EXTENSION seqid;', recipe('table'), recipe('outbox'), slurp_file('examples/outbox/settle_snowflake.sql'));
$writer = SeqidSession->new($node, 'fresh');
$writer->query('BEGIN; SELECT snowflake_nextval(5)');
is(outcome($node, 'fresh', "SELECT outbox_settle_snowflake('mail')"), 'P0001', 'the first horizon: refused');
$writer->query('COMMIT');
ok(poll_until { outcome($node, 'fresh', "SELECT outbox_settle_snowflake('mail')") =~ /^\d+$/ }, 'the first horizon: later');
$writer->close;

#
# DateStyle and time zone, through psql's variables
#
my %china = (PGDATESTYLE => 'SQL, DMY', PGTZ => 'Asia/Shanghai');
set_up();
run(insert('apples'));
is(psql("\\set last 0\n" . recipe('read'), %china), '1|apples', 'DateStyle: a sequence');
run('CREATE TABLE events (snowflake bigint DEFAULT snowflake_nextval(5), snowflake53 bigint DEFAULT snowflake53_nextval(5), comb uuid DEFAULT comb_uuid(), note text)');
$writer = SeqidSession->new($node);
$writer->query("BEGIN; INSERT INTO events (note) VALUES ('slow')");
run("INSERT INTO events (note) VALUES ('quick')");
for my $key ('snowflake', 'snowflake53', 'comb')
{
	is(psql("CALL seqid.horizon() \\gset\nSELECT note FROM events WHERE $key < :'$key'", %china), '', "DateStyle: $key is held");
}
$writer->query('COMMIT');
for my $key ('snowflake', 'snowflake53', 'comb')
{
	my $read = "CALL seqid.horizon() \\gset\nSELECT note FROM events WHERE $key < :'$key' ORDER BY $key";
	ok(poll_until { psql($read, %china) eq "slow\nquick" }, "DateStyle: $key is read");
}
$writer->close;

#
# An identity column, of int and in other hands; and a schema before pg_catalog
#
run(recipe('identity') =~ s/bigint GENERATED ALWAYS/int GENERATED BY DEFAULT/r);
run("CREATE ROLE regress_app; GRANT INSERT ON ledger TO regress_app");
is(outcome($node, "SET ROLE regress_app; INSERT INTO ledger (entry) VALUES ('paid')"), '42501', 'identity: needs USAGE');
is(run("GRANT USAGE ON SEQUENCE ledger_id_seq TO regress_app; SET ROLE regress_app; INSERT INTO ledger (entry) VALUES ('paid'); RESET ROLE;
	SELECT string_agg(id::text, ' ' ORDER BY id) FROM ledger"), '1 2', 'identity: keys go on');
run(recipe('nextval'));
is(run("SET search_path = settled, pg_catalog, public; BEGIN; SELECT nextval('ledger_id_seq'); SELECT sequence, value FROM seqid.horizon_holders"),
	"3\nledger_id_seq|2", 'search_path: nextval() is settled_nextval()');

$node->stop;
done_testing();

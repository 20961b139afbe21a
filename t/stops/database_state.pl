# The entry of a database in shared memory: no other database inherits it, not even one
# with the same OID, and no database takes it while sessions use it.
#
# For a library with eight entries: scripts/test.sh stops.  SQL can neither set a clock nor
# restart a server.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, conf => 'max_prepared_transactions = 5', extension => 0);
my $attach = "SELECT comb_uuid()";

# Neither the template nor the database that this connects to has an entry.
add_database($node, 'clean');
$node->safe_psql('clean', 'CREATE TABLE t (id bigint PRIMARY KEY, c uuid UNIQUE)');
$clock->restart($node, '+0s');

sub create ($name, $options = '')
{
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE clean " . ($options));
}

sub drop
{
	$node->safe_psql('postgres', "DROP DATABASE $_") for @_;
}

# Adds keys to tables, which must be above the keys in them.
sub check_insert ($what, @databases)
{
	is(outcome($node, $_, <<'SQL'), 't|t', "$what: keys of $_") for @databases;
WITH before AS MATERIALIZED (SELECT max(id) AS id, max(c::text) AS c FROM t),
	new AS (INSERT INTO t SELECT snowflake_nextval(5), comb_uuid() FROM generate_series(1, 100), before RETURNING id, c)
SELECT bool_and(new.id > coalesce(before.id, 0)), bool_and(new.c::text > coalesce(before.c, '')) FROM new, before
SQL
}

#
# An OID comes back after the entry was given to another database.
#
my $what = 'an OID that comes back';
create('a', 'OID 50000');
check_insert($what, 'a');
$clock->restart($node, '-8s');
outcome($node, 'a', 'SELECT snowflake_nextval(6)');
create($_) for 'b' .. 'h';
check_insert($what, 'b' .. 'h');
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE a');
drop('a');
create('i');
check_insert("$what, in another entry", 'i');
drop('b');
$node->safe_psql('postgres', 'CREATE DATABASE a TEMPLATE copy OID 50000');
check_insert("$what, with rows", 'a');
drop('a', 'c' .. 'i', 'copy');

#
# A role that can create databases prepares an entry for an OID that will come.
#
$clock->restart($node, '+0s');
create('evil', 'OID 60000');
like(outcome($node, 'evil', "SELECT setval('seqid.clock_mark', (extract(epoch FROM timestamptz '2090-01-01 00:00Z') * 1000)::bigint);
	SELECT comb_uuid_timestamp(comb_uuid()) > '2090-01-01 00:00Z'"), qr/^t$/m, 'a prepared entry: keys are far ahead');
drop('evil');
create('late', 'OID 60000');
is(outcome($node, 'late', "SELECT comb_uuid_timestamp(comb_uuid()) < clock_timestamp() + interval '2 s'"),
	't', 'a prepared entry: keys are at the clock');
like(settled_horizon($node, 'late'), qr/^20[2-8]/, 'a prepared entry: so is the horizon');

# The files of a database that is moved are new; its sessions have ended.
$what = 'another tablespace';
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '" . PostgreSQL::Test::Utils::tempdir . "'");
$clock->set('-3s');
$node->safe_psql('postgres', 'ALTER DATABASE late SET TABLESPACE elsewhere');
check_insert($what, 'late');
is(outcome($node, 'late', 'BEGIN; INSERT INTO t VALUES (snowflake_nextval(5)); PREPARE TRANSACTION $$p$$'), '', "$what: a prepared transaction");
is(outcome($node, 'postgres', 'ALTER DATABASE late SET TABLESPACE pg_default'), '55006', "$what: not below a prepared transaction");
outcome($node, 'late', 'ROLLBACK PREPARED $$p$$');
$clock->set('+0s');
drop('late');

#
# Another program touches the file by which a database is known, while a session is there.
#
$what = 'a touched file';
create('touched');
my $touches = 0;

sub touch
{
	my $file = $node->data_dir . '/' . outcome($node, 'touched',
		"SELECT 'base/' || oid || '/PG_VERSION' FROM pg_database WHERE datname = current_database()");

	$touches++;
	utime($touches, $touches, $file) == 1 or die "$file: $!";
}

my $session = SeqidSession->new($node, 'touched');
my $comb = $session->query($attach);
$clock->set('-5s');
touch();
like(settled_horizon($node, 'touched'), qr/^20/, "$what: a second session");
my $next = $session->query($attach);
cmp_ok($next, 'gt', $comb, "$what: the first one goes on");
$session->close;
cmp_ok(outcome($node, 'touched', $attach), 'gt', $next, "$what: so does a third");
touch();
check_insert("$what, without sessions", 'touched');
cmp_ok(outcome($node, 'touched', $attach), 'gt', $next, "$what, without sessions: COMBs go on");
$clock->set('+0s');

# The same while only parallel workers have generated keys, and are gone.  $change happens
# before another session asks for the horizon.
my $force = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';

sub check_workers ($how, $change)
{
	my $leader = SeqidSession->new($node, 'touched');

	$leader->query("LOAD 'seqid'; SET $force = on; SET parallel_leader_participation = off; BEGIN");
	$leader->query('CREATE TABLE by_workers AS SELECT snowflake_nextval(5) AS id FROM generate_series(1, 3)');
	$change->();
	my $bound = outcome($node, 'touched', 'SET timezone = $$UTC$$; CALL seqid.horizon()') =~ s/\|.*//r;
	is($leader->query("SELECT count(*), min(id) >= snowflake_first('$bound') FROM by_workers; DROP TABLE by_workers; COMMIT"),
		'3|t', "$how: a transaction whose workers are gone holds back the horizon");
	$leader->close;
}

check_workers($what, \&touch);

# The first keys of a database in a server lifetime.
$clock->restart($node, '+0s');
check_workers('a mark that is set', sub {
		outcome($node, 'touched', "SELECT setval('seqid.clock_mark', last_value + 5000) FROM seqid.clock_mark");
		return outcome($node, 'touched', 'SELECT snowflake_nextval(6)');
	});
drop('touched');

#
# All entries belong to databases that exist.
#
$what = 'all entries';
$clock->restart($node, '+0s');
create("full_$_") for 1 .. 9;
check_insert($what, map { "full_$_" } 1 .. 8);
is(outcome($node, 'full_9', $_), '53400', "$what: a ninth database is refused, $_")
  for 'SELECT snowflake_nextval(5)', $attach, 'CALL seqid.horizon()';
like(($node->psql('full_9', $attach))[2], qr/DETAIL:  8 other .*\nHINT:  /, "$what: the hint");
is(outcome($node, 'full_9', 'SELECT clock_mark IS NOT NULL, clock_floor = clock_mark, comb_uuid_time IS NULL, marks_written, horizon IS NULL FROM seqid.stat_database'),
	't|t|t|0|t', "$what: statistics need none");
is(outcome($node, 'full_9', 'SELECT count(*) FROM seqid.horizon_holders'), '0', "$what: nor does the other view");
check_insert("$what, one that has one", 'full_1');
drop('full_2');
check_insert("$what, that of a dropped database", 'full_9');

# Sessions search for the entry of a dropped database.  All wait for a lock there, at the
# first entry, which is that of full_1.
sub wait_for_lock ($holder, @sessions)
{
	my $pids = join ', ', map { $_->{pid} } @sessions;

	poll_until { $holder->query("SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0) FROM unnest(ARRAY[$pids]) pid") eq 't' }
	  or die 'the sessions are not blocked';
}

# A second database has found the entry that a first one takes and leaves meanwhile: the
# nonce shows that it was taken.
my $lock = 'BEGIN; LOCK TABLE pg_database IN ACCESS EXCLUSIVE MODE';
my ($holder, $next_holder) = map { SeqidSession->new($node) } 1 .. 2;
drop('full_1');
create($_) for 'one', 'two';
my @first = map { SeqidSession->new($node, 'one') } 1 .. 2;
my $second = SeqidSession->new($node, 'two');
$_->query("LOAD 'seqid'") for @first, $second;
$holder->query($lock);
$_->send('INSERT INTO t SELECT snowflake_nextval(5) RETURNING 1') for @first;
wait_for_lock($holder, @first);
$next_holder->send($lock);
wait_for_lock($holder, $next_holder);
$second->send($attach);
wait_for_lock($holder, $second);
$holder->query('COMMIT');
is(join(' ', map { $_->answer . $_->errors } @first), '1 1',
	"$what: sessions of a first database find the vacancy that one of them takes");
$next_holder->answer;
$_->close for @first;
poll_until { !grep { kill 0, $_->{pid} } @first } or die 'the sessions do not end';
$next_holder->query('COMMIT');
$second->answer;
like($second->errors, qr/^ERROR:  53400: /m, "$what: a second database does not");
$_->close for $second, $holder, $next_holder;
check_insert("$what, taken from a dropped database", 'one');
drop('one', 'two');
create('full_1');

# Statistics take no entry from the databases that generate keys.
$clock->restart($node, '+0s');
my $views = 'SELECT count(*) FROM seqid.stat_server, seqid.stat_database, (SELECT count(*) FROM seqid.stat_shards, seqid.horizon_holders) v';
is(outcome($node, "full_$_", $views), '1', "views claim no entry: database $_") for 1, 3 .. 8;
create("more_$_") for 1 .. 8;
check_insert('views claim no entry', map { "more_$_" } 1 .. 8);

$node->stop;
done_testing();

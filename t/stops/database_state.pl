# The entry in shared memory that a database has: no other database inherits what is
# in it, be it one with the same OID, and none is taken while sessions use it.
#
# For a library with eight entries: scripts/test.sh stops.  SQL can neither set a clock
# nor restart a server.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $clock = SeqidClock->new;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 5");
$clock->start($node);
$node->safe_psql('postgres', 'CREATE DATABASE clean');
$node->safe_psql('clean', 'CREATE EXTENSION seqid; CREATE TABLE t (id bigint PRIMARY KEY, c uuid UNIQUE)');
$clock->restart($node, '+0s');

# Neither the template nor the database that this connects to has an entry.
sub create
{
	my ($name, $options) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE clean " . ($options // ''));
	return;
}

sub drop
{
	$node->safe_psql('postgres', "DROP DATABASE $_") for @_;
	return;
}

# Whether keys are above those of the table, which they join.
sub insert
{
	my ($database) = @_;

	return outcome($node, $database, <<'SQL');
WITH before AS MATERIALIZED (SELECT max(id) AS id, max(c::text) AS c FROM t),
	new AS (INSERT INTO t SELECT snowflake_nextval(5), comb_uuid() FROM generate_series(1, 100), before RETURNING id, c)
SELECT bool_and(new.id > coalesce(before.id, 0)), bool_and(new.c::text > coalesce(before.c, '')) FROM new, before
SQL
}

sub is_at_the_clock
{
	my ($database, $what) = @_;

	is( outcome($node, $database, "SELECT comb_uuid_timestamp(comb_uuid()) < clock_timestamp() + interval '2 s'"),
		't', "$what: keys are at the clock");
	like(outcome($node, $database, 'CALL seqid.horizon()'), qr/^20[2-8]/, "$what: so is the horizon");
	return;
}

#
# An OID comes back after the entry was given to another database.
#
create('a', 'OID 50000');
is(insert('a'), 't|t', 'an OID that comes back: rows');
$clock->restart($node, '-8s');
outcome($node, 'a', 'SELECT snowflake_nextval(6)');
for my $name ('b' .. 'h')
{
	create($name);
	is(insert($name), 't|t', "an OID that comes back: database $name has an entry");
}
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE a');
drop('a');
create('i');
is(insert('i'), 't|t', 'an OID that comes back: another database takes the entry');
drop('b');
$node->safe_psql('postgres', 'CREATE DATABASE a TEMPLATE copy OID 50000');
is(insert('a'), 't|t', 'an OID that comes back: keys go on above those of the rows');
drop('a', 'c' .. 'i', 'copy');

#
# A role that may create databases prepares an entry for an OID that will come.
#
$clock->restart($node, '+0s');
my $far = "SELECT setval('seqid.clock_mark', (extract(epoch FROM timestamptz '2090-01-01 00:00Z') * 1000)::bigint);
	SELECT comb_uuid_timestamp(comb_uuid()) > '2090-01-01 00:00Z'";
create('evil', 'OID 60000');
like(outcome($node, 'evil', $far), qr/^t$/m, 'a prepared entry: keys are far ahead');
drop('evil');
create('late', 'OID 60000');
is_at_the_clock('late', 'a prepared entry');
is(insert('late'), 't|t', 'a prepared entry: keys');

# The files of a database that is moved are new; its sessions have ended.
my $directory = PostgreSQL::Test::Utils::tempdir;
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '$directory'");
$clock->set('-3s');
$node->safe_psql('postgres', 'ALTER DATABASE late SET TABLESPACE elsewhere');
is(insert('late'), 't|t', 'another tablespace: keys go on');
like(outcome($node, 'late', 'BEGIN; INSERT INTO t VALUES (snowflake_nextval(5)); PREPARE TRANSACTION $$p$$'),
	qr/^$/, 'another tablespace: a prepared transaction');
is(outcome($node, 'postgres', 'ALTER DATABASE late SET TABLESPACE pg_default'), '55006',
	'another tablespace: not below a prepared transaction');
outcome($node, 'late', 'ROLLBACK PREPARED $$p$$');
$clock->set('+0s');
drop('late');

#
# Someone touches the file by which a database is known, while a session is there.
#
create('touched');
my $session = SeqidSession->new($node, 'touched');
my $comb = $session->query('SELECT comb_uuid()');
$clock->set('-5s');
my $file = $node->data_dir . '/' . $session->query("SELECT 'base/' || oid || '/PG_VERSION' FROM pg_database WHERE datname = current_database()");
utime(1, 1, $file) == 1 or die "$file: $!";
like(outcome($node, 'touched', 'CALL seqid.horizon()'), qr/^20/, 'a touched file: a second session');
my $next = $session->query('SELECT comb_uuid()');
cmp_ok($next, 'gt', $comb, 'a touched file: the first one goes on');
$session->close;
cmp_ok(outcome($node, 'touched', 'SELECT comb_uuid()'), 'gt', $next, 'a touched file: so does a third');
utime(2, 2, $file) == 1 or die "$file: $!";
is(insert('touched'), 't|t', 'a touched file, without sessions: keys');
cmp_ok(outcome($node, 'touched', 'SELECT comb_uuid()'), 'gt', $next, 'a touched file, without sessions: keys go on');
$clock->set('+0s');

# The same while only parallel workers have generated keys, and are gone.
my $force = $node->safe_psql('postgres', "SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')");
$session = SeqidSession->new($node, 'touched');
$session->query("LOAD 'seqid'; SET $force = on; SET parallel_leader_participation = off; BEGIN");
$session->query('CREATE TABLE by_workers AS SELECT snowflake_nextval(5) AS id FROM generate_series(1, 3)');
utime(3, 3, $file) == 1 or die "$file: $!";
my $bound = outcome($node, 'touched', 'SET timezone = $$UTC$$; CALL seqid.horizon()') =~ s/\|.*//r;
is($session->query("COMMIT; SELECT min(id) >= snowflake_first('$bound') FROM by_workers"),
	't', 'a touched file: a transaction whose workers are gone still holds the horizon');
$session->close;
drop('touched');

#
# All entries belong to databases that exist.
#
$clock->restart($node, '+0s');
create("full_$_") for 1 .. 9;
is(insert("full_$_"), 't|t', "all entries: database $_ has keys") for 1 .. 8;
for my $statement ('SELECT snowflake_nextval(5)', 'SELECT comb_uuid()', 'CALL seqid.horizon()')
{
	is(full_outcome($node, 'full_9', $statement), '53400: database "full_9" cannot generate keys',
		"all entries: a ninth database is refused, $statement");
}
like(($node->psql('full_9', 'SELECT comb_uuid()'))[2],
	qr/DETAIL:  8 other databases .*\nHINT:  Drop databases/, 'all entries: the hint');
is(outcome($node, 'full_9', 'SELECT clock_mark IS NOT NULL, clock_floor = clock_mark, comb_time IS NULL, marks_written, horizon IS NULL FROM seqid.stat_database'),
	't|t|t|0|t', 'all entries: statistics need none');
is(outcome($node, 'full_9', 'SELECT count(*) FROM seqid.horizon_holders'), '0', 'all entries: nor does the other view');
is(insert('full_1'), 't|t', 'all entries: those that have one go on');
drop('full_2');
is(insert('full_9'), 't|t', 'all entries: that of a dropped database is given away');

# Sessions of one database that compete for the last entry do not refuse each other.
drop('full_1');
create('many');
my @sessions = map { SeqidSession->new($node, 'many') } 1 .. 3;
my $lock = SeqidSession->new($node);
$_->query("LOAD 'seqid'") for @sessions;
$lock->query('BEGIN; LOCK TABLE pg_database IN ACCESS EXCLUSIVE MODE');
$_->send('INSERT INTO t SELECT snowflake_nextval(5)') for @sessions;
my $pids = join ', ', map { $_->{pid} } @sessions;
poll_until { $lock->query("SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0) FROM unnest(ARRAY[$pids]) pid") eq 't' }
  or die 'the sessions are not blocked';
$lock->query('COMMIT');
$_->answer for @sessions;
is(join('', map { $_->errors } @sessions), '', 'all entries: three sessions find the entry that one of them took');
is(outcome($node, 'many', 'SELECT count(*) FROM t'), '3', 'all entries: and each has a key');
$_->close for @sessions, $lock;
drop('many');
create('full_1');

# Looking at statistics takes no entry from the databases that generate keys.
$clock->restart($node, '+0s');
for my $i (1, 3 .. 8)
{
	is( outcome($node, "full_$i", 'SELECT count(*) FROM seqid.stat_server, seqid.stat_database, (SELECT count(*) FROM seqid.stat_shards, seqid.horizon_holders) v'),
		'1', "views claim no entry: database $i");
}
create("more_$_") for 1 .. 8;
is(insert("more_$_"), 't|t', "views claim no entry: database $_ has keys") for 1 .. 8;

$node->stop;
done_testing();

# The owner of a database, no superuser, dumps it and restores it to a clock that
# is behind: everything is restored, and no id of it comes again.  What he may
# therefore do to the mark does not lose it.
#
# Only pg_dump and pg_restore dump and restore; only a crash loses what was not
# in the WAL.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = PostgreSQL::Test::Cluster->new('main');
my $role = 'regress_seqid_owner';
my $directory = PostgreSQL::Test::Utils::tempdir;

$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\ncheckpoint_timeout = 1h");
$clock->start($node);
$node->safe_psql('postgres', "CREATE ROLE $role LOGIN");

sub as_owner
{
	my ($database) = @_;

	return $node->connstr($database) . " user=$role";
}

# The outcome of a statement of the owner: what it returns, or its error.
sub owner
{
	my ($database, $sql) = @_;

	return full_outcome($node, $database, "SET SESSION AUTHORIZATION $role;\n$sql");
}

sub create_database
{
	my ($name) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER $role");
	return;
}

#
# A database with what an owner may have.
#
create_database('origin');
is(owner('origin', <<'SQL'), '', 'the owner makes a database');
SET client_min_messages = warning;
CREATE EXTENSION seqid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text,
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
CREATE TABLE lines (id uuid PRIMARY KEY DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(id)),
	order_id bigint REFERENCES orders);
CREATE VIEW recent AS SELECT * FROM orders WHERE id >= snowflake_first('2024-01-01');
INSERT INTO orders (item) SELECT n::text FROM generate_series(1, 5000) n;
INSERT INTO lines (order_id) SELECT id FROM orders;
SELECT seqid.shard_claim('ours') IS NULL WHERE seqid.shard_claim('ours') IS NULL;
CALL seqid.shard_check_in('ours', '0-15', 1, 1, 'machine', 'host', 'directory');
SQL

my $state = "SELECT (SELECT count(*) || ' ' || max(id) FROM orders), (SELECT count(*) || ' ' || max(id::text) FROM lines),
	(SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint WHERE conrelid <> 0 AND connamespace = 'public'::regnamespace AND contype <> 'n'),
	(SELECT owner || ' ' || shards FROM seqid.shard_registry), (SELECT owner || ' ' || place FROM seqid.shard_members)";
my $expected = owner('origin', $state);
like($expected, qr/^5000 \d+\|5000 [0-9a-f-]+\|lines_id_check lines_order_id_fkey lines_pkey orders_pkey\|ours \[0,16\)\|ours system 1, /,
	'the owner has rows and constraints');

command_ok([ 'pg_dump', '--file', "$directory/plain", as_owner('origin') ], 'dumps, plain');
command_ok([ 'pg_dump', '-Fc', '--file', "$directory/custom", as_owner('origin') ], 'dumps, -Fc');
like(slurp_file("$directory/plain"), qr/setval\('seqid\.clock_mark', \d{13}, true\)/,
	'the dump has the mark');

#
# Restored to a clock that is behind: where the shards are not known either.
#
$clock->restart($node, '-5s');
my @psql = ('psql', '-X', '-q', '-f', "$directory/plain");
my @restores = (
	[ 'psql' => @psql, '-v', 'ON_ERROR_STOP=1' ],
	[ 'psql -1' => @psql, '-v', 'ON_ERROR_STOP=1', '-1' ],
	[ 'pg_restore' => 'pg_restore', "$directory/custom" ],
	[ 'pg_restore -e' => 'pg_restore', '-e', "$directory/custom" ],
	[ 'pg_restore -1' => 'pg_restore', '-1', "$directory/custom" ],
	[ 'pg_restore --no-owner --no-privileges' => 'pg_restore', '-e', '-O', '-x', "$directory/custom" ]);
for my $i (0 .. $#restores)
{
	my ($what, @command) = @{ $restores[$i] };
	my $database = "restored_$i";

	create_database($database);
	command_ok([ @command, '-d', as_owner($database) ], "$what: ends with 0");
	is(owner($database, $state), $expected, "$what: every row and every constraint is there");
	like(owner($database, "INSERT INTO orders (item) VALUES ('new') RETURNING id > (SELECT max(id) FROM orders)"),
		qr/^t$/m, "$what: ids go on above the restored ones");
	like(owner($database, 'INSERT INTO lines DEFAULT VALUES RETURNING id > ALL (SELECT id FROM lines)'),
		qr/^t$/m, "$what: combs go on above the restored ones");
}
is(owner('restored_0', "COMMENT ON EXTENSION seqid IS 'ours'"), '', 'the extension is the owner\'s');

# Others still may not.
$node->safe_psql('postgres', 'CREATE ROLE regress_seqid_user LOGIN');
for my $call ("setval('seqid.clock_mark', 1)", "nextval('seqid.clock_mark')")
{
	is(full_outcome($node, 'origin', "SET SESSION AUTHORIZATION regress_seqid_user; SELECT $call"),
		'42501: permission denied for sequence clock_mark', "others: $call is refused");
}

#
# The database of the owner, where a superuser creates the extension.
#
my $super = 'regress_seqid_super';
$node->safe_psql('postgres', "CREATE ROLE $super SUPERUSER");
create_database($_) for 'served', 'served_too';
$node->safe_psql($_, "SET ROLE $super; CREATE EXTENSION seqid") for 'served', 'served_too';
is(owner('served', <<'SQL'), "0-15\n0", 'a superuser created it: the owner uses it');
SET client_min_messages = warning;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5));
INSERT INTO orders SELECT FROM generate_series(1, 5000);
SELECT seqid.shard_claim('ours');
CALL seqid.shard_check_in('ours', '0-15', 1, 1, 'machine', 'host', 'directory');
GRANT SELECT ON ALL TABLES IN SCHEMA public TO regress_seqid_user;
SELECT count(*) FROM seqid.shard_conflicts;
SQL
my $last = owner('served', 'SELECT max(id) FROM orders');

# What a dump of the owner restores into a database that has the extension already.
sub check_served
{
	my ($what, $database) = @_;
	my $file = "$directory/served";

	command_ok([ 'pg_dump', '--no-comments', '--file', $file, as_owner('served') ], "$what: the owner dumps it");
	unlike(slurp_file($file), qr/"\d+"/, "$what: the dump names no role by its number");
	$clock->set('-5s');
	command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', as_owner($database) ],
		"$what: the owner restores it");
	cmp_ok(owner($database, 'SELECT snowflake_nextval(5)'), '>', $last, "$what: ids go on above those of the rows");
	is(owner($database, 'SELECT owner FROM seqid.shard_registry'), 'ours', "$what: the registry has its rows");
	$clock->set('+0s');
	return;
}

check_served('a superuser created it', 'served_too');

# Up to 16 the server remembers initial privileges of roles that are dropped.
for my $database ('postgres', 'served', 'served_too')
{
	$node->safe_psql($database, "REASSIGN OWNED BY $super TO CURRENT_USER; DROP OWNED BY $super");
}
$node->safe_psql('postgres', "DROP ROLE $super");
create_database('served_again');
$node->safe_psql('served_again', 'CREATE EXTENSION seqid');
check_served('the superuser is dropped', 'served_again');

#
# Whoever may set the mark may call nextval() on it, which moves it and writes no
# WAL while it finds values fetched.  What the mark said then, it says after a
# crash.
#
sub mark
{
	return owner('origin', 'SELECT last_value FROM seqid.clock_mark');
}

$clock->set('+0s');
for my $full_page_writes ('on', 'off')
{
	my $what = "nextval, full_page_writes = $full_page_writes";
	my ($mark, $comb);

	$node->append_conf('postgresql.conf', "full_page_writes = $full_page_writes");
	$node->stop;
	$clock->start($node);

	# The first COMB since the start writes the page, and nextval() finds that
	# it need not.
	$node->safe_psql('postgres', 'CHECKPOINT');
	owner('origin', 'SELECT comb_uuid()');
	$mark = mark();
	is(owner('origin', "SELECT count(nextval('seqid.clock_mark')) FROM generate_series(1, 200000)"),
		'200000', "$what: the owner may call it");
	like($comb = owner('origin', 'SELECT comb_uuid()'), qr/^[0-9a-f-]{36}$/, "$what: combs go on");
	cmp_ok(mark(), '>=', $mark + 200000, "$what: the mark is ahead");
	$mark = mark();

	$clock->crash($node);
	cmp_ok(mark(), '>=', $mark, "$what: a crash does not set the mark back");
	cmp_ok(owner('origin', 'SELECT comb_uuid()'), 'gt', $comb, "$what: combs go on after a crash");
}

# He stopped his own snowflakes, and nobody else's.
like(owner('origin', 'SELECT snowflake_nextval(5)'), qr/^55000: /, 'nextval: his ids are far ahead');
like(owner('restored_0', 'SELECT snowflake_nextval(5)'), qr/^\d+$/, 'nextval: others\' are not');

$node->stop;
done_testing();

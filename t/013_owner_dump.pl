# The owner of a database, not a superuser, dumps it and restores it with a clock that is
# behind: everything is restored, and no id of it comes again.  The privileges on the mark
# that this takes do not endanger the mark.
#
# Only pg_dump and pg_restore dump and restore; only a crash loses what is not in WAL.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, conf => 'checkpoint_timeout = 1h', extension => 0);
my $role = 'regress_seqid_owner';
my $directory = PostgreSQL::Test::Utils::tempdir;

$node->safe_psql('postgres', "CREATE ROLE $role LOGIN; CREATE ROLE regress_seqid_user LOGIN");

sub as_owner ($database)
{
	return $node->connstr($database) . " user=$role";
}

# The outcome of a statement of the owner.
sub owner ($database, $sql)
{
	return full_outcome($node, $database, "SET SESSION AUTHORIZATION $role;\n$sql");
}

sub create_database ($name)
{
	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER $role");
}

#
# A database with all that an owner can have.
#
create_database('origin');
is(owner('origin', <<'SQL'), '', 'the owner makes a database');
CREATE EXTENSION seqid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text,
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
CREATE TABLE lines (id uuid PRIMARY KEY DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(id)),
	order_id bigint REFERENCES orders);
CREATE VIEW recent AS SELECT * FROM orders WHERE id >= snowflake_first('2024-01-01');
INSERT INTO orders (item) SELECT n::text FROM generate_series(1, 5000) n;
INSERT INTO lines (order_id) SELECT id FROM orders;
SQL
my $state = "SELECT (SELECT count(*) || ' ' || max(id) FROM orders), (SELECT count(*) || ' ' || max(id::text) FROM lines),
	(SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint WHERE conrelid <> 0 AND connamespace = 'public'::regnamespace AND contype <> 'n')";
my $expected = owner('origin', $state);
like($expected, qr/^5000 \d+\|5000 [0-9a-f-]+\|lines_id_check lines_order_id_fkey lines_pkey orders_pkey$/,
	'the owner has rows and constraints');

#
# Restored with a clock that is behind, after a restart, which forgets the shards.
#
command_ok([ 'pg_dump', '--file', "$directory/plain", as_owner('origin') ], 'dumps, plain');
command_ok([ 'pg_dump', '-Fc', '--file', "$directory/custom", as_owner('origin') ], 'dumps, -Fc');
like(slurp_file("$directory/plain"), qr/setval\('seqid\.clock_mark', \d{13}, true\)/, 'the dump has the mark');

$clock->restart($node, '-5s');
my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1');
my $restored = 0;
for my $command (
	[ @psql, '-f', "$directory/plain" ],
	[ @psql, '-f', "$directory/plain", '-1' ],
	[ 'pg_restore', '-e', "$directory/custom" ],
	[ 'pg_restore', '-1', '--no-owner', '--no-privileges', "$directory/custom" ])
{
	my $what = join ' ', grep { !m{/} } @$command;
	my $database = 'restored_' . ++$restored;

	create_database($database);
	command_ok([ @$command, '-d', as_owner($database) ], "$what: ends with 0");
	is(owner($database, $state), $expected, "$what: every row and every constraint is there");
	is( owner($database, "WITH i AS (INSERT INTO orders (item) VALUES ('new') RETURNING id),
				l AS (INSERT INTO lines DEFAULT VALUES RETURNING id)
			SELECT i.id > ALL (SELECT id FROM orders), l.id > ALL (SELECT id FROM lines) FROM i, l"),
		't|t', "$what: keys go on above the restored ones");
}
is(owner('restored_1', "COMMENT ON EXTENSION seqid IS 'ours'"), '', 'the extension is the owner\'s');
is(outcome($node, 'origin', "SET SESSION AUTHORIZATION regress_seqid_user; SELECT $_"), '42501', "others: $_ is refused")
  for "setval('seqid.clock_mark', 1)", "nextval('seqid.clock_mark')";

#
# A superuser creates the extension in the owner's database.
#
my $super = 'regress_seqid_super';
$node->safe_psql('postgres', "CREATE ROLE $super SUPERUSER");
create_database($_) for 'served', 'served_too', 'served_again';
$node->safe_psql($_, "SET ROLE $super; CREATE EXTENSION seqid") for 'served', 'served_too';
is(owner('served', <<'SQL'), '5000', 'a superuser created it: the owner uses it');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5));
GRANT SELECT ON ALL TABLES IN SCHEMA public TO regress_seqid_user;
WITH i AS (INSERT INTO orders SELECT FROM generate_series(1, 5000) RETURNING id) SELECT count(*) FROM i;
SQL
my $last = owner('served', 'SELECT max(id) FROM orders');

# The owner's dump can be restored into a database that has the extension.
sub check_served ($what, $database)
{
	my $file = "$directory/served";

	command_ok([ 'pg_dump', '--no-comments', '--file', $file, as_owner('served') ], "$what: the owner dumps it");
	unlike(slurp_file($file), qr/"\d+"/, "$what: the dump names no role by its number");
	$clock->set('-5s');
	command_ok([ @psql, '-f', $file, '-d', as_owner($database) ], "$what: the owner restores it");
	cmp_ok(owner($database, 'SELECT snowflake_nextval(5)'), '>', $last, "$what: ids go on above those of the rows");
	$clock->set('+0s');
}

check_served('a superuser created it', 'served_too');
# Up to 16 the server remembers initial privileges of roles that are dropped.
$node->safe_psql($_, "REASSIGN OWNED BY $super TO CURRENT_USER; DROP OWNED BY $super") for 'postgres', 'served', 'served_too';
$node->safe_psql('postgres', "DROP ROLE $super");
$node->safe_psql('served_again', 'CREATE EXTENSION seqid');
check_served('the superuser is dropped', 'served_again');

#
# A role that can set the mark can call nextval() on it, which writes no WAL while it
# finds values fetched.  A crash does not set the mark back all the same.
#
my $mark = 'SELECT last_value FROM seqid.clock_mark';
for my $full_page_writes ('on', 'off')
{
	my $what = "nextval, full_page_writes = $full_page_writes";

	$node->append_conf('postgresql.conf', "full_page_writes = $full_page_writes");
	$clock->restart($node, '+0s');

	# The first COMB writes the page, and nextval() finds that it need not.
	$node->safe_psql('postgres', 'CHECKPOINT');
	owner('origin', 'SELECT comb_uuid()');
	my $before = owner('origin', $mark);
	is(owner('origin', "SELECT count(nextval('seqid.clock_mark')) FROM generate_series(1, 200000)"), '200000', "$what: the owner can call it");
	my $comb = owner('origin', 'SELECT comb_uuid()');
	my $after = owner('origin', $mark);
	cmp_ok($after, '>=', $before + 200000, "$what: the mark is ahead");
	$clock->crash($node);
	cmp_ok(owner('origin', $mark), '>=', $after, "$what: a crash does not set the mark back");
	cmp_ok(owner('origin', 'SELECT comb_uuid()'), 'gt', $comb, "$what: COMBs go on after a crash");
}
like(owner('origin', 'SELECT snowflake_nextval(5)'), qr/^55000: /, 'nextval: the database\'s ids are far ahead');
like(owner('restored_1', 'SELECT snowflake_nextval(5)'), qr/^\d+$/, 'nextval: another\'s are not');

$node->stop;
done_testing();

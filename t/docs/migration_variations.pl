# The recipes of examples/migration/ with tables and sessions other than the page's: they hold,
# or raise an error before anything is lost.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('shop', conf => "client_min_messages = error\nseqid.allowed_shards = '0-30, 32-1023'\n");
my $page = SeqidPage->new('docs/migration.md');
my $session;

# A session in a database of its own, in which the tables of a recipe were created with 200 rows
# and then changed.  Returns the blocks before the first that contains a text, and the others.
sub vary ($recipe, $change, $text)
{
	state $number = 0;
	my $database = 'variation' . ++$number;
	my @blocks = SeqidPage::migration($recipe);
	my ($first) = grep { $blocks[$_]{text} =~ /$text/ } 0 .. $#blocks;

	add_database($node, $database);
	$node->safe_psql($database, $_)
	  for (map { slurp_file("examples/migration/$_.sql") } 'in_batches', 'exchange_column'),
	  SeqidPage::migration_tables($recipe, 200), $change;
	$session = SeqidSession->new($node, $database);
	return ([ @blocks[ 0 .. $first - 1 ] ], [ @blocks[ $first .. $#blocks ] ]);
}

# Runs blocks, and what a client does after each statement.  Returns the first error's SQLSTATE.
sub apply ($client, @blocks)
{
	for my $statement (map { (SeqidPage::statements($_->{text}), $client || ()) } @blocks)
	{
		my ($error) = $session->full_outcome($statement) =~ /^(?!00000)([0-9A-Z]{5}): / or next;

		$session->full_outcome('ROLLBACK');
		return $error;
	}
	return '';
}

# A trigger of the user that sets a column of rows that clients insert
sub trigger_sql ($table, $name, $assignment)
{
	return "CREATE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN $assignment; RETURN NEW; END \$\$;
		CREATE TRIGGER $name BEFORE INSERT ON $table FOR EACH ROW EXECUTE FUNCTION assign()";
}

# Returns what way_back.sql prints for a table.
sub way_back ($table) { return $session->query("\\set table $table\n\\set key id\n\\i examples/migration/way_back.sql") }

#
# integer_keys: triggers, and a replication worker, which fires no trigger but those of the recipe
#
my $visit = 'INSERT INTO visits (customer_id) VALUES (7)';
vary('integer_keys', trigger_sql('visits', 'zed', 'NEW.customer_id := 9'), 'CALL');
is(apply("$visit; SET session_replication_role = replica; $visit; RESET session_replication_role",
		SeqidPage::migration('integer_keys')), '', 'integer_keys: beside a trigger that changes the reference');
is($session->outcome('SELECT customer_id, count(*) > 5 FROM visits JOIN customers c ON c.id = customer_id WHERE visits.id > 200
	GROUP BY 1 ORDER BY 1'), "7|t\n9|t", 'integer_keys: no reference is lost, and the trigger is followed');

vary('integer_keys', trigger_sql('visits', 'zzzz', 'NEW.customer_id := 9'), 'CALL');
is(apply($visit, SeqidPage::migration('integer_keys')), '23514', 'integer_keys: a trigger that fires after all is refused');

# integer_keys: the statements of the comments, which keep the sequence, also if it is above all rows
my $above = "SELECT setval('customers_id_seq', 300)";
my $identity = "ALTER TABLE customers ALTER id DROP DEFAULT; DROP SEQUENCE customers_id_seq;
	ALTER TABLE customers ALTER id ADD GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 10 CACHE 20)";
# Fails if nextval() of another session does not wait.
my $is_locked = "SELECT 1 / count(*) FROM pg_locks WHERE relation = '%s'::regclass AND mode = 'ShareRowExclusiveLock'";
for my $case ([ 'serial', $above, 0, 301 ], [ 'identity', "$identity; $above", 1, 310 ])
{
	my ($kind, $change, $comment, $next) = @$case;
	my ($before, $rest) = vary('integer_keys', $change, 'LOCK TABLE');
	my $exchange = $rest->[0];
	my $instead = ($exchange->{text} =~ /((?:^--     .*\n)+)/mg)[$comment] =~ s/^--     //mgr;

	if ($kind eq 'identity')
	{
		my ($way_back) = way_back('customers');
		my ($always, $options) = $way_back =~ /GENERATED (.*) AS IDENTITY.*\n\s*(.*?)\)/;
		ok($instead =~ s/BY DEFAULT( AS IDENTITY \(SEQUENCE NAME \w+\s+)START WITH 1 INCREMENT BY 1 CACHE 1\)/
			"$always$1" . $options =~ s{MAXVALUE 2147483647}{}r . ')'/e, 'integer_keys: identity: its options are in the statement');
		$instead =~ s/(?=SELECT setval)/sprintf("$is_locked; ", 'customers_id_seq')/e;
	}
	ok($exchange->{text} =~ s/^ALTER TABLE customers .* snowflake_nextval\(5\);\n/$instead/m, "integer_keys: $kind");
	is(apply('', @$before, @$rest), '', "integer_keys: $kind: runs to its end");
	is($session->outcome("INSERT INTO customers (name) VALUES ('new') RETURNING id, pg_typeof(id), pg_get_serial_sequence('customers', 'id')"),
		"$next|bigint|public.customers_id_seq", "integer_keys: $kind: the sequence continues");
	is($session->outcome("SELECT attidentity, seqincrement, seqmax > 1::bigint << 40, seqcache
		FROM pg_attribute, pg_sequence WHERE attrelid = 'customers'::regclass AND attname = 'id' AND seqrelid = 'customers_id_seq'::regclass"),
		$comment ? 'a|10|t|20' : '|1|t|1', "integer_keys: $kind: it has its options and the range of bigint");
}

# integer_keys: a child, whose index would be lost
vary('integer_keys', 'CREATE TABLE archive (PRIMARY KEY (id)) INHERITS (customers)', 'CALL');
is(apply('', SeqidPage::migration('integer_keys')), '55000', 'integer_keys: a table with a child is refused');
is($session->outcome("SELECT count(*) FROM pg_index WHERE indrelid = 'archive'::regclass"), '1', 'integer_keys: the index of the child remains');

# in_batches: no page in a transaction
vary('integer_keys', 'ALTER TABLE customers ADD n int', 'CALL');
for my $pages (0, 'NULL')
{
	is($session->outcome("SET statement_timeout = '20s'; CALL in_batches('customers', 'n = 0', 'n IS NULL', pages => $pages);
		RESET statement_timeout; UPDATE customers SET n = NULL"), '', "in_batches: it ends with pages => $pages");
}

#
# way_back.sql: a sequence that the column does not own, a limited one, and descending ones.  Keys
# are generated before and after the statements are printed.
#
for my $case (
	[ 'unowned', "CREATE SEQUENCE unowned_id_seq; CREATE TABLE unowned (id bigint PRIMARY KEY DEFAULT nextval('unowned_id_seq'), n int)",
		'id > generated' ],
	[ 'limited', 'CREATE TABLE limited (id serial PRIMARY KEY, n int); ALTER TABLE limited ALTER id TYPE bigint', 'id = 4' ],
	[ 'down', "CREATE SEQUENCE down_id_seq INCREMENT -1; CREATE TABLE down (id bigint PRIMARY KEY DEFAULT nextval('down_id_seq'), n int);
		ALTER SEQUENCE down_id_seq OWNED BY down.id", 'id = -4' ],
	[ 'below', 'CREATE TABLE below (id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY -1) PRIMARY KEY, n int)', 'id = -4' ],
	[ 'scattered', "CREATE SEQUENCE scattered_id_seq; CREATE TABLE scattered (id bigint PRIMARY KEY DEFAULT scatter_nextval('scattered_id_seq'), n int)",
		"scatter_ordinal(id) = 3" ])
{
	my ($table, $create, $expected) = @$case;
	my $drop = $create =~ /IDENTITY/ ? 'ALTER id DROP IDENTITY,' : '';

	vary('integer_keys', $create, 'CALL');
	$session->query("INSERT INTO $table (n) VALUES (1), (2)");
	my $statements = way_back($table);
	$session->query("INSERT INTO $table (n) VALUES (3);
		ALTER TABLE $table $drop ALTER id SET DEFAULT snowflake_nextval(5); INSERT INTO $table (n) VALUES (4)");
	my $generated = $session->query('SELECT snowflake_nextval(6)');
	$statements =~ s/(?=SELECT setval)/sprintf("$is_locked; ", "${table}_id_seq")/e if $table =~ /unowned|limited/;
	$session->query($statements);
	is($session->errors, '', "way back: $table: no error, and nextval() of other sessions waits") or diag($statements);
	is($session->outcome("WITH i AS (INSERT INTO $table (n) VALUES (5) RETURNING id)
		SELECT $expected FROM i, (VALUES ($generated)) v(generated)"), 't', "way back: $table: the sequence continues") or diag($statements);
}

#
# Rules of the page: partitions that are created meanwhile, and a trigger that is not to fire
#
vary('integer_keys', SeqidPage::migration_tables('new rows only', 20) =~ s/^\\set.*\n//r =~ s/:rows/20/gr, 'CALL');
my ($set, $first, @others) = map { SeqidPage::statements($_->{text}) } $page->recipe('partitions');
is($session->outcome(join ';', $set, $first, 'CREATE TABLE clicks_later PARTITION OF clicks DEFAULT', @others), '', 'partitions: all statements run');
is($session->outcome(q{SELECT string_agg(DISTINCT pg_get_expr(adbin, adrelid), ' ') FROM pg_attrdef
	WHERE adrelid IN (SELECT relid FROM pg_partition_tree('clicks')) AND adnum = 1}),
	'snowflake_nextval((5)::bigint)', 'partitions: a partition created after the first statement has the new default');

my ($when) = join(' ', values %{ $page->{text} }) =~ /`(WHEN \(.*?\))`/;
$session->query("CREATE ROLE migrator; CREATE ROLE clerk_of_memos; CREATE TABLE fired (who name);
	CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \$\$ BEGIN INSERT INTO fired VALUES (session_user); RETURN NEW; END \$\$;
	CREATE TRIGGER fires BEFORE UPDATE ON customers FOR EACH ROW $when EXECUTE FUNCTION fires();
	GRANT SELECT, UPDATE ON customers TO migrator, clerk_of_memos");
for my $case ([ 'migrator', 'migration', 0 ], [ 'migrator', 'psql', 1 ], [ 'clerk_of_memos', 'migration', 1 ])
{
	my ($role, $name, $expected) = @$case;

	is($session->outcome("TRUNCATE fired; SET SESSION AUTHORIZATION $role; SET application_name = '$name';
		UPDATE customers SET name = name WHERE id = 1; RESET application_name; RESET SESSION AUTHORIZATION; SELECT count(*) FROM fired"), $expected,
		"a trigger with the condition of the page fires for $role as $name: $expected");
}

#
# Times around changes of summer time, in a session of another zone.  An hour of local time
# that comes twice is read as the second one.  Blocks are run again, as after a crash.
#
for my $case (
	[ 'old_numbers', 'memos', 'snowflake', 'id, body', 'row_number() OVER (), NULL' ],
	[ 'random_uuids', 'documents', 'comb_uuid', 'title', "''" ],
	[ 'uuid_to_bigint', 'notes', 'snowflake', 'title', "''" ])
{
	my ($recipe, $table, $kind, $columns, $values) = @$case;

	my ($before, $rest) = vary($recipe, "TRUNCATE $table CASCADE; ALTER TABLE $table ADD instant timestamptz;
		INSERT INTO $table ($columns, instant, created_at) SELECT $values, i, i AT TIME ZONE 'America/New_York'
		  FROM (VALUES ('2024-03-10'), ('2024-11-03')) d(day),
			   generate_series(day::timestamptz - interval '1 day', day::timestamptz + interval '1 day', interval '10 minutes') i",
		"INTO ${table}_map");
	my $check = $rest->[-1]{text};

	$session->query("SET TimeZone = 'Europe/Berlin'");
	is(apply('', @$before, $rest->[0], @$rest), '', "$recipe: a block is repeated");
	is($session->outcome($check), 't|t', "$recipe: the sample has its zone");
	is($session->outcome("SELECT count(*) > 500, bool_and(t = instant
				OR t = instant + interval '1 hour' AND t AT TIME ZONE 'America/New_York' = created_at)
			FROM (SELECT ${kind}_timestamp(id) AS t, instant, created_at FROM $table) k"), 't|t', "$recipe: times are those of the rows");
	$session->query("UPDATE $table SET created_at = created_at + interval '45 minutes'");
	is($session->outcome($check), 't|f', "$recipe: times of another zone are found");
}

#
# old_numbers: rows that keep their numbers, and numbers of the old sequence
#
my ($before, $rest) = vary('old_numbers',
	"INSERT INTO memos (id, created_at) VALUES (201, NULL), (202, '2021-01-01'), (203, '2022-12-31 18:59')", 'INTO memos_map');
is(apply('', @$before) . apply('INSERT INTO memos (id) SELECT max(id) + 1 FROM memos WHERE id < 1000000', @$rest), '', 'old_numbers');
is(apply('', @$rest), '', 'old_numbers: again');
is($session->outcome('SELECT count(*) FILTER (WHERE id < 1000000), bool_and(snowflake_shard(new_id) = 31)
	FROM memos LEFT JOIN memos_map ON new_id = id'), '3|t', 'old_numbers: three rows have no time of this epoch');

#
# uuid_to_bigint: a role without privileges, and a value that is lost
#
($before, $rest) = vary('uuid_to_bigint', 'CREATE ROLE owner; GRANT CREATE ON SCHEMA public TO owner;
	ALTER TABLE notes OWNER TO owner; ALTER TABLE replies OWNER TO owner', 'INDEX CONCURRENTLY replies');
$session->query('SET ROLE owner');
is(apply('', @$before), '', 'uuid_to_bigint: the owner creates the trigger, without a superuser');
$session->query('RESET ROLE; CREATE ROLE stranger; SET ROLE stranger; CREATE TEMP TABLE mine (note_id uuid, new_note_id bigint)');
for my $case ([ 'refused', '42501' ], [ 'a control with the privilege', '' ])
{
	my ($what, $expected) = @$case;

	is($session->outcome('CREATE TRIGGER steal BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION public.replies_new_note_id()'),
		$expected, "uuid_to_bigint: a trigger of another role: $what");
	$session->query('RESET ROLE; GRANT EXECUTE ON FUNCTION replies_new_note_id() TO stranger; SET ROLE stranger');
}
$session->query('RESET ROLE');
$session->query(trigger_sql('replies', 'zzzz', 'NEW.new_note_id := NULL'));
is($session->outcome("INSERT INTO replies (note_id) SELECT id FROM notes WHERE title = 'note 7'"), '23503',
	'uuid_to_bigint: a reference that has no new value is refused');

$node->stop('immediate');
done_testing();

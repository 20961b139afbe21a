# The programs of examples/migration/ on tables other than those of the page: check.sql finds
# each obstacle, way_back.sql restores what was there, in_batches ends, and exchange_column
# refuses to lose anything.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $node = new_server('programs', conf => "client_min_messages = error\n");
my $number = 0;

$node->safe_psql('postgres', 'CREATE ROLE regress_owner; CREATE ROLE regress_clerk; CREATE ROLE regress_writer');

# A session of the owner of the tables, in a schema of its own, in which these were created.
# The schema of the session before is dropped.
sub session_with ($sql)
{
	state $session;
	my $old = "s$number";
	my $schema = 's' . ++$number;

	if ($session)
	{
		$session->query("DROP SCHEMA $old CASCADE");
		is($session->errors, '', 'dropped');
		$session->close;
	}
	$session = SeqidSession->new($node);
	$session->query("CREATE SCHEMA $schema AUTHORIZATION regress_owner; SET search_path = $schema, public; SET ROLE regress_owner");
	$session->query("\\i examples/migration/$_.sql") for qw(in_batches exchange_column);
	$session->query($sql);
	is($session->errors, '', 'prepared') or diag($sql);
	return $session;
}

#
# check.sql
#

# The rows for a table, without the digits of new keys.
sub obstacles ($session, $table, $key, $generator)
{
	my $found = $session->query(<<"PSQL");
\\set table $table
\\set key $key
\\set generator $generator
BEGIN READ ONLY;
\\i examples/migration/check.sql
COMMIT;
PSQL

	$found .= $session->errors;
	return $found =~ s/'\d{15,}'|'[0-9a-f-]{36}'/<new>/gr =~ s/^\\set.*\n//gmr;
}

my $trap = q{CREATE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NEW; END $$;
	CREATE TRIGGER assigns BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION assign(%s)};

for my $case (
	[ 'nothing', '', '' ],
	[ 'constraints and triggers that are harmless', "ALTER TABLE t ADD CHECK (id > 0), ADD CHECK (id IS NOT NULL), ADD CHECK (n > 0);" . sprintf($trap, 'NEW.n := 1', ''), '' ],

	# narrow columns
	[ 'the key itself', 'ALTER TABLE t ALTER id TYPE int', 'column id of t is too narrow|ALTER TABLE t ALTER id TYPE bigint' ],
	[ 'a reference', 'CREATE TABLE r (t_id int REFERENCES t)', 'column t_id of r is too narrow|ALTER TABLE r ALTER t_id TYPE bigint' ],
	[ 'a domain over a domain over smallint', 'CREATE DOMAIN d AS smallint; CREATE DOMAIN e AS d; CREATE TABLE r (t_id e REFERENCES t)', 'column t_id of r is too narrow|ALTER TABLE r ALTER t_id TYPE bigint' ],
	[ 'a reference of a reference', 'CREATE TABLE r (t_id bigint PRIMARY KEY REFERENCES t); CREATE TABLE q (a bigint, "T id" int REFERENCES r)', 'column "T id" of q is too narrow|ALTER TABLE q ALTER "T id" TYPE bigint' ],
	[ 'a partitioned reference', 'CREATE TABLE r (t_id int REFERENCES t) PARTITION BY HASH (t_id); CREATE TABLE r_0 PARTITION OF r FOR VALUES WITH (MODULUS 1, REMAINDER 0)', 'column t_id of r is too narrow|ALTER TABLE r ALTER t_id TYPE bigint' ],
	[ 'a reference from the table itself', 'ALTER TABLE t ADD parent int REFERENCES t', 'column parent of t is too narrow|ALTER TABLE t ALTER parent TYPE bigint' ],

	# triggers
	[ 'a trigger', sprintf($trap, 'new . "id" = 7', ''), 'trigger assigns can set the key|DROP TRIGGER assigns ON t' ],
	[ 'a trigger that selects into the key', sprintf($trap, 'SELECT 7 INTO NEW.ID', ''), 'trigger assigns can set the key|DROP TRIGGER assigns ON t' ],
	[ 'a trigger that replaces the row', sprintf($trap, 'NEW := ROW(7, 7)', ''), 'trigger assigns can set the key|DROP TRIGGER assigns ON t' ],
	[ 'a trigger with the key as argument', sprintf($trap, 'NULL', "'seq', 'id'"), 'trigger assigns can set the key|DROP TRIGGER assigns ON t' ],
	[ 'a trigger that is disabled', sprintf($trap, 'NEW.id := 7', '') . '; ALTER TABLE t DISABLE TRIGGER assigns', '' ],

	# the sequence
	[ 'a default', 'CREATE TABLE u (n bigint DEFAULT nextval($$t_id_seq$$))', 'sequence t_id_seq is also used by default value for column n of table u|ALTER TABLE u ALTER n SET DEFAULT snowflake_nextval()' ],
	[ 'a default of a view', 'CREATE VIEW v AS SELECT * FROM t; ALTER VIEW v ALTER id SET DEFAULT nextval($$t_id_seq$$)', 'sequence t_id_seq is also used by default value for column id of view v|ALTER TABLE v ALTER id SET DEFAULT snowflake_nextval()' ],
	[ 'a default, of an identity', 'ALTER TABLE t ALTER id DROP DEFAULT; DROP SEQUENCE t_id_seq; ALTER TABLE t ALTER id ADD GENERATED ALWAYS AS IDENTITY; CREATE TABLE u (n bigint DEFAULT nextval($$t_id_seq$$))', 'sequence t_id_seq is also used by default value for column n of table u|ALTER TABLE u ALTER n SET DEFAULT snowflake_nextval()' ],
	[ 'a view', 'CREATE VIEW v AS SELECT n FROM t WHERE id < seqid.settled($$t_id_seq$$)', 'sequence t_id_seq is also used by rule _RETURN on view v|\ev v' ],
	[ 'a policy', 'CREATE POLICY p ON t USING (id < seqid.settled($$t_id_seq$$))', 'sequence t_id_seq is also used by policy p on table t|ALTER POLICY p ON t USING (...)' ],
	[ 'a function', 'CREATE FUNCTION last_t() RETURNS bigint LANGUAGE sql AS $$ SELECT currval(\'T_id_SEQ\') $$', 'sequence t_id_seq is also used by function last_t()|\ef last_t()' ],
	[ 'a function with a body that is parsed', 'CREATE FUNCTION next_t() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT nextval($$t_id_seq$$); END', 'sequence t_id_seq is also used by function next_t()|\ef next_t()' ],

	# roles
	[ 'a role', 'GRANT INSERT (n) ON t TO regress_clerk', 'role regress_clerk inserts into table t but cannot execute snowflake_nextval(bigint)|GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO regress_clerk', '' ],
	[ 'a role and all roles, through views', 'CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w AS SELECT * FROM v; GRANT INSERT ON w TO regress_clerk; GRANT INSERT ON v TO PUBLIC',
		"role PUBLIC inserts into view v but cannot execute snowflake_nextval(bigint)|GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO PUBLIC\n"
		. 'role regress_clerk inserts into view w but cannot execute snowflake_nextval(bigint)|GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO regress_clerk', '' ],

	[ 'a role that inserts into all tables', '', 'role regress_writer inserts into table t but cannot execute snowflake_nextval(bigint)|GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO regress_writer', 'GRANT pg_write_all_data TO regress_writer' ],

	# keys
	[ 'a key', 'INSERT INTO t VALUES (9000000000000000000)', 'key 9000000000000000000 is above new keys|SELECT * FROM t WHERE id >= <new>' ],
	[ 'a key that policies hide', 'ALTER TABLE t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; INSERT INTO t SELECT 9000000000000000000 WHERE false', 'row security can hide the highest key|ALTER TABLE t NO FORCE ROW LEVEL SECURITY' ],

	# constraints
	[ 'a constraint', 'ALTER TABLE t ADD CONSTRAINT low CHECK (id > 0 AND id < 1000000)', 'constraint low can refuse new keys: CHECK (((id > 0) AND (id < 1000000)))|ALTER TABLE t DROP CONSTRAINT low' ],
	[ 'a constraint with a function', 'CREATE FUNCTION f(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 100 - $1 $$; ALTER TABLE t ADD CONSTRAINT high CHECK (f(id) > 0)', 'constraint high can refuse new keys: CHECK ((f(id) > 0))|ALTER TABLE t DROP CONSTRAINT high' ],
	[ 'a constraint of a domain', 'CREATE DOMAIN d AS bigint CONSTRAINT low CHECK (VALUE < 1000000); CREATE DOMAIN e AS d; CREATE TABLE r (t_id e REFERENCES t)', 'constraint low can refuse new keys: CHECK ((VALUE < 1000000))|ALTER DOMAIN d DROP CONSTRAINT low' ],
	[ 'a constraint of a child and of a reference', 'CREATE TABLE c (CONSTRAINT low CHECK (id < 5000)) INHERITS (t); CREATE TABLE r (t_id bigint REFERENCES t CONSTRAINT small CHECK (t_id < 5000))',
		"constraint low can refuse new keys: CHECK ((id < 5000))|ALTER TABLE c DROP CONSTRAINT low\nconstraint small can refuse new keys: CHECK ((t_id < 5000))|ALTER TABLE r DROP CONSTRAINT small" ],
	[ 'a foreign key', 'CREATE TABLE p (id bigint PRIMARY KEY); ALTER TABLE t ADD CONSTRAINT of_p FOREIGN KEY (id) REFERENCES p', 'constraint of_p can refuse new keys: FOREIGN KEY (id) REFERENCES p(id)|ALTER TABLE t DROP CONSTRAINT of_p' ],

	# partitions
	[ 'no partition', 'DROP TABLE t; CREATE TABLE t (id bigserial PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (-5) TO (1000)', 'table t has no partition for new keys|CREATE TABLE <schema>.t_default PARTITION OF t DEFAULT' ],
	[ 'partitions', 'DROP TABLE t; CREATE TABLE t (id bigserial PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (-5) TO (MAXVALUE)', '' ],
	[ 'partitions of time', 'DROP TABLE t; CREATE TABLE t (id bigserial, at date, PRIMARY KEY (at, id)) PARTITION BY RANGE (at, id); CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM ($$2020-01-01$$, 0) TO ($$2040-01-01$$, 0)', '' ],
	[ 'an expression', 'DROP TABLE t; CREATE TABLE t (id bigserial) PARTITION BY RANGE ((id / 1000)); CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (5)', 'table t has no partition for new keys|CREATE TABLE <schema>.t_default PARTITION OF t DEFAULT' ],
	[ 'a partitioned reference by list', 'CREATE TABLE r (t_id bigint REFERENCES t) PARTITION BY LIST (t_id); CREATE TABLE r_0 PARTITION OF r FOR VALUES IN (1, 2)', 'table r has no partition for new keys|CREATE TABLE <schema>.r_default PARTITION OF r DEFAULT' ])
{
	my ($name, $sql, $expected, $grant) = @$case;
	my $session = session_with("CREATE TABLE t (id bigserial PRIMARY KEY, n bigint); $sql");

	$node->safe_psql('postgres', "REVOKE EXECUTE ON FUNCTION snowflake_nextval(bigint) FROM PUBLIC; GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO regress_owner; $grant") if defined $grant;
	is(obstacles($session, 't', 'id', 'snowflake') =~ s/\bs$number\b/<schema>/r, $expected, "check: $name");
	$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO PUBLIC; REVOKE pg_write_all_data FROM regress_writer') if defined $grant;
}
{
	my $session = session_with(q{CREATE TABLE u (id uuid PRIMARY KEY DEFAULT gen_random_uuid()); INSERT INTO u VALUES ('ffffffff-ffff-4fff-bfff-ffffffffffff');
		CREATE TABLE "T 1'" ("I D" bigserial PRIMARY KEY); CREATE FUNCTION "a b"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW."I D" := 5; RETURN NEW; END';
		CREATE TRIGGER "b c" BEFORE INSERT ON "T 1'" FOR EACH ROW EXECUTE FUNCTION "a b"()});

	is(obstacles($session, 'u', 'id', 'comb_uuid'), '', 'check: a random UUID is no COMB of a later time');
	$session->query("INSERT INTO u VALUES ('ffffffff-ffff-7fff-bfff-ffffffffffff')");
	is(obstacles($session, 'u', 'id', 'comb_uuid'), 'key ffffffff-ffff-7fff-bfff-ffffffffffff is above new keys|SELECT * FROM u WHERE id >= <new>', 'check: a COMB is one');
	is(obstacles($session, q{'"T 1\'"'}, q{'I D'}, 'snowflake53'), q{trigger "b c" can set the key|DROP TRIGGER "b c" ON "T 1'"}, 'check: odd names');
}

#
# way_back.sql
#

sub way_back ($session, $table)
{
	return $session->query("\\set table $table\n\\set key id\n\\i examples/migration/way_back.sql");
}

{
	my $session = session_with("CREATE TABLE t (id int GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME counts START WITH 7 INCREMENT BY 3 MINVALUE -5 CACHE 20 CYCLE) PRIMARY KEY, n int);
		GRANT SELECT ON SEQUENCE counts TO regress_clerk; GRANT USAGE ON SEQUENCE counts TO PUBLIC;
		INSERT INTO t (n) SELECT 1 FROM generate_series(1, 50); ALTER TABLE t ALTER id TYPE bigint");
	my $options = q{SELECT seqtypid, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle, attidentity, relacl
		FROM pg_attribute, pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE attrelid = 't'::regclass AND attname = 'id' AND seqrelid = 'counts'::regclass};
	my $before = $session->query($options);
	my $statements = way_back($session, 't');

	$session->query('ALTER TABLE t ALTER id DROP IDENTITY, ALTER id SET DEFAULT snowflake_nextval(5); INSERT INTO t (n) VALUES (2); INSERT INTO t VALUES (5000)');
	is($session->errors, '', 'way back: an identity becomes a default');
	$session->query($statements);
	is($session->errors, '', 'way back: runs');
	is($session->query($options), $before, 'way back: has all options');
	is($session->query('INSERT INTO t (n) VALUES (3) RETURNING (id - 7) % 3, id > (SELECT max(id) FROM t WHERE n = 2)'), '0|t', 'way back: in its steps, above all keys');
}
for my $case (
	[ 'a sequence', 'CREATE TABLE t (id bigserial PRIMARY KEY, n int)', "INSERT INTO t VALUES (snowflake_nextval(5))", '1' ],
	[ 'a sequence that was not used', 'CREATE TABLE t (id bigserial PRIMARY KEY, n int)', 'SELECT 1', '1' ],
	[ 'an identity whose rows are deleted', 'CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int); INSERT INTO t SELECT FROM generate_series(1, 9); DELETE FROM t', 'SELECT 1', '10' ],
	[ 'a sequence of integers', 'CREATE TABLE t (id serial PRIMARY KEY, n int); ALTER TABLE t ALTER id TYPE bigint; INSERT INTO t SELECT FROM generate_series(1, 9)', "INSERT INTO t VALUES (snowflake_nextval(5)), (20)", '21' ],
	[ 'a sequence that descends', 'CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY -2) PRIMARY KEY, n int); INSERT INTO t VALUES (DEFAULT)', 'INSERT INTO t VALUES (snowflake_nextval(5))', '-3' ],
	[ 'no default', 'CREATE TABLE t (id bigint PRIMARY KEY, n int)', 'SELECT 1', '23502' ],
	[ 'a partitioned table', 'CREATE TABLE t (id bigserial PRIMARY KEY, n int) PARTITION BY HASH (id); CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)', "INSERT INTO t VALUES (snowflake_nextval(5))", '1' ])
{
	my ($name, $sql, $meanwhile, $next) = @$case;
	my $session = session_with($sql);
	my $statements = way_back($session, 't');
	my $identity = $statements =~ /IDENTITY/ ? 'ALTER id DROP IDENTITY, ' : '';

	$session->query("ALTER TABLE t ${identity}ALTER id SET DEFAULT snowflake_nextval(5)");
	$session->query($meanwhile);
	$session->query($statements);
	is($session->errors, '', "way back: $name");
	is($session->outcome('INSERT INTO t (n) VALUES (3) RETURNING CASE WHEN id < 400000000000000000 THEN id ELSE (snowflake_parts(id)).sequence - (snowflake_parts((SELECT max(id) FROM t))).sequence END'), $next, "way back: $name goes on");
	like($statements, qr/statement_timeout = '500ms';\nLOCK/, 'way back: the wait for all partitions is limited') if $name =~ /partitioned/;
}

#
# in_batches
#

my $change = "CALL in_batches('t', 'n = id', 'n IS NULL')";

for my $case (
	[ 'children', 'CREATE TABLE t (id bigserial PRIMARY KEY, n bigint); CREATE TABLE c () INHERITS (t); CREATE TABLE g () INHERITS (c);
		INSERT INTO c (id) SELECT generate_series(1, 50000); INSERT INTO g (id) SELECT generate_series(50001, 100000)' ],
	[ 'partitions', 'CREATE TABLE t (id bigint PRIMARY KEY, n bigint) PARTITION BY HASH (id); CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
		CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO t SELECT generate_series(1, 100000)' ])
{
	my ($what, $sql) = @$case;
	my $session = session_with($sql);

	is($session->outcome($change), '', "in_batches: a table with $what");
	is($session->outcome('SELECT count(n) FROM t'), '100000', "in_batches: all rows of all $what");
}

# A row that stays locked: the others are written once, and the call ends.
for my $case ([ 'a row', "CREATE TABLE t (id bigint PRIMARY KEY, n bigint)", 'UPDATE t SET n = n WHERE id = 5000', $change, 1.5 ],
	[ 'a row that references one', 'CREATE TABLE t (id bigint PRIMARY KEY, n bigint); CREATE TABLE r (t_id bigint REFERENCES t ON UPDATE CASCADE)',
		"UPDATE r SET t_id = t_id", "CALL in_batches('t', 'id = -id', 'id > 0')", 3 ])
{
	my ($name, $sql, $lock, $call, $most) = @$case;
	my $session = session_with("$sql; INSERT INTO t SELECT generate_series(1, 100000)");
	my $client = SeqidSession->new($node);

	$session->query('INSERT INTO r VALUES (5000); CREATE INDEX ON r (t_id)') if $name =~ /references/;
	my $once = $session->query('SELECT pg_relation_size($$t$$)');
	$client->query("SET search_path = s$number; BEGIN; $lock");
	like($session->full_outcome($call), qr/^55P03: 1 rows of t have not been changed$/, "in_batches: $name is locked");
	cmp_ok($session->query('SELECT pg_relation_size($$t$$)'), '<', (1 + $most) * $once, "in_batches: $name: the others are not written again and again");
	$client->query('COMMIT');
	is($session->outcome($call), '', "in_batches: $name: then all are changed");
	$client->close;
}

# Triggers that undo the change, of all rows or of some, and one that leaves rows out
for my $body ('NEW.n := OLD.n', 'IF NEW.id % 100 = 0 THEN NEW.n := OLD.n; END IF', 'IF NEW.id = 700 THEN RETURN NULL; END IF')
{
	my $session = session_with("CREATE TABLE t (id bigint PRIMARY KEY, n bigint); INSERT INTO t SELECT generate_series(1, 10000);
		CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN $body; RETURN NEW; END';
		CREATE TRIGGER undoes BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION undo()");

	is($session->full_outcome($change), '27000: rows of t are the same after their update', "in_batches: $body: is an error");
	$session->query($change);
	like($session->errors, qr/DETAIL:.*: undoes\.$/m, "in_batches: $body: names the trigger");
}

#
# exchange_column
#

for my $case (
	[ 'a default', 'ALTER TABLE t ALTER a SET DEFAULT 1', 'default of column a is missing on b', 'ALTER TABLE t ALTER b SET DEFAULT 1' ],
	[ 'an identity', 'ALTER TABLE t ALTER a SET NOT NULL, ALTER a ADD GENERATED ALWAYS AS IDENTITY', 'default of column a is missing on b', 'ALTER TABLE t ALTER b SET DEFAULT 1' ],
	[ 'a default of a reference', 'CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2); ALTER TABLE t ALTER a SET DEFAULT 1,
		ADD CONSTRAINT fa FOREIGN KEY (a) REFERENCES p ON DELETE SET DEFAULT, ADD CONSTRAINT fb FOREIGN KEY (b) REFERENCES p ON DELETE SET DEFAULT',
		'default of column a is missing on b, constraint fa on table t would be dropped', 'ALTER TABLE t ALTER b SET DEFAULT 1, DROP CONSTRAINT fa' ],
	[ 'a comment', "COMMENT ON COLUMN t.a IS 'of use'", 'comment of column a is missing on b', "COMMENT ON COLUMN t.b IS 'of use'" ],
	[ 'a statistics target', 'ALTER TABLE t ALTER a SET STATISTICS 1000', 'statistics target of column a is missing on b', 'ALTER TABLE t ALTER b SET STATISTICS 1000' ],
	[ 'n_distinct', 'ALTER TABLE t ALTER a SET (n_distinct = 5)', 'n_distinct of column a is missing on b', 'ALTER TABLE t ALTER b SET (n_distinct = 5)' ],
	[ 'storage', 'ALTER TABLE t DROP a, ADD a text, DROP b, ADD b text, ADD CHECK (a = b); ALTER TABLE t ALTER a SET STORAGE EXTERNAL', 'storage of column a is missing on b', 'ALTER TABLE t ALTER b SET STORAGE EXTERNAL' ],
	[ 'compression', 'ALTER TABLE t DROP a, ADD a text, DROP b, ADD b text, ADD CHECK (a = b); ALTER TABLE t ALTER a SET COMPRESSION pglz', 'compression of column a is missing on b', 'ALTER TABLE t ALTER b SET COMPRESSION pglz' ],
	[ 'a privilege', 'GRANT SELECT (a) ON t TO regress_clerk', 'privilege of column a is missing on b', 'GRANT SELECT (b) ON t TO regress_clerk' ],
	[ 'a replica identity', 'ALTER TABLE t ALTER a SET NOT NULL; CREATE UNIQUE INDEX on_a ON t (a); ALTER TABLE t REPLICA IDENTITY USING INDEX on_a; DROP INDEX on_a', 'its index was the replica identity', 'ALTER TABLE t REPLICA IDENTITY DEFAULT' ],
	[ 'an index', 'CREATE INDEX on_a ON t (a)', 'index on_a would be dropped', 'DROP INDEX on_a' ],
	[ 'a constraint', 'ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)', 'constraint positive on table t would be dropped', 'ALTER TABLE t DROP CONSTRAINT positive' ],
	[ 'no proof', 'ALTER TABLE t DROP CONSTRAINT t_check', 'no constraint contains both a and b', 'ALTER TABLE t ADD CHECK (a = b)' ],
	[ 'a proof that is not valid', 'ALTER TABLE t DROP CONSTRAINT t_check, ADD CONSTRAINT same CHECK (a = b) NOT VALID', 'constraint same is not valid', 'ALTER TABLE t VALIDATE CONSTRAINT same' ])
{
	my ($name, $sql, $problem, $remedy) = @$case;
	my $session = session_with("CREATE TABLE t (a int, b bigint, CHECK (a = b)); INSERT INTO t VALUES (1, 1); $sql");
	my $call = "CALL exchange_column('t', 'a', 'b')";

	is($session->full_outcome($call), "55000: column a of t cannot be replaced: $problem", "exchange_column: $name");
	$session->query($remedy);
	is($session->full_outcome($call), '', "exchange_column: $name: can then be replaced");
}

#
# What a default changes for clients
#
my $session = session_with('CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int); CREATE VIEW v AS SELECT * FROM t;
	GRANT INSERT ON t TO regress_clerk; GRANT INSERT, SELECT ON v TO regress_clerk');
my $typed = 'INSERT INTO v (id, n) VALUES (7, 1) RETURNING id';
my $source = 'INSERT INTO v (id, n) OVERRIDING USER VALUE VALUES (8, 1) RETURNING id';
my $clerk = SeqidSession->new($node);

$clerk->query("GRANT USAGE ON SCHEMA s$number TO regress_clerk; SET search_path = s$number, public; SET ROLE regress_clerk");
is(join(' ', map { $clerk->outcome($_) } $typed, $source), '428C9 1', 'an identity refuses keys of clients, and ignores them');
$node->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION snowflake_nextval(bigint) FROM PUBLIC; GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO regress_owner');
$session->query('ALTER TABLE t ALTER id DROP IDENTITY, ALTER id SET DEFAULT snowflake_nextval(5)');
is(join(' ', map { $clerk->outcome($_) } $typed, $source), '7 8', 'a default stores them');
is($clerk->outcome('INSERT INTO v (n) VALUES (2) RETURNING snowflake_shard(id)'), '42501', 'a role that inserts through a view needs the generator');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO PUBLIC');
is($clerk->outcome('INSERT INTO v (n) VALUES (2) RETURNING snowflake_shard(id)'), '5', 'and then inserts');
$session->query('REVOKE INSERT ON v FROM regress_clerk; GRANT INSERT (n) ON v TO regress_clerk');
is($clerk->outcome($typed), '42501', 'a privilege on the other columns refuses keys again');
$clerk->close;

$session = session_with('CREATE TABLE t (id bigserial PRIMARY KEY); INSERT INTO t SELECT FROM generate_series(1, 2);
	ALTER TABLE t ALTER id SET DEFAULT snowflake_nextval(5)');
$session->query('INSERT INTO t DEFAULT VALUES');
is($session->query("SELECT count(*) FROM t WHERE id < seqid.settled('t_id_seq')"), '2', 'readers: the bound of the sequence leaves snowflakes out');
poll_until { $session->query('SELECT count(*) FROM t WHERE id < seqid.settled_snowflake()') == 3 }
  or fail('readers: the bound of snowflakes is above all');

$node->stop;
done_testing();

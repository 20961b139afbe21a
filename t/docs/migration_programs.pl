# The programs of examples/migration/ on tables other than those of the page: check.sql finds
# each obstacle, way_back.sql restores what was there, in_batches ends, and exchange_column
# refuses to lose anything.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $node = new_server('programs', conf => "client_min_messages = error\n");
my ($session, $client) = map { SeqidSession->new($node) } 1 .. 2;

# Runs statements, which must not fail.
sub run ($sql)
{
	my $answer = $session->query($sql);

	is($session->errors, '', 'runs') or diag($sql);
	return $answer;
}

# The owner of the tables is not a superuser.
run('CREATE ROLE regress_owner; CREATE ROLE regress_clerk; CREATE ROLE regress_writer;
	CREATE SCHEMA shop AUTHORIZATION regress_owner; GRANT USAGE ON SCHEMA shop TO regress_clerk;
	SET search_path = shop, public; SET ROLE regress_owner');
$client->query('SET search_path = shop, public');
run("\\i examples/migration/$_.sql") for qw(in_batches exchange_column);

#
# check.sql
#

# Its rows, without the digits of new keys
sub obstacles ($table, $key, $generator)
{
	my $found = run(<<"PSQL");
\\set table $table
\\set key $key
\\set generator $generator
BEGIN READ ONLY;
\\i examples/migration/check.sql
COMMIT;
PSQL

	return join "\n", sort split /\n/, $found =~ s/'\d{15,}'|'[0-9a-f-]{36}'/<new>/gr;
}

run(<<'SQL');
CREATE TABLE p (id bigint PRIMARY KEY);
INSERT INTO p VALUES (9000000000000000000);
CREATE TABLE t (id bigserial PRIMARY KEY CONSTRAINT of_p REFERENCES p CONSTRAINT low CHECK (id > 0 AND id <> 5),
	n bigint, parent int REFERENCES t);
INSERT INTO t VALUES (9000000000000000000);
CREATE TABLE c (CONSTRAINT of_child CHECK (id < 5000)) INHERITS (t);

-- references, of references too
CREATE DOMAIN d AS smallint CONSTRAINT small CHECK (VALUE < 1000);
CREATE DOMAIN e AS d;
CREATE TABLE r (t_id bigint PRIMARY KEY REFERENCES t CONSTRAINT of_r CHECK (abs(t_id) < 5000), e e REFERENCES t);
CREATE TABLE q (a bigint, "T id" int REFERENCES r);
CREATE TABLE l (t_id bigint REFERENCES t) PARTITION BY LIST (t_id);
CREATE TABLE l_0 PARTITION OF l FOR VALUES IN (1, 2);
CREATE TABLE x (t_id bigint REFERENCES t) PARTITION BY RANGE ((t_id / 1000));
CREATE TABLE x_0 PARTITION OF x FOR VALUES FROM (0) TO (5);

-- triggers
CREATE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new . "id" = 7; RETURN NEW; END $$;
CREATE FUNCTION generic() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER assigns BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION assign();
CREATE TRIGGER is_told BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION generic('seq', 'id');

-- users of the sequence
CREATE TABLE u (n bigint DEFAULT nextval('t_id_seq'));
CREATE VIEW v AS SELECT n FROM t WHERE id < seqid.settled('t_id_seq');
CREATE POLICY y ON t USING (id < seqid.settled('t_id_seq'));
CREATE FUNCTION last_t() RETURNS bigint LANGUAGE sql AS $$ SELECT currval('T_id_SEQ') $$;
CREATE FUNCTION next_t() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT nextval('t_id_seq'); END;

-- roles
CREATE VIEW w AS SELECT * FROM v;
GRANT INSERT (n) ON t TO regress_clerk;
GRANT INSERT ON w TO PUBLIC;
RESET ROLE;
GRANT pg_write_all_data TO regress_writer;
REVOKE EXECUTE ON FUNCTION snowflake_nextval(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION snowflake_nextval(bigint) TO regress_owner;
SET ROLE regress_owner;
SQL
my $found = obstacles('t', 'id', 'snowflake');
is($found =~ s/\|.*//mgr, <<'ROWS' =~ s/\n\z//r, 'check: finds all obstacles');
column "T id" of q is too narrow
column e of r is too narrow
column parent of t is too narrow
constraint low can refuse new keys: CHECK (((id > 0) AND (id <> 5)))
constraint of_child can refuse new keys: CHECK ((id < 5000))
constraint of_p can refuse new keys: FOREIGN KEY (id) REFERENCES p(id)
constraint of_r can refuse new keys: CHECK ((abs(t_id) < 5000))
constraint small can refuse new keys: CHECK ((VALUE < 1000))
key 9000000000000000000 is above new keys
role PUBLIC inserts into view w but cannot execute snowflake_nextval(bigint)
role regress_clerk inserts into table t but cannot execute snowflake_nextval(bigint)
role regress_writer inserts into table c but cannot execute snowflake_nextval(bigint)
role regress_writer inserts into table t but cannot execute snowflake_nextval(bigint)
sequence t_id_seq is also used by default value for column n of table u
sequence t_id_seq is also used by function last_t()
sequence t_id_seq is also used by function next_t()
sequence t_id_seq is also used by policy y on table t
sequence t_id_seq is also used by rule _RETURN on view v
table l has no partition for new keys
table x has no partition for new keys
trigger assigns can set the key
trigger is_told can set the key
ROWS
my @remedies = grep { !/^(\\e|SELECT|ALTER POLICY)/ } map { s/.*\|//r } split /\n/, $found;
run(join ";\n", 'RESET ROLE', @remedies, 'SET ROLE regress_owner');
is(obstacles('t', 'id', 'snowflake'), <<'ROWS' =~ s/\n\z//r, 'check: its commands remove them, but for what needs a decision');
key 9000000000000000000 is above new keys|SELECT * FROM t WHERE id >= <new>
sequence t_id_seq is also used by function last_t()|\ef last_t()
sequence t_id_seq is also used by function next_t()|\ef next_t()
sequence t_id_seq is also used by policy y on table t|ALTER POLICY y ON t USING (...)
sequence t_id_seq is also used by rule _RETURN on view v|\ev v
ROWS

run(<<'SQL');
CREATE TABLE narrow (id serial PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE narrow_0 PARTITION OF narrow FOR VALUES FROM (-5) TO (1000);
ALTER TABLE narrow ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TABLE good (id bigserial, at date, n bigint CHECK (n > 0), CHECK (id > 0), PRIMARY KEY (id, at)) PARTITION BY RANGE (id);
CREATE TABLE good_0 PARTITION OF good FOR VALUES FROM (-5) TO (MAXVALUE) PARTITION BY RANGE (at, id);
CREATE TABLE good_0_0 PARTITION OF good_0 FOR VALUES FROM ('2020-01-01', 0) TO ('2040-01-01', 0);
CREATE TRIGGER harmless BEFORE INSERT ON good FOR EACH ROW EXECUTE FUNCTION generic('n');
CREATE TRIGGER disabled BEFORE INSERT ON good FOR EACH ROW EXECUTE FUNCTION assign();
ALTER TABLE good DISABLE TRIGGER disabled;
CREATE TABLE uuids (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
INSERT INTO uuids VALUES ('ffffffff-ffff-4fff-bfff-ffffffffffff');
SQL
is(obstacles('narrow', 'id', 'snowflake'), <<'ROWS' =~ s/\n\z//r, 'check: another table');
column id of narrow is too narrow|ALTER TABLE narrow ALTER id TYPE bigint
row security can hide the highest key|ALTER TABLE narrow NO FORCE ROW LEVEL SECURITY
table narrow has no partition for new keys|CREATE TABLE shop.narrow_default PARTITION OF narrow DEFAULT
ROWS
is(obstacles('good', 'id', 'snowflake'), '', 'check: no obstacle');
is(obstacles('uuids', 'id', 'comb_uuid'), '', 'check: a random UUID is no COMB of a later time');

#
# way_back.sql
#
for my $case (
	[ 'options', 'int GENERATED BY DEFAULT AS IDENTITY (START WITH 7 INCREMENT BY 3 MINVALUE -5 CACHE 20 CYCLE) PRIMARY KEY, n int)',
		'(id - 7) % 3 = 0 AND id > max' ],
	[ 'small', 'serial PRIMARY KEY, n int)', 'id = 5001' ],
	[ 'emptied', 'serial PRIMARY KEY, n int)', 'id = 4', 'DELETE FROM emptied' ],
	[ 'outbox', 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int)', 'id > generated', 'DELETE FROM outbox' ],
	[ 'parted', 'bigserial PRIMARY KEY, n int) PARTITION BY HASH (id);
		CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0)', 'id > generated' ])
{
	my ($table, $type, $expected, $then) = @$case;
	my $options = "SELECT s.*, attidentity, relacl FROM pg_attribute, pg_sequence s JOIN pg_class c ON c.oid = seqrelid
		WHERE attrelid = '$table'::regclass AND attname = 'id' AND c.oid = '${table}_id_seq'::regclass";

	run("CREATE TABLE $table (id $type; GRANT SELECT ON SEQUENCE ${table}_id_seq TO regress_clerk; INSERT INTO $table (n) VALUES (1), (2)");
	# The sequence of a serial keeps its type.
	run("ALTER TABLE $table ALTER id TYPE bigint") unless $table =~ /^(?:outbox|parted)$/;
	my $before = run($options);
	my $statements = run("\\set table $table\n\\set key id\n\\i examples/migration/way_back.sql");
	my $identity = $statements =~ /IDENTITY/ ? 'ALTER id DROP IDENTITY, ' : '';
	# Keys that are generated after the statements were printed are not generated again.
	run("INSERT INTO $table (n) VALUES (3)");
	run("ALTER TABLE $table ${identity}ALTER id SET DEFAULT snowflake_nextval(5);
		INSERT INTO $table (n) VALUES (4); INSERT INTO $table (id) VALUES (5000)");
	run($then) if $then;
	my $generated = run('SELECT snowflake_nextval(6)');
	run($statements);
	is(run($options) =~ s/^\d+//r, $before =~ s/^\d+//r, "way back: $table: all options");
	is(run("WITH inserted AS (INSERT INTO $table (n) VALUES (5) RETURNING id)
		SELECT $expected FROM inserted, (SELECT max(id), $generated AS generated FROM $table) t"), 't', "way back: $table: $expected");
	is($statements =~ /statement_timeout = '500ms';\nLOCK/ ? 1 : 0, $table eq 'parted' ? 1 : 0,
		"way back: $table: the wait for all partitions is limited");
}

#
# in_batches
#
run(<<'SQL');
CREATE TABLE parent (id bigserial PRIMARY KEY, n bigint);
CREATE TABLE child () INHERITS (parent);
CREATE TABLE grandchild () INHERITS (child);
INSERT INTO child (id) SELECT generate_series(1, 50000);
INSERT INTO grandchild (id) SELECT generate_series(50001, 100000);
CALL in_batches('parent', 'n = id', 'n IS NULL');

CREATE TABLE locked (id bigint PRIMARY KEY);
CREATE TABLE referencing (locked_id bigint REFERENCES locked ON UPDATE CASCADE);
CREATE INDEX ON referencing (locked_id);
INSERT INTO locked SELECT generate_series(1, 100000);
INSERT INTO referencing VALUES (7000);

CREATE TABLE undone (id bigint PRIMARY KEY, n bigint);
INSERT INTO undone SELECT generate_series(1, 1000);
CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN IF NEW.id % 100 = 0 THEN NEW.n := OLD.n; END IF; RETURN NEW; END $$;
CREATE TRIGGER undoes BEFORE UPDATE ON undone FOR EACH ROW EXECUTE FUNCTION undo();
SQL
is(run('SELECT count(n) FROM parent'), '100000', 'in_batches: changes the rows of children');

# The others are changed, and the call ends.
my $call = "CALL in_batches('locked', 'id = -id', 'id > 0')";
$client->query('BEGIN; SELECT FROM locked WHERE id = 5000 FOR UPDATE; UPDATE referencing SET locked_id = locked_id');
is($session->full_outcome($call), '55P03: 2 rows of locked have not been changed', 'in_batches: a row and a reference are locked');
$client->query('COMMIT');
is($session->outcome($call), '', 'in_batches: then all are changed');

$session->query("CALL in_batches('undone', 'n = id', 'n IS NULL')");
like($session->errors, qr/27000: rows of undone are the same after their update\nDETAIL:.*: undoes\.$/m, 'in_batches: names a trigger');

#
# exchange_column
#
run(<<'SQL');
CREATE TABLE exchanged (a text NOT NULL DEFAULT 1 CONSTRAINT of_a CHECK (a > ''), b text);
CREATE UNIQUE INDEX identity ON exchanged (a);
ALTER TABLE exchanged REPLICA IDENTITY USING INDEX identity;
DROP INDEX identity;
CREATE INDEX on_a ON exchanged (a);
COMMENT ON COLUMN exchanged.a IS 'of use';
GRANT SELECT (a) ON exchanged TO regress_clerk;
ALTER TABLE exchanged ALTER a SET STATISTICS 1000, ALTER a SET (n_distinct = 5), ALTER a SET STORAGE EXTERNAL, ALTER a SET COMPRESSION pglz;
SQL
my $exchange = "CALL exchange_column('exchanged', 'a', 'b')";
my ($state, $problems) = $session->full_outcome($exchange) =~ /^(\w+): column a of exchanged cannot be replaced: (.*)/;
is(join("\n", $state, sort split /, /, $problems), join("\n", '55000', 'comment of column a is missing on b',
		'compression of column a is missing on b', 'constraint of_a on table exchanged would be dropped',
		'default of column a is missing on b', 'index on_a would be dropped', 'its index was the replica identity',
		'n_distinct of column a is missing on b', 'no constraint contains both a and b',
		'privilege of column a is missing on b', 'statistics target of column a is missing on b',
		'storage of column a is missing on b'), 'exchange_column: names all that is missing');
run(<<'SQL');
ALTER TABLE exchanged REPLICA IDENTITY DEFAULT, DROP CONSTRAINT of_a, ADD CONSTRAINT same CHECK (a = b) NOT VALID;
DROP INDEX on_a;
COMMENT ON COLUMN exchanged.b IS 'of use';
GRANT SELECT (b) ON exchanged TO regress_clerk;
ALTER TABLE exchanged ALTER b SET STATISTICS 1000, ALTER b SET (n_distinct = 5), ALTER b SET STORAGE EXTERNAL, ALTER b SET COMPRESSION pglz,
	ALTER b SET DEFAULT 1;
SQL
is($session->full_outcome($exchange), '55000: column a of exchanged cannot be replaced: constraint same is not valid', 'exchange_column: no proof');
run("ALTER TABLE exchanged VALIDATE CONSTRAINT same; $exchange");

#
# What a default changes: privileges of roles that insert, and bounds of readers
#
run('CREATE TABLE keys (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY); INSERT INTO keys DEFAULT VALUES;
	CREATE VIEW seen AS SELECT * FROM keys; GRANT INSERT, SELECT ON seen TO regress_clerk');
$client->query('SET ROLE regress_clerk');
is($client->outcome('INSERT INTO seen VALUES (7)'), '428C9', 'an identity refuses keys of clients');
run('RESET ROLE; REVOKE EXECUTE ON FUNCTION snowflake_nextval(bigint) FROM PUBLIC, regress_clerk; SET ROLE regress_owner;
	ALTER TABLE keys ALTER id DROP IDENTITY, ALTER id SET DEFAULT snowflake_nextval(5)');
is($client->outcome('INSERT INTO seen VALUES (7)'), '', 'a default stores them');
is($client->outcome('INSERT INTO seen DEFAULT VALUES'), '42501', 'a role that inserts through a view needs the generator');
run("CREATE TABLE read (id bigserial PRIMARY KEY); INSERT INTO read VALUES (DEFAULT), (snowflake_nextval(5))");
is(run("SELECT count(*) FROM read WHERE id < seqid.settled('read_id_seq')"), '1', 'the bound of the sequence leaves snowflakes out');
poll_until { run('SELECT count(*) FROM read WHERE id < seqid.settled_snowflake()') == 2 }
  or fail('the bound of snowflakes is above all');

$_->close for $session, $client;
$node->stop;
done_testing();

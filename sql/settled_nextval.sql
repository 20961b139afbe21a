--
-- settled_nextval, and the settled horizon of a sequence
--
CREATE TABLE events (id bigserial PRIMARY KEY, name text);
ALTER TABLE events ALTER id SET DEFAULT settled_nextval('events_id_seq');

-- The horizon as a function, for these tests only.
CREATE FUNCTION settled(sequence regclass DEFAULT 'events_id_seq') RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	bound record;
BEGIN
	EXECUTE format('CALL seqid.sequence_horizon(%L)', sequence::oid) INTO bound;
	RETURN bound.value;
END
$$;

-- Values are those of nextval().
INSERT INTO events (name) VALUES ('a'), ('b'), ('c') RETURNING id;
SELECT nextval('events_id_seq'), settled_nextval('events_id_seq'), currval('events_id_seq'), lastval();
SELECT settled_nextval(NULL);

--
-- The procedure
--
CALL seqid.sequence_horizon('events_id_seq') \gset
SELECT :value AS value, :'lsn' <= pg_current_wal_flush_lsn() AS flushed,
	   :timeline = (SELECT timeline FROM seqid.stat_server) AS timeline;
-- Arguments except the sequence are ignored.
CALL seqid.sequence_horizon('events_id_seq', -1, '0/0', NULL) \gset
SELECT :value AS value;
DO $$
DECLARE
	value bigint;
	lsn pg_lsn;
	timeline bigint;
BEGIN
	CALL seqid.sequence_horizon('events_id_seq', value, lsn, timeline);
	ASSERT value = 5 AND lsn <= pg_current_wal_flush_lsn() AND timeline > 0;
END
$$;
SELECT error_of('CALL seqid.sequence_horizon(NULL)');
SELECT error_of($$SELECT seqid.sequence_horizon('events_id_seq')$$);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT error_of($$CALL seqid.sequence_horizon('events_id_seq')$$);
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT error_of($$CALL seqid.sequence_horizon('events_id_seq')$$);
ROLLBACK;
BEGIN READ ONLY;
SELECT settled(), error_of($$SELECT settled_nextval('events_id_seq')$$);
ROLLBACK;

--
-- What holds it
--
BEGIN;
SELECT settled() AS before;
INSERT INTO events (name) VALUES ('d'), ('e') RETURNING id;
SELECT settled() AS held;
SELECT pid = pg_backend_pid() AS own, gid, held, since = now() AS since, sequence, value FROM seqid.horizon_holders;
COMMIT;
SELECT settled() AS released, (SELECT count(*) FROM seqid.horizon_holders) AS holders;

-- Plain nextval() does not, nor do other keys and other sequences.
CREATE SEQUENCE other;
BEGIN;
SELECT nextval('events_id_seq'), settled_nextval('other'), snowflake_nextval(5) > 0 AS drawn;
SELECT settled(), settled('other') AS other;
ROLLBACK;

-- A subtransaction that is rolled back holds it until the transaction ends.
BEGIN;
SAVEPOINT a;
INSERT INTO events (name) VALUES ('f') RETURNING id;
ROLLBACK TO a;
SELECT settled() AS held;
INSERT INTO events (name) VALUES ('g') RETURNING id;
SELECT settled() AS held;
RELEASE a;
ROLLBACK;
SELECT settled() AS released;
-- The block of a handler is a subtransaction.
DO $$
BEGIN
	BEGIN
		PERFORM settled_nextval('events_id_seq');
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
	END;
	ASSERT settled() = 10, settled();
END
$$;

-- A procedure that commits registers each of its transactions.
CREATE PROCEDURE insert_three() LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	FOR i IN 1..3 LOOP
		before := settled();
		INSERT INTO events (name) VALUES ('procedure');
		INSERT INTO events (name) VALUES ('procedure');
		ASSERT settled() = before, 'held';
		IF i = 2 THEN ROLLBACK; ELSE COMMIT; END IF;
		ASSERT settled() = before + 2, 'released';
	END LOOP;
END
$$;
CALL insert_three();

-- A deferred trigger inserts while the transaction commits; a cursor WITH HOLD is
-- materialized then.
CREATE TABLE orders (n int);
CREATE FUNCTION log_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO events (name) VALUES ('deferred');
	RAISE NOTICE 'held: %', settled() < currval('events_id_seq');
	RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER log_order AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION log_order();
INSERT INTO orders VALUES (1), (2);
SELECT settled() = currval('events_id_seq') AS released;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT settled_nextval('events_id_seq') FROM generate_series(1, 3);
FETCH c;
SELECT settled() AS held;
COMMIT;
SELECT settled() AS released;
FETCH c;
CLOSE c;

--
-- Eight sequences
--
CREATE SCHEMA nine;
DO $$
BEGIN
	FOR i IN 1..9 LOOP
		EXECUTE format('CREATE SEQUENCE nine.s%s', i);
	END LOOP;
END
$$;
BEGIN;
SELECT sum(settled_nextval(('nine.s' || i)::regclass)) FROM generate_series(1, 8) i;
SELECT error_of($$SELECT settled_nextval('nine.s9')$$);
SELECT sum(settled_nextval(('nine.s' || i)::regclass)) FROM generate_series(1, 8) i;
SELECT string_agg(sequence::text, ' ' ORDER BY sequence::text) AS held FROM seqid.horizon_holders;
SELECT settled('nine.s8') AS held, settled('nine.s9') AS free;
COMMIT;
SELECT settled('nine.s8') AS released;
SELECT settled_nextval('nine.s9');
DROP SCHEMA nine CASCADE;

--
-- Sequences that have no settled values
--
CREATE SEQUENCE cached CACHE 2;
CREATE SEQUENCE cycling CYCLE MAXVALUE 3;
CREATE SEQUENCE downward INCREMENT -1;
CREATE UNLOGGED SEQUENCE unlogged;
CREATE TEMPORARY SEQUENCE temporary;
CREATE SEQUENCE dropped;
SELECT 'dropped'::regclass::oid AS dropped \gset
DROP SEQUENCE dropped;
SELECT s, error_of(format('SELECT settled_nextval(%L)', s)),
	   error_of(format('CALL seqid.sequence_horizon(%L)', s)) = error_of(format('SELECT settled_nextval(%L)', s)) AS reader_too
  FROM unnest(ARRAY['cached', 'cycling', 'downward', 'unlogged', 'temporary', 'events', 'nothing']) s;
SELECT replace(error_of('SELECT settled_nextval(' || :dropped || ')'), :'dropped', 'OID') AS dropped,
	   replace(error_of('CALL seqid.sequence_horizon(' || :dropped || ')'), :'dropped', 'OID') AS reader;

-- Other increments, and a sequence at its end.
CREATE SEQUENCE tens INCREMENT 10 START 5 MAXVALUE 25;
SELECT settled('tens'), settled_nextval('tens'), settled_nextval('tens');
SELECT settled('tens'), settled_nextval('tens'), error_of($$SELECT settled_nextval('tens')$$);
SELECT settled('tens');
CREATE SEQUENCE least MINVALUE -9223372036854775808;
SELECT settled('least'), error_of($$SELECT settled_nextval('least')$$);
SELECT settled_nextval('least'), settled('least');
CREATE SEQUENCE greatest START 9223372036854775806;
SELECT settled('greatest'), settled_nextval('greatest'), settled_nextval('greatest');
SELECT settled('greatest'), error_of($$SELECT settled_nextval('greatest')$$);

--
-- Sequences that are changed
--
-- Forward: the next value is 200.
SELECT setval('other', 200, false), settled('other');
SELECT settled_nextval('other'), settled('other');
SELECT setval('other', 300), settled('other');
-- Back, in the transaction or before it.
BEGIN;
SELECT settled_nextval('other'), setval('other', 5);
SAVEPOINT a;
SELECT settled_nextval('other');
ROLLBACK TO a;
SELECT error_of($$SELECT settled_nextval('other')$$), settled('other') AS held;
ROLLBACK;
SELECT settled_nextval('other'), settled('other');
-- Altered in between, by the transaction itself: another one would wait for it.
BEGIN;
SELECT settled_nextval('other');
ALTER SEQUENCE other CACHE 20;
SELECT error_of($$SELECT settled_nextval('other')$$);
ALTER SEQUENCE other CACHE 1 CYCLE;
SELECT error_of($$SELECT settled_nextval('other')$$);
ALTER SEQUENCE other NO CYCLE INCREMENT -1;
SELECT error_of($$SELECT settled_nextval('other')$$);
ALTER SEQUENCE other INCREMENT 1;
SELECT settled_nextval('other');
ROLLBACK;
-- DISCARD within a transaction
BEGIN;
SELECT settled_nextval('other') AS value, settled('other') AS held \gset
DISCARD SEQUENCES;
SELECT settled_nextval('other') = :value + 1 AS next, settled('other') = :held AS held;
COMMIT;

-- RESTART, in a transaction that is registered already, and rolled back.
SELECT setval('other', 50);
BEGIN;
SELECT settled_nextval('other'), settled('other') AS held;
SAVEPOINT a;
ALTER SEQUENCE other RESTART;
SELECT settled_nextval('other'), settled_nextval('other');
ROLLBACK TO a;
SELECT settled_nextval('other'), settled('other') AS held;
ROLLBACK;
SELECT settled('other');
-- The first call comes after a RESTART that is rolled back: the horizon is not below what
-- it was.
BEGIN;
SAVEPOINT a;
ALTER SEQUENCE other RESTART;
SELECT settled_nextval('other');
ROLLBACK TO a;
SELECT settled('other') AS stands;
SELECT settled_nextval('other'), settled('other') AS held;
ROLLBACK;
-- Committed, it starts again.
BEGIN;
SELECT settled_nextval('other');
ALTER SEQUENCE other RESTART;
SELECT settled_nextval('other'), settled_nextval('other');
COMMIT;
SELECT settled('other');

-- TRUNCATE
SELECT count(*) > 0 AS events, settled() > 20 AS settled FROM events;
BEGIN;
INSERT INTO events (name) VALUES ('before');
TRUNCATE events RESTART IDENTITY;
INSERT INTO events (name) VALUES ('after') RETURNING id;
COMMIT;
SELECT settled();
INSERT INTO events (name) VALUES ('later') RETURNING id, settled() AS held;

-- Created, and dropped and created again, in the transaction that calls it
BEGIN;
CREATE SEQUENCE created;
SELECT settled_nextval('created'), settled_nextval('created');
DROP SEQUENCE created;
CREATE SEQUENCE created;
SELECT settled_nextval('created'), settled('created');
COMMIT;
BEGIN;
SELECT settled_nextval('created');
DROP SEQUENCE created;
CREATE SEQUENCE created START 100;
SELECT settled_nextval('created');
COMMIT;
SELECT settled('created');

-- An identity column: an owned sequence above its last value replaces it.
CREATE TABLE identity (id bigint GENERATED ALWAYS AS IDENTITY, name text);
INSERT INTO identity (name) VALUES ('a'), ('b');
BEGIN;
LOCK TABLE identity;
SELECT last_value + 1 AS next FROM identity_id_seq \gset
ALTER TABLE identity ALTER id DROP IDENTITY;
CREATE SEQUENCE identity_id_seq OWNED BY identity.id START :next;
ALTER TABLE identity ALTER id SET DEFAULT settled_nextval('identity_id_seq');
COMMIT;
INSERT INTO identity (name) VALUES ('c') RETURNING id, settled('identity_id_seq') AS held;
SELECT pg_get_serial_sequence('identity', 'id');
-- An identity column's own sequence can be called, and its values inserted.
CREATE TABLE by_default (id int GENERATED BY DEFAULT AS IDENTITY);
INSERT INTO by_default VALUES (settled_nextval('by_default_id_seq')) RETURNING id, settled('by_default_id_seq') AS held;

--
-- PREPARE TRANSACTION
--
BEGIN;
SELECT settled_nextval('other');
PREPARE TRANSACTION 'regress_seqid_settled';
BEGIN;
SAVEPOINT a;
SELECT settled_nextval('other');
ROLLBACK TO a;
PREPARE TRANSACTION 'regress_seqid_settled';
SELECT count(*) AS holders FROM seqid.horizon_holders;

--
-- Parallel plans: it is not parallel safe, and refuses a worker.
--
CREATE FUNCTION mislabeled() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS $$ SELECT settled_nextval('other') $$;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
CREATE TABLE many AS SELECT n FROM generate_series(1, 1000) n;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
EXPLAIN (COSTS OFF) SELECT count(settled_nextval('other')) FROM many;
SELECT settled('other') AS before \gset
SELECT split_part(error_of('SELECT count(mislabeled()) FROM many'), E'\n', 1);
SELECT settled('other') = :before AS not_held;
ROLLBACK;

--
-- Privileges
--
CREATE ROLE regress_seqid_settled;
CREATE SEQUENCE granted;
SET ROLE regress_seqid_settled;
SELECT error_of($$SELECT settled_nextval('granted')$$), error_of($$CALL seqid.sequence_horizon('granted')$$);
RESET ROLE;
GRANT SELECT ON SEQUENCE granted TO regress_seqid_settled;
BEGIN;
SELECT settled_nextval('granted'), settled_nextval('other') > 0 AS other;
SET LOCAL ROLE regress_seqid_settled;
SELECT error_of($$SELECT settled_nextval('granted')$$), error_of($$CALL seqid.sequence_horizon('granted')$$);
-- The value of a sequence without a privilege is not shown.
SELECT sequence, value FROM seqid.horizon_holders ORDER BY sequence::text;
ROLLBACK;
REVOKE SELECT ON SEQUENCE granted FROM regress_seqid_settled;
GRANT USAGE ON SEQUENCE granted TO regress_seqid_settled;
SET ROLE regress_seqid_settled;
SELECT settled_nextval('granted');
SELECT settled('granted');
RESET ROLE;
REVOKE USAGE ON SEQUENCE granted FROM regress_seqid_settled;
GRANT UPDATE ON SEQUENCE granted TO regress_seqid_settled;
SET ROLE regress_seqid_settled;
SELECT settled_nextval('granted');
SELECT settled('granted');
RESET ROLE;

DROP FUNCTION settled(regclass), mislabeled();
DROP TABLE events, orders, identity, by_default;
DROP SEQUENCE other, cached, cycling, downward, unlogged, temporary, tens, least, greatest, created, granted;
DROP FUNCTION log_order();
DROP PROCEDURE insert_three();
DROP ROLE regress_seqid_settled;

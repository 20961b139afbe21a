-- seqid.settled() and its siblings in one session.  specs/settled_snapshot.spec has several.
\pset format unaligned
\pset tuples_only on

CREATE TABLE outbox (id bigserial PRIMARY KEY, key bigint DEFAULT snowflake_nextval(5),
	key53 bigint DEFAULT snowflake53_nextval(5), comb uuid DEFAULT comb_uuid(), event text);
CREATE VIEW settled_outbox AS
	SELECT * FROM outbox WHERE id < (SELECT seqid.settled('outbox_id_seq'));

--
-- Bounds
--
SELECT 'unused: ' || seqid.settled('outbox_id_seq');
INSERT INTO outbox (event) VALUES ('a'), ('b'), ('c');
SELECT 'exclusive: ' || seqid.settled('outbox_id_seq');
SELECT 'rows: ' || string_agg(event, ' ' ORDER BY id) FROM outbox WHERE id < seqid.settled('outbox_id_seq');
SELECT 'null: ' || (seqid.settled(NULL) IS NULL);
-- once the clock has passed the keys
DO $$
BEGIN
	WHILE (SELECT count(*) FROM outbox
			WHERE key < seqid.settled_snowflake() AND key53 < seqid.settled_snowflake53()
			  AND comb < seqid.settled_comb_uuid()) < (SELECT count(*) FROM outbox) LOOP
		COMMIT;
	END LOOP;
END
$$;
SELECT 'snowflakes: ' || count(*) FROM outbox WHERE key < seqid.settled_snowflake();
SELECT 'snowflakes of 53 bits: ' || count(*) FROM outbox WHERE key53 < seqid.settled_snowflake53();
SELECT 'COMBs: ' || count(*) FROM outbox WHERE comb < seqid.settled_comb_uuid();
SELECT 'one time: ' || (snowflake_timestamp(seqid.settled_snowflake()) = comb_uuid_timestamp(seqid.settled_comb_uuid())
	AND snowflake_timestamp(seqid.settled_snowflake()) = snowflake53_timestamp(seqid.settled_snowflake53()));
SELECT setval('outbox_id_seq', 1::bigint << 40);
INSERT INTO outbox (event) VALUES ('d');
SELECT 'beyond 2^32: ' || string_agg(event, ' ' ORDER BY id), max(id) FROM outbox WHERE id < seqid.settled('outbox_id_seq');

--
-- The own transaction holds the bounds, and one snapshot has one bound.
--
BEGIN;
INSERT INTO outbox (event) VALUES ('own');
SELECT 'own rows: ' || count(*) FROM outbox WHERE event = 'own' AND id < seqid.settled('outbox_id_seq');
SELECT 'own snowflakes: ' || count(*) FROM outbox WHERE event = 'own' AND key < seqid.settled_snowflake();
ROLLBACK;
SELECT 'after a rollback: ' || (seqid.settled('outbox_id_seq') = (SELECT last_value + 1 FROM outbox_id_seq));
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 'repeatable read: ' || (seqid.settled('outbox_id_seq') = seqid.settled('outbox_id_seq'));
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT 'deferrable: ' || count(*) FROM settled_outbox;
COMMIT;

--
-- Forms of a statement
--
COPY (SELECT event FROM settled_outbox ORDER BY id) TO STDOUT;
CREATE MATERIALIZED VIEW copied AS SELECT * FROM settled_outbox;
REFRESH MATERIALIZED VIEW copied;
SELECT 'materialized view: ' || count(*) FROM copied;
BEGIN;
DECLARE reader CURSOR WITH HOLD FOR SELECT event FROM outbox WHERE id < seqid.settled('outbox_id_seq') ORDER BY id;
FETCH 2 FROM reader;
COMMIT;
FETCH ALL FROM reader;
CLOSE reader;
DO $$
DECLARE
	r record;
	last bigint := 0;
	found text := '';
BEGIN
	FOR i IN 1..12 LOOP
		FOR r IN SELECT * FROM outbox WHERE id > last AND id < seqid.settled('outbox_id_seq') ORDER BY id LOOP
			found := found || r.event;
			last := r.id;
		END LOOP;
		INSERT INTO outbox (event) VALUES (i);
		COMMIT;
	END LOOP;
	RAISE NOTICE 'loop with commits: %', found;
END
$$;
-- the check of a domain after COMMIT, when no statement has a snapshot
CREATE DOMAIN unsettled AS bigint CHECK (VALUE < seqid.settled('outbox_id_seq'));
DO $$ DECLARE n unsettled; BEGIN COMMIT; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'domain: %', n; END $$;
DROP DOMAIN unsettled;
CREATE FUNCTION seen_by_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'trigger: %', (SELECT max(event) FROM outbox WHERE id < seqid.settled('outbox_id_seq') AND event > 'a');
	RETURN NULL;
END
$$;
CREATE TRIGGER see AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION seen_by_trigger();
INSERT INTO outbox (event) VALUES ('z');
DROP TRIGGER see ON outbox;

--
-- Plans
--
-- a prepared statement with parameters is planned each time
PREPARE poll(bigint) AS SELECT count(*) FROM outbox WHERE id > $1 AND id < seqid.settled('outbox_id_seq');
SELECT format('EXECUTE poll(%s)', i) FROM generate_series(1, 8) i \gexec
SELECT 'prepared: ' || generic_plans || ' generic, ' || custom_plans || ' custom' FROM pg_prepared_statements WHERE name = 'poll';
SET plan_cache_mode = force_generic_plan;
EXECUTE poll(0);
RESET plan_cache_mode;
DEALLOCATE poll;
-- what all versions print alike
CREATE FUNCTION plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		CONTINUE WHEN line ~ '^ *(Params Evaluated|InitPlan \w+($| ))';
		RETURN NEXT trim(regexp_replace(line, '\(InitPlan \w+\).col1', '$0'));
	END LOOP;
END
$$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan_of($$SELECT * FROM outbox WHERE id > 5 AND id < seqid.settled('outbox_id_seq') ORDER BY id$$);
SELECT plan_of($$SELECT * FROM settled_outbox WHERE id > 5 ORDER BY id LIMIT 100$$);
RESET enable_seqscan;
RESET enable_bitmapscan;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE outbox SET (parallel_workers = 2);
SELECT plan_of($$SELECT count(event) FROM outbox WHERE id < (SELECT seqid.settled('outbox_id_seq')) AND id % 2 = 0$$);
SELECT 'parallel: ' || count(event) FROM outbox WHERE id < (SELECT seqid.settled('outbox_id_seq'));
SELECT 'with a call for each row: ' || NOT bool_or(p LIKE '%Parallel%')
  FROM plan_of($$SELECT count(event) FROM outbox WHERE id < seqid.settled('outbox_id_seq')$$) p;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
CREATE TABLE parts (id bigint GENERATED ALWAYS AS IDENTITY, event text) PARTITION BY HASH (id);
SELECT format('CREATE TABLE parts%s PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER %1$s)', i) FROM generate_series(0, 2) i \gexec
INSERT INTO parts (event) SELECT i FROM generate_series(1, 9) i;
SELECT 'partitions: ' || string_agg(event, ' ') FROM (SELECT event FROM parts WHERE id < seqid.settled('parts_id_seq') ORDER BY id) p;

--
-- Privileges are those of the current role, in a view too.
--
CREATE ROLE regress_seqid_settled;
GRANT SELECT ON outbox, settled_outbox TO regress_seqid_settled;
SET ROLE regress_seqid_settled;
SELECT seqid.settled('outbox_id_seq');
SELECT count(*) FROM settled_outbox;
RESET ROLE;
GRANT USAGE ON SEQUENCE outbox_id_seq TO regress_seqid_settled;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET ROLE regress_seqid_settled;
SELECT 'granted: ' || count(*) FROM settled_outbox;
RESET ROLE;
SELECT 'same snapshot, other role: ' || count(*) FROM settled_outbox;
COMMIT;

-- nor does a role get the bound that another one got for the same snapshot
REVOKE ALL ON SEQUENCE outbox_id_seq FROM regress_seqid_settled;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 'owner: ' || count(*) FROM settled_outbox;
SET ROLE regress_seqid_settled;
SELECT count(*) FROM settled_outbox;
ROLLBACK;

-- a policy for a role that reads
GRANT SELECT ON SEQUENCE outbox_id_seq TO regress_seqid_settled;
ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
CREATE POLICY settled ON outbox FOR SELECT TO regress_seqid_settled
	USING (id < (SELECT seqid.settled('outbox_id_seq')));
SET ROLE regress_seqid_settled;
SELECT 'policy: ' || count(*) FROM outbox;
RESET ROLE;
ALTER TABLE outbox DISABLE ROW LEVEL SECURITY;

--
-- Errors
--
CREATE SEQUENCE settled_cache CACHE 20;
CREATE SEQUENCE settled_cycle CYCLE;
CREATE SEQUENCE settled_down INCREMENT -1;
CREATE UNLOGGED SEQUENCE settled_unlogged;
CREATE TEMPORARY SEQUENCE settled_temporary;
SELECT s || ': ' || error_of(format('SELECT seqid.settled(%L)', s))
  FROM unnest(ARRAY['settled_cache', 'settled_cycle', 'settled_down', 'settled_unlogged', 'settled_temporary',
					'seqid.clock_mark', 'outbox', '4294967295', '0']) s;
-- What is refused leaves nothing in the session's memory.
SELECT sum(total_bytes) AS bytes FROM pg_backend_memory_contexts WHERE name = 'seqid followed sequences' \gset
SELECT count(error_of(format('SELECT seqid.settled(%s)', id))) FROM generate_series(1, 100) AS id;
SELECT sum(total_bytes) = :bytes AS as_before FROM pg_backend_memory_contexts WHERE name = 'seqid followed sequences';

-- a branch that does not run
SELECT 'not called: ' || CASE WHEN random() > 2 THEN seqid.settled('settled_cache') ELSE 0 END;
CREATE FUNCTION ask_with_snapshots(count int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. count LOOP
		-- The number that it uses up makes the next snapshot another one.
		BEGIN
			DELETE FROM outbox;
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
		END;
		PERFORM seqid.settled('outbox_id_seq');
	END LOOP;
END
$$;
-- a cursor that is first read after too many later snapshots, none of which is refused
BEGIN;
DECLARE early CURSOR FOR SELECT seqid.settled('outbox_id_seq');
SELECT FROM ask_with_snapshots(66);
FETCH early;
ROLLBACK;
-- one that was read before, whose result is the last that was forgotten
BEGIN;
DECLARE early CURSOR FOR SELECT seqid.settled('outbox_id_seq') > 0 FROM generate_series(1, 2);
FETCH early;
SELECT FROM ask_with_snapshots(64);
FETCH early;
ROLLBACK;

DROP TABLE parts;
DROP MATERIALIZED VIEW copied;
DROP VIEW settled_outbox;
DROP TABLE outbox;
DROP FUNCTION seen_by_trigger, plan_of, ask_with_snapshots;
DROP SEQUENCE settled_cache, settled_cycle, settled_down, settled_unlogged;
DROP ROLE regress_seqid_settled;

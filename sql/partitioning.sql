--
-- Partitions by key: rows go to the partition of their time, and a range of time
-- looks at its partitions only
--
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
SET datestyle = 'ISO';

CREATE TABLE parted_events (id bigint PRIMARY KEY, note text) PARTITION BY RANGE (id);
CREATE TABLE parted_documents (id uuid PRIMARY KEY, body text) PARTITION BY RANGE (id);
DO $$
DECLARE
	month timestamptz;
BEGIN
	FOR month IN SELECT generate_series(timestamptz '2026-01-01', '2026-12-01', '1 month') LOOP
		EXECUTE format('CREATE TABLE parted_events_%s PARTITION OF parted_events FOR VALUES FROM (%s) TO (%s)',
			to_char(month, 'MM'), snowflake_first(month), snowflake_first(month + interval '1 month'));
		EXECUTE format('CREATE TABLE parted_documents_%s PARTITION OF parted_documents FOR VALUES FROM (%L) TO (%L)',
			to_char(month, 'MM'), comb_uuid_first(month), comb_uuid_first(month + interval '1 month'));
	END LOOP;
END
$$;

-- the first and the last instant of each month
INSERT INTO parted_events
SELECT snowflake_make(t, shard, sequence), to_char(t, 'MM')
  FROM generate_series(timestamptz '2026-01-01', '2026-12-01', '1 month') month,
       LATERAL (VALUES (month, 0, 0), (month + interval '1 month' - interval '1 ms', 1023, 4095)) v(t, shard, sequence);
INSERT INTO parted_documents
SELECT id, to_char(t, 'MM')
  FROM generate_series(timestamptz '2026-01-01', '2026-12-01', '1 month') month,
       LATERAL (VALUES (month), (month + interval '1 month' - interval '1 us')) v(t),
       LATERAL (VALUES (comb_uuid_first(t)), (comb_uuid_last(t)), (comb_uuid_at(t))) k(id);
SELECT count(*) AS rows, count(*) FILTER (WHERE tableoid::regclass::text = 'parted_events_' || note) AS in_their_month FROM parted_events;
SELECT count(*) AS rows, count(*) FILTER (WHERE tableoid::regclass::text = 'parted_documents_' || body) AS in_their_month FROM parted_documents;

-- the partitions that a plan has, and how many it left out when it began to run
CREATE FUNCTION partitions_in_plan(query text, OUT partitions text[], OUT removed int) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		partitions := partitions || (regexp_match(line, ' on (parted_[a-z]+_\d+)(?: |$)'))[1];
		removed := coalesce((regexp_match(line, 'Subplans Removed: (\d+)'))[1]::int, removed);
	END LOOP;
	SELECT array_agg(DISTINCT p ORDER BY p) INTO partitions FROM unnest(partitions) p WHERE p IS NOT NULL;
END
$$;
SELECT * FROM partitions_in_plan($$SELECT * FROM parted_events
	WHERE id >= snowflake_first('2026-03-10 00:00+00') AND id < snowflake_first('2026-04-02 00:00+00')$$);
SELECT * FROM partitions_in_plan($$SELECT * FROM parted_documents
	WHERE id >= comb_uuid_first('2026-03-10 00:00+00') AND id < comb_uuid_first('2026-04-02 00:00+00')$$);
-- a range that ends with a month does not look at the next one
SELECT * FROM partitions_in_plan($$SELECT * FROM parted_events
	WHERE id >= snowflake_first('2026-03-01 00:00+00') AND id < snowflake_first('2026-04-01 00:00+00')$$);
SELECT * FROM partitions_in_plan($$SELECT * FROM parted_documents
	WHERE id >= comb_uuid_first('2026-03-01 00:00+00') AND id < comb_uuid_first('2026-04-01 00:00+00')$$);
-- one key, one partition
SELECT * FROM partitions_in_plan($$SELECT * FROM parted_events WHERE id = snowflake_make('2026-05-05 12:00+00', 5, 0)$$);
SELECT * FROM partitions_in_plan($$SELECT * FROM parted_documents WHERE id = comb_uuid_first('2026-05-05 12:00+00')$$);
-- a time that is known only when the query runs
SELECT removed >= 10 AS pruned_as_it_began FROM partitions_in_plan($$SELECT * FROM parted_events
	WHERE id >= snowflake_first(now() - interval '1 day') AND id < snowflake_first(now() + interval '1 day')$$)
UNION ALL
SELECT removed >= 10 FROM partitions_in_plan($$SELECT * FROM parted_documents
	WHERE id >= comb_uuid_first(now() - interval '1 day') AND id < comb_uuid_first(now() + interval '1 day')$$);
-- what is computed from the key does not prune
SELECT cardinality(partitions) AS all_of_them FROM partitions_in_plan($$SELECT * FROM parted_events
	WHERE snowflake_timestamp(id) >= '2026-03-10 00:00+00' AND snowflake_timestamp(id) < '2026-04-02 00:00+00'$$);

DROP TABLE parted_events, parted_documents;
DROP FUNCTION partitions_in_plan;

--
-- Taking COMBs apart and putting them together
--
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- the example of RFC 9562; what follows its milliseconds is random there
SELECT date_trunc('milliseconds', comb_uuid_timestamp('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')) AS rfc_9562,
       comb_uuid_is_valid('017f22e2-79b0-7cc3-98c4-dc0c0c07398f') AS valid;

-- the fraction is floor(fraction of the millisecond * 2^14): 0, 16, 8192, 16367
SELECT us, comb_uuid_first(t), comb_uuid_last(t)
  FROM unnest(ARRAY[0, 1, 500, 999]) us,
       LATERAL (SELECT '2022-02-22 19:22:22'::timestamptz + us * interval '1 us') v(t);
SELECT comb_uuid_first('1970-01-01') AS smallest,
       comb_uuid_last('10889-08-02 05:31:50.655999') AS largest;

-- every microsecond of a millisecond: the time of first and last is that time,
-- the next microsecond's first is the very next COMB, and COMBs sort as times do
SELECT count(*) AS tried,
       count(*) FILTER (WHERE comb_uuid_timestamp(comb_uuid_first(t)) = t) AS first_is,
       count(*) FILTER (WHERE comb_uuid_timestamp(comb_uuid_last(t)) = t) AS last_is,
       count(*) FILTER (WHERE comb_uuid_timestamp(comb_uuid_at(t)) = t) AS at_is,
       count(*) FILTER (WHERE comb_uuid_at(t) BETWEEN comb_uuid_first(t) AND comb_uuid_last(t)) AS between,
       count(*) FILTER (WHERE comb_uuid_last(t) < comb_uuid_first(t + interval '1 us')) AS apart
  FROM generate_series(0, 1999) us,
       LATERAL (SELECT '2024-03-01 10:30:15.5'::timestamptz + us * interval '1 us') v(t);
-- so comparing COMBs with a bound is comparing times: also for random bits
SELECT count(*) AS tried,
       count(*) FILTER (WHERE (id >= comb_uuid_first(t)) = (comb_uuid_timestamp(id) >= t)
                          AND (id <= comb_uuid_last(t)) = (comb_uuid_timestamp(id) <= t)) AS equal
  FROM (SELECT ('018df9a2-' || lpad(to_hex((random() * 3)::int), 4, '0') || '-7'
                || lpad(to_hex((random() * 4095)::int), 3, '0') || '-'
                || substr(gen_random_uuid()::text, 20))::uuid AS id,
               comb_uuid_timestamp('018df9a2-0000-7000-8000-000000000000')
                 + (random() * 3000)::int * interval '1 us' AS t
          FROM generate_series(1, 20000)) tried;

-- the same from text, in any way that a uuid may be written
SELECT comb_uuid_timestamp_text(id) FROM unnest(ARRAY['017f22e2-79b0-7020-8000-000000000000',
	'{017F22E279B070208000000000000000}']) id;
SELECT count(*) AS tried, count(*) FILTER (WHERE comb_uuid_timestamp_text(id::text) = comb_uuid_timestamp(id)) AS same
  FROM (SELECT comb_uuid_at('2024-03-01 10:30:15.5'::timestamptz + i * interval '7 us') AS id
          FROM generate_series(1, 1000) i) v;
SELECT id, error_of(format('SELECT comb_uuid_timestamp_text(%L)', id))
  FROM unnest(ARRAY['017f22e2-79b0-4cc3-98c4-dc0c0c07398f', '017f22e2', '']) id;
-- the longest that a uuid can be, and longer ones, which are quoted in part
SELECT comb_uuid_timestamp_text('{017f-22e2-79b0-7020-8000-0000-0000-0000}');
SELECT error_of(format('SELECT comb_uuid_timestamp_text(%L)', id))
  FROM unnest(ARRAY['{017f-22e2-79b0-7020-8000-0000-0000-0000}-', repeat('z', 1000000)]) id;
-- an untyped literal is still a uuid to the other one
SELECT comb_uuid_timestamp('017f22e2-79b0-7020-8000-000000000000');

-- what is a COMB
SELECT id, comb_uuid_is_valid(id)
  FROM unnest(ARRAY['017f22e2-79b0-7cc3-98c4-dc0c0c07398f',
                    '017f22e2-79b0-4cc3-98c4-dc0c0c07398f',
                    '017f22e2-79b0-8cc3-98c4-dc0c0c07398f',
                    '017f22e2-79b0-7cc3-78c4-dc0c0c07398f',
                    '017f22e2-79b0-7cc3-c8c4-dc0c0c07398f',
                    '00000000-0000-0000-0000-000000000000',
                    'ffffffff-ffff-ffff-ffff-ffffffffffff']::uuid[]) id;
SELECT count(*) AS random_uuids, count(*) FILTER (WHERE comb_uuid_is_valid(id)) AS valid
  FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 10000)) v;
CREATE TABLE comb_checked (id uuid PRIMARY KEY DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(id)));
INSERT INTO comb_checked DEFAULT VALUES;
INSERT INTO comb_checked VALUES ('017f22e2-79b0-4cc3-98c4-dc0c0c07398f');
DROP TABLE comb_checked;

-- other UUIDs
SELECT error_of($$SELECT comb_uuid_witness('017f22e2-79b0-4cc3-98c4-dc0c0c07398f')$$);
SELECT error_of($$SELECT comb_uuid_timestamp('00000000-0000-0000-0000-000000000000')$$);
-- ahead of the clock by more than seqid.max_lead (t/005_crash.pl has a witness and a crash)
SELECT regexp_replace(error_of($$SELECT comb_uuid_witness(comb_uuid_first('10889-01-01'))$$),
                      'is \d+ ms', 'is ... ms') AS future;

SELECT t, comb_uuid_first(t), comb_uuid_last(t)
  FROM unnest(ARRAY['infinity', '-infinity', '1969-12-31 23:59:59.999999', '1970-01-01 00:00:00',
                    '10889-08-02 05:31:50.655999', '10889-08-02 05:31:50.656', '294276-12-31 23:59:59.999999']::timestamptz[]) t;

--
-- SQL Server's order: byte k goes to the k-th place of 10 11 12 13 14 15, 8 9,
-- 7 6, 5 4, 3 2 1 0
--
SELECT comb_uuid_to_mssql('00010203-0405-0607-0809-0a0b0c0d0e0f') AS to_mssql,
       comb_uuid_from_mssql('0f0e0d0c-0b0a-0908-0607-000102030405') AS from_mssql;
SELECT count(*) AS tried,
       count(*) FILTER (WHERE comb_uuid_from_mssql(comb_uuid_to_mssql(id)) = id
                          AND comb_uuid_to_mssql(comb_uuid_from_mssql(id)) = id) AS equal
  FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 10000)) v;
-- sorting the converted ones as SQL Server does gives the original order
WITH mssql AS (
	SELECT id, uuid_send(comb_uuid_to_mssql(id)) AS b
	  FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 10000)) v
), keyed AS (
	SELECT id, substr(b, 11, 6) || substr(b, 9, 2)
	           || substr(b, 8, 1) || substr(b, 7, 1) || substr(b, 6, 1) || substr(b, 5, 1)
	           || substr(b, 4, 1) || substr(b, 3, 1) || substr(b, 2, 1) || substr(b, 1, 1) AS key
	  FROM mssql
)
SELECT count(*) AS tried, count(*) FILTER (WHERE by_id = by_key) AS same_place
  FROM (SELECT row_number() OVER (ORDER BY id) AS by_id,
               row_number() OVER (ORDER BY key) AS by_key FROM keyed) v;

-- NULL
SELECT comb_uuid_timestamp(NULL) IS NULL AS ts, comb_uuid_timestamp_text(NULL) IS NULL AS text, comb_uuid_first(NULL) IS NULL AS first,
       comb_uuid_last(NULL) IS NULL AS last, comb_uuid_is_valid(NULL) IS NULL AS is_valid,
       comb_uuid_to_mssql(NULL) IS NULL AS to_mssql, comb_uuid_from_mssql(NULL) IS NULL AS from_mssql;

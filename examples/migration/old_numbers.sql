-- Old rows get snowflakes of their own time, in the same column. memos.id is the key, memos.created_at
-- has times of New York without a time zone, and memo_tags.memo_id references the key. New rows have
-- snowflakes already. Run the parts between empty lines one by one, with the names of your tables.
-- Repeat a part that raises "canceling statement due to lock timeout" until it succeeds.

-- 1. A foreign key that follows a change of the key. Keep the other actions of the old one. First
-- run CREATE INDEX CONCURRENTLY if memo_id has no index, because each change of a key searches it.
BEGIN;
SET LOCAL lock_timeout = '200ms';
ALTER TABLE memo_tags DROP CONSTRAINT memo_tags_memo_id_fkey, ADD CONSTRAINT memo_tags_memo_id_fkey
    FOREIGN KEY (memo_id) REFERENCES memos ON UPDATE CASCADE NOT VALID;
COMMIT;

ALTER TABLE memo_tags VALIDATE CONSTRAINT memo_tags_memo_id_fkey;
CREATE TABLE memos_map (old_id bigint PRIMARY KEY, new_id bigint NOT NULL UNIQUE);

-- 2. A new id for each old row, in shard 31, which no server can issue. Rows without a time and rows
-- from before 2023-01-01 00:04:22.144 UTC keep their ids: new ids for them would be below 2^40.
INSERT INTO memos_map
SELECT id, snowflake_backfill(made, 31, after => (SELECT max(new_id) FROM memos_map)) OVER (ORDER BY made, id)
  FROM (SELECT id, created_at AT TIME ZONE 'America/New_York' AS made FROM memos) m
 WHERE id < 1099511627776 AND made >= snowflake_timestamp(1099511627776)
   AND NOT EXISTS (SELECT FROM memos_map WHERE old_id = m.id);
ANALYZE memos_map;

-- 3. The change of the keys. Repeat it and step 2 if programs have taken more numbers from the old
-- sequence. Keep the map to find rows by their old id.
CALL in_batches('memos', 'id = m.new_id', 'm.old_id = t.id', 'memos_map m');

-- 4. A sample finds ids whose times were read in a wrong time zone.
SELECT count(*) > 0 AS sampled,
       bool_and(abs(extract(epoch FROM snowflake_timestamp(id) AT TIME ZONE 'America/New_York' - created_at)) < 60) AS own_time
  FROM memos_map TABLESAMPLE BERNOULLI (10) JOIN memos ON id = new_id;

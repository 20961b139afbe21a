-- A key of type uuid becomes a snowflake, while clients write. notes.id is the key, notes.created_at
-- has times of New York without a time zone, and replies.note_id references the key. Run the parts
-- between empty lines one by one, with the names of your tables. Repeat a part that raises "canceling
-- statement due to lock timeout" until it succeeds. Run all parts as the owner of the tables,
-- not as a superuser, because the owner can change the code that the function of step 4 calls.

-- 1. The new key. One statement adds it and then its default, so that new rows get ids and old rows
-- stay NULL.
BEGIN;
SET LOCAL lock_timeout = '200ms';
ALTER TABLE notes ADD COLUMN new_id bigint, ALTER new_id SET DEFAULT snowflake_nextval(5);
CREATE TABLE notes_map (old_id uuid PRIMARY KEY, new_id bigint NOT NULL UNIQUE);
COMMIT;

-- 2. The old rows, in shard 31, which no server can issue. Ids of rows from before 2023 contain the first
-- milliseconds of 2023.
INSERT INTO notes_map
SELECT id, snowflake_backfill(made, 31, after => (SELECT max(new_id) FROM notes_map)) OVER (ORDER BY made, id)
  FROM (SELECT id, new_id, created_at AT TIME ZONE 'America/New_York' AS made FROM notes) n
 WHERE new_id IS NULL AND NOT EXISTS (SELECT FROM notes_map WHERE old_id = n.id);
ANALYZE notes_map;
CALL in_batches('notes', 'new_id = m.new_id', 't.new_id IS NULL AND m.old_id = t.id', 'notes_map m');

BEGIN;
SET LOCAL lock_timeout = '200ms';
ALTER TABLE notes ADD CONSTRAINT new_id_there CHECK (id IS NOT NULL AND new_id IS NOT NULL) NOT VALID;
COMMIT;

ALTER TABLE notes VALIDATE CONSTRAINT new_id_there;

-- 3. The indexes. CREATE INDEX CONCURRENTLY waits for all transactions that still see rows without a new
-- id, so it must come before the trigger.
CREATE UNIQUE INDEX CONCURRENTLY notes_new_id ON notes (new_id);

CREATE UNIQUE INDEX CONCURRENTLY notes_both ON notes (id, new_id);

-- 4. The referencing table. A trigger looks up the new value for each reference. A foreign key on both
-- columns proves that each reference has the new value of its row, and MATCH FULL that no reference
-- has only one of the two values. Both foreign keys have the actions of the old one.
BEGIN;
SET LOCAL lock_timeout = '200ms';
CREATE FUNCTION replies_new_note_id() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS
    $$ BEGIN NEW.new_note_id := (SELECT new_id FROM notes WHERE id = NEW.note_id); RETURN NEW; END $$;
-- Otherwise, any role could create a trigger that runs code with your privileges.
REVOKE EXECUTE ON FUNCTION replies_new_note_id() FROM PUBLIC;
ALTER TABLE replies ADD COLUMN new_note_id bigint;
CREATE TRIGGER zzz_new_note_id BEFORE INSERT OR UPDATE ON replies
    FOR EACH ROW EXECUTE FUNCTION replies_new_note_id();
ALTER TABLE replies ENABLE ALWAYS TRIGGER zzz_new_note_id,
    ADD CONSTRAINT replies_new_note_id_fkey
        FOREIGN KEY (new_note_id) REFERENCES notes (new_id) ON DELETE CASCADE NOT VALID,
    ADD CONSTRAINT replies_both FOREIGN KEY (note_id, new_note_id) REFERENCES notes (id, new_id)
        MATCH FULL ON DELETE CASCADE NOT VALID;
COMMIT;

CALL in_batches('replies', 'new_note_id = n.new_id', 't.new_note_id IS NULL AND n.id = t.note_id', 'notes n');

CREATE INDEX CONCURRENTLY replies_new_note_id ON replies (new_note_id);

ALTER TABLE replies VALIDATE CONSTRAINT replies_new_note_id_fkey;
ALTER TABLE replies VALIDATE CONSTRAINT replies_both;
ANALYZE notes, replies;

-- 5. The exchange. It reads no rows.
BEGIN;
SET LOCAL lock_timeout = '200ms';
LOCK TABLE notes, replies IN ACCESS EXCLUSIVE MODE;
DROP TRIGGER zzz_new_note_id ON replies;
DROP FUNCTION replies_new_note_id();
ALTER TABLE replies DROP CONSTRAINT replies_note_id_fkey;
DROP INDEX replies_note_id_idx;
ALTER TABLE notes DROP CONSTRAINT notes_pkey;
CALL exchange_column('replies', 'note_id', 'new_note_id');
CALL exchange_column('notes', 'id', 'new_id');
ALTER INDEX notes_new_id RENAME TO notes_pkey;
ALTER TABLE notes ADD CONSTRAINT notes_pkey PRIMARY KEY USING INDEX notes_pkey;
ALTER TABLE replies RENAME CONSTRAINT replies_new_note_id_fkey TO replies_note_id_fkey;
ALTER INDEX replies_new_note_id RENAME TO replies_note_id_idx;
COMMIT;

-- 6. A sample finds ids whose times were read in a wrong time zone.
SELECT count(*) > 0 AS sampled,
       bool_and(abs(extract(epoch FROM snowflake_timestamp(id) AT TIME ZONE 'America/New_York' - created_at)) < 60) AS own_time
  FROM notes_map TABLESAMPLE BERNOULLI (10) JOIN notes ON id = new_id WHERE created_at >= '2023-01-02';

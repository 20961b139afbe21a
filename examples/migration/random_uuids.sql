-- Old rows get COMBs of their own time, in the same column. documents.id is the key,
-- documents.created_at has times of New York without a time zone, and pages.document_id references the
-- key. New rows have COMBs already. Run the parts between empty lines one by one, with the names of
-- your tables. Repeat a part that raises "canceling statement due to lock timeout" until it succeeds.

-- 1. A foreign key that follows a change of the key. Keep the other actions of the old one. First
-- run CREATE INDEX CONCURRENTLY if document_id has no index, because each change of a key searches it.
BEGIN;
SET LOCAL lock_timeout = '200ms';
ALTER TABLE pages DROP CONSTRAINT pages_document_id_fkey, ADD CONSTRAINT pages_document_id_fkey
    FOREIGN KEY (document_id) REFERENCES documents ON UPDATE CASCADE NOT VALID;
COMMIT;

ALTER TABLE pages VALIDATE CONSTRAINT pages_document_id_fkey;
CREATE TABLE documents_map (old_id uuid PRIMARY KEY, new_id uuid NOT NULL UNIQUE);

-- 2. A COMB for each old row, and the change of the keys. Keep the map to find rows by their old id.
INSERT INTO documents_map
SELECT id, comb_uuid_at(created_at AT TIME ZONE 'America/New_York') FROM documents WHERE NOT comb_uuid_is_valid(id)
    ON CONFLICT (old_id) DO NOTHING;
ANALYZE documents_map;
CALL in_batches('documents', 'id = m.new_id', 'm.old_id = t.id', 'documents_map m');

-- 3. No more random UUIDs
BEGIN;
SET LOCAL lock_timeout = '200ms';
ALTER TABLE documents ADD CONSTRAINT documents_id_comb CHECK (comb_uuid_is_valid(id)) NOT VALID;
COMMIT;

ALTER TABLE documents VALIDATE CONSTRAINT documents_id_comb;

-- 4. A sample finds COMBs whose times were read in a wrong time zone.
SELECT count(*) > 0 AS sampled,
       bool_and(abs(extract(epoch FROM comb_uuid_timestamp(id) AT TIME ZONE 'America/New_York' - created_at)) < 60) AS own_time
  FROM documents_map TABLESAMPLE BERNOULLI (10) JOIN documents ON id = new_id;

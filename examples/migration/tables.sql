-- The tables of docs/migration.md and of the other files, to try them on, with this number of rows
\set rows 20000

-- new rows only
CREATE TABLE parcels (id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY 3 START WITH 7) PRIMARY KEY,
    item text);
CREATE TABLE labels (parcel_id int NOT NULL REFERENCES parcels);
INSERT INTO parcels (item) SELECT 'item ' || n FROM generate_series(1, :rows) n;
INSERT INTO labels SELECT id FROM parcels;
CREATE VIEW open_parcels AS SELECT * FROM parcels;
CREATE ROLE clerk;
GRANT INSERT, SELECT ON open_parcels TO clerk;
CREATE TABLE clicks (id bigserial, at timestamptz DEFAULT now(), PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE clicks_old PARTITION OF clicks FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
CREATE TABLE clicks_new PARTITION OF clicks FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);

-- integer_keys.sql
CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL);
CREATE TABLE visits (id bigserial PRIMARY KEY,
    customer_id int NOT NULL REFERENCES customers ON DELETE CASCADE, at timestamptz NOT NULL DEFAULT now());
CREATE INDEX visits_customer_id_idx ON visits (customer_id);
INSERT INTO customers (name) SELECT 'customer ' || n FROM generate_series(1, :rows) n;
INSERT INTO visits (customer_id) SELECT id FROM customers;

-- old_numbers.sql
CREATE TABLE memos (id bigserial PRIMARY KEY, body text,
    created_at timestamp DEFAULT (now() AT TIME ZONE 'America/New_York'));
CREATE TABLE memo_tags (memo_id bigint REFERENCES memos, tag text, PRIMARY KEY (memo_id, tag));
INSERT INTO memos (body, created_at)
    SELECT 'old', timestamp '2024-01-01' + n * interval '1 minute' FROM generate_series(1, :rows) n;
INSERT INTO memo_tags SELECT id, 'draft' FROM memos;
ALTER TABLE memos ALTER id SET DEFAULT snowflake_nextval(5);

-- random_uuids.sql
CREATE TABLE documents (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text,
    created_at timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'America/New_York'));
CREATE TABLE pages (document_id uuid NOT NULL REFERENCES documents, page int,
    PRIMARY KEY (document_id, page));
INSERT INTO documents (title, created_at)
    SELECT 'title ' || n, timestamp '2025-12-31' - n * interval '1 minute' FROM generate_series(1, :rows) n;
INSERT INTO pages SELECT id, 1 FROM documents;

-- uuid_to_bigint.sql
CREATE TABLE notes (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL,
    created_at timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'America/New_York'));
CREATE TABLE replies (id bigserial PRIMARY KEY, note_id uuid REFERENCES notes ON DELETE CASCADE, body text);
CREATE INDEX replies_note_id_idx ON replies (note_id);
INSERT INTO notes (title, created_at)
    SELECT 'note ' || n, timestamp '2024-01-01' + n * interval '1 minute' FROM generate_series(1, :rows) n;
INSERT INTO replies (note_id, body) SELECT id, 'reply' FROM notes;
INSERT INTO replies (body) VALUES ('to no note');

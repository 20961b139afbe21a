-- An integer key becomes a bigint, while clients write. customers.id is the key, and
-- visits.customer_id references it. Run the parts between empty lines one by one, with the names of
-- your tables. Repeat a part that raises "canceling statement due to lock timeout" until it succeeds.

-- 1. New columns, with triggers that fill them. Triggers fire in the order of their names, so that
-- zzz_widen fires after a trigger that changes the key. The constraint proves that old and new values
-- are equal. For a column that can be NULL, write CHECK (new_id IS NOT DISTINCT FROM id).
BEGIN;
SET LOCAL lock_timeout = '200ms';
CREATE FUNCTION widen_customers() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.new_id := NEW.id; RETURN NEW; END $$;
ALTER TABLE customers ADD COLUMN new_id bigint;
CREATE TRIGGER zzz_widen BEFORE INSERT OR UPDATE ON customers
    FOR EACH ROW EXECUTE FUNCTION widen_customers();
ALTER TABLE customers ENABLE ALWAYS TRIGGER zzz_widen,
    ADD CONSTRAINT new_id_same CHECK (new_id IS NOT NULL AND new_id = id) NOT VALID;
COMMIT;

BEGIN;
SET LOCAL lock_timeout = '200ms';
CREATE FUNCTION widen_visits() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.new_customer_id := NEW.customer_id; RETURN NEW; END $$;
ALTER TABLE visits ADD COLUMN new_customer_id bigint;
CREATE TRIGGER zzz_widen BEFORE INSERT OR UPDATE ON visits
    FOR EACH ROW EXECUTE FUNCTION widen_visits();
ALTER TABLE visits ENABLE ALWAYS TRIGGER zzz_widen,
    ADD CONSTRAINT new_customer_id_same
        CHECK (new_customer_id IS NOT NULL AND new_customer_id = customer_id) NOT VALID;
COMMIT;

-- 2. Existing rows
CALL in_batches('customers', 'new_id = id', 'new_id IS NULL');
CALL in_batches('visits', 'new_customer_id = customer_id', 'new_customer_id IS DISTINCT FROM customer_id');

-- 3. An index for each index of the old columns. If the statement fails, drop the index first.
CREATE UNIQUE INDEX CONCURRENTLY customers_new_id ON customers (new_id);

CREATE INDEX CONCURRENTLY visits_new_customer_id ON visits (new_customer_id);

-- 4. The foreign key, with the actions of the old one
BEGIN;
SET LOCAL lock_timeout = '200ms';
ALTER TABLE visits ADD CONSTRAINT visits_new_customer_id_fkey
    FOREIGN KEY (new_customer_id) REFERENCES customers (new_id) ON DELETE CASCADE NOT VALID;
COMMIT;

-- The validation of constraints reads the tables, while clients read and write.
ALTER TABLE customers VALIDATE CONSTRAINT new_id_same;
ALTER TABLE visits VALIDATE CONSTRAINT new_customer_id_same;
ALTER TABLE visits VALIDATE CONSTRAINT visits_new_customer_id_fkey;
ANALYZE customers, visits;

-- 5. The exchange. It reads no rows, because the constraints prove that there are no NULLs.
BEGIN;
SET LOCAL lock_timeout = '200ms';
LOCK TABLE customers, visits IN ACCESS EXCLUSIVE MODE;
DROP TRIGGER zzz_widen ON customers;
DROP TRIGGER zzz_widen ON visits;
DROP FUNCTION widen_customers(), widen_visits();
ALTER TABLE visits DROP CONSTRAINT visits_customer_id_fkey;
DROP INDEX visits_customer_id_idx;
ALTER TABLE customers DROP CONSTRAINT customers_pkey;
ALTER TABLE customers ALTER new_id SET DEFAULT snowflake_nextval(5);
CALL exchange_column('visits', 'customer_id', 'new_customer_id');
CALL exchange_column('customers', 'id', 'new_id');
ALTER TABLE visits RENAME CONSTRAINT visits_new_customer_id_fkey TO visits_customer_id_fkey;
ALTER INDEX visits_new_customer_id RENAME TO visits_customer_id_idx;
ALTER INDEX customers_new_id RENAME TO customers_pkey;
ALTER TABLE customers ADD CONSTRAINT customers_pkey PRIMARY KEY USING INDEX customers_pkey;
COMMIT;

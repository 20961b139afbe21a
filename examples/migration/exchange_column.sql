-- Drops a column, and gives its name to another column of the table, after checks:
--
--     CALL exchange_column('customers', 'id', 'new_id');
--
-- DROP COLUMN silently drops indexes and constraints of the column, and all that is set for it. The
-- procedure raises an error that names what the new column lacks, or if no valid constraint that
-- contains both columns proves the new values. It reads no rows.
CREATE PROCEDURE exchange_column(changed regclass, old_column name, new_column name)
LANGUAGE plpgsql AS $$
DECLARE
    o pg_attribute := (SELECT a FROM pg_attribute a WHERE attrelid = changed AND attname = old_column);
    n pg_attribute := (SELECT a FROM pg_attribute a WHERE attrelid = changed AND attname = new_column);
    problems text;
BEGIN
    SELECT string_agg(problem, ', ') INTO problems FROM (
        -- DROP COLUMN also drops the columns of these tables, with their indexes.
        SELECT format('%s inherits from it', inhrelid::regclass) FROM pg_inherits WHERE inhparent = changed
        UNION ALL
        SELECT format('constraint %s is not valid', conname) FROM pg_constraint
         WHERE conrelid = changed AND conkey @> ARRAY[n.attnum] AND NOT convalidated
        UNION ALL
        SELECT format('no constraint contains both %I and %I', old_column, new_column)
         WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = changed AND conkey @> ARRAY[o.attnum, n.attnum])
        UNION ALL
        SELECT format('index %s is not valid', indexrelid::regclass) FROM pg_index
         WHERE indrelid = changed AND n.attnum = ANY (indkey) AND NOT indisvalid
        UNION ALL
        SELECT 'its index was the replica identity' FROM pg_class
         WHERE oid = changed AND relreplident = 'i' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = changed AND indisreplident)
        UNION ALL
        SELECT format('%s of column %I is missing on %I', what, old_column, new_column) FROM (VALUES
            ('default', (o.atthasdef OR o.attidentity <> '') AND NOT n.atthasdef AND n.attidentity = ''),
            ('comment', col_description(changed, o.attnum) IS DISTINCT FROM col_description(changed, n.attnum)),
            ('statistics target', o.attstattarget IS DISTINCT FROM n.attstattarget),
            ('storage', o.attstorage <> n.attstorage AND o.attstorage <> (SELECT typstorage FROM pg_type WHERE oid = o.atttypid)),
            ('compression', o.attcompression <> n.attcompression),
            ('n_distinct', (SELECT array_agg(option) FROM unnest(o.attoptions) option WHERE option ^@ 'n_distinct')
             IS DISTINCT FROM (SELECT array_agg(option) FROM unnest(n.attoptions) option WHERE option ^@ 'n_distinct')),
            ('privilege', o.attacl::text IS DISTINCT FROM n.attacl::text)) v(what, differs)
         WHERE differs
        UNION ALL
        SELECT pg_describe_object(classid, objid, 0) || ' would be dropped' FROM pg_depend d
         WHERE (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, changed, o.attnum)
           AND deptype = 'a' AND classid <> 'pg_attrdef'::regclass
           AND objid NOT IN (SELECT oid FROM pg_class WHERE relkind = 'S'
                             UNION ALL SELECT oid FROM pg_constraint WHERE contype = 'n')
           AND NOT EXISTS (SELECT FROM pg_depend WHERE (classid, objid) = (d.classid, d.objid)
                             AND (refobjid, refobjsubid) = (changed, n.attnum))) p(problem);
    IF problems IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('column %I of %s cannot be replaced: %s', old_column, changed, problems);
    END IF;
    IF o.attnotnull THEN
        EXECUTE format('ALTER TABLE %s ALTER %I SET NOT NULL', changed, new_column);
    END IF;
    EXECUTE format('ALTER TABLE %s DROP COLUMN %I', changed, old_column);
    EXECUTE format('ALTER TABLE %s RENAME %I TO %I', changed, new_column, old_column);
END
$$;

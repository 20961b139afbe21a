-- Before the default of a key changes: a row for each obstacle, with the command that removes it.
--
--     psql -v table=orders -v key=id -v generator=snowflake -f check.sql
--
-- The generator is snowflake, snowflake53 or comb_uuid. Run the query as the owner of the table, not
-- as a superuser: a query can call functions that the owner has put into indexes and policies.
-- The query only reads, and does not evaluate constraints. It lists those that it does not know to
-- be harmless, so read the condition before you drop one.
\set next :generator _first(now())

WITH RECURSIVE
next(key) AS (SELECT :next),
highest(key) AS (SELECT :"key" FROM :table WHERE :"key" IS NOT NULL ORDER BY 1 DESC LIMIT 1),
-- The table, its partitions and its children, and the column in each of them.
tree(relation, attnum) AS (
    SELECT attrelid, attnum FROM pg_attribute WHERE attrelid = :'table'::regclass AND attname = :'key'
    UNION SELECT inhrelid, a.attnum
      FROM tree JOIN pg_inherits ON inhparent = relation JOIN pg_attribute a ON attrelid = inhrelid AND attname = :'key'),
-- Also the columns that reference it, directly or through another key.
keys(relation, attnum) AS (
    TABLE tree
    UNION SELECT conrelid, conkey[i]
      FROM keys JOIN pg_constraint ON confrelid = relation AND contype = 'f', generate_subscripts(confkey, 1) i
     WHERE confkey[i] = attnum),
-- Their types, and the types under a domain.
types(relation, attnum, attname, type) AS (
    SELECT attrelid, attnum, attname, atttypid
      FROM keys NATURAL JOIN (SELECT *, attrelid AS relation FROM pg_attribute) a WHERE attinhcount = 0
    UNION SELECT relation, attnum, attname, typbasetype FROM types JOIN pg_type ON oid = type WHERE typtype = 'd'),
sequences(sequence, name) AS (
    SELECT s.oid, relname
      FROM tree LEFT JOIN pg_attrdef f ON (adrelid, adnum) = (relation, attnum)
      JOIN pg_depend d ON (classid, objid, refclassid) = ('pg_attrdef'::regclass, f.oid, 'pg_class'::regclass)
           OR (classid, refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, 'pg_class'::regclass, relation, attnum)
      JOIN pg_class s ON relkind = 'S' AND s.oid = CASE classid WHEN 'pg_class'::regclass THEN objid ELSE refobjid END),
-- The table and the views on it, and the roles that insert into them. Role 0 is PUBLIC.
entrances(relation) AS (
    SELECT relation FROM tree
    UNION SELECT ev_class
      FROM entrances JOIN pg_depend ON (classid, refclassid, refobjid) = ('pg_rewrite'::regclass, 'pg_class'::regclass, relation)
      JOIN pg_rewrite r ON r.oid = objid),
writers(relation, role) AS (
    SELECT relation, relowner FROM entrances JOIN pg_class ON oid = relation
    UNION SELECT relation, grantee
      FROM entrances, LATERAL (SELECT relacl FROM pg_class WHERE oid = relation
                               UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = relation) a(acl), aclexplode(acl)
     WHERE privilege_type = 'INSERT'
    UNION SELECT relation, member FROM tree, pg_auth_members WHERE roleid = 'pg_write_all_data'::regrole),
obstacles(obstacle, remedy) AS (
    SELECT format('column %I of %s is too narrow', attname, relation::regclass),
           format('ALTER TABLE %s ALTER %I TYPE bigint', relation::regclass, attname)
      FROM types WHERE type = ANY ('{integer,smallint}'::regtype[])
    UNION
    SELECT format('trigger %I can set the key', tgname), format('DROP TRIGGER %I ON %s', tgname, relation::regclass)
      FROM tree JOIN pg_trigger ON tgrelid = relation JOIN pg_proc p ON p.oid = tgfoid,
           concat_ws(' ', prosrc, replace(encode(tgargs, 'escape'), '\000', ' ')) code
     -- BEFORE INSERT FOR EACH ROW
     WHERE tgtype & 7 = 7 AND NOT tgisinternal AND tgparentid = 0 AND tgenabled <> 'D'
       AND (lower(:'key') = ANY (regexp_split_to_array(lower(code), '\W+'))
            OR :'key' ~ '\W' AND strpos(code, quote_ident(:'key')) > 0 OR code ~* '\mnew\M\s*[:#]?=')
    UNION
    SELECT format('sequence %I is also used by %s', name, pg_describe_object(classid, objid, 0)),
           CASE classid
           WHEN 'pg_attrdef'::regclass THEN format('ALTER TABLE %s ALTER %I SET DEFAULT %s%s()', adrelid::regclass, attname,
                                                   :'generator', CASE WHEN :'generator' LIKE 'snow%' THEN '_nextval' END)
           WHEN 'pg_proc'::regclass THEN '\ef ' || objid::regprocedure
           WHEN 'pg_rewrite'::regclass THEN (SELECT '\ev ' || ev_class::regclass FROM pg_rewrite w WHERE w.oid = objid)
           WHEN 'pg_policy'::regclass THEN (SELECT format('ALTER POLICY %I ON %s USING (...)', polname, polrelid::regclass) FROM pg_policy y WHERE y.oid = objid)
           ELSE 'DROP ' || pg_describe_object(classid, objid, 0) END
      FROM sequences JOIN pg_depend ON (refclassid, refobjid, deptype) = ('pg_class'::regclass, sequence, 'n')
      LEFT JOIN pg_attrdef f ON (classid, objid) = ('pg_attrdef'::regclass, f.oid)
      LEFT JOIN pg_attribute ON (attrelid, attnum) = (adrelid, adnum)
     WHERE (adrelid, adnum) IS NULL OR (adrelid, adnum) NOT IN (TABLE tree)
    UNION
    SELECT format('sequence %I is also used by function %s', name, oid::regprocedure), '\ef ' || oid::regprocedure
      FROM sequences JOIN pg_proc ON strpos(lower(prosrc), lower(name)) > 0
    UNION
    SELECT format('role %s inserts into %s but cannot execute %s', writer, pg_describe_object('pg_class'::regclass, relation, 0), p.oid::regprocedure),
           format('GRANT EXECUTE ON FUNCTION %s TO %s', p.oid::regprocedure, writer)
      FROM writers JOIN pg_proc p ON proname IN (:'generator', :'generator' || '_nextval')
      JOIN pg_depend ON (classid, objid, deptype) = ('pg_proc'::regclass, p.oid, 'e'),
           coalesce(nullif(role::regrole::text, '-'), 'PUBLIC') writer
     WHERE NOT has_function_privilege(role, p.oid, 'EXECUTE')
    UNION
    SELECT format('constraint %I can refuse new keys: %s', conname, pg_get_constraintdef(oid)),
           CASE contypid WHEN 0 THEN format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)
           ELSE format('ALTER DOMAIN %s DROP CONSTRAINT %I', contypid::regtype, conname) END
      FROM pg_constraint
     WHERE coninhcount = 0 AND conparentid = 0
       AND CASE contype
           WHEN 'f' THEN EXISTS (SELECT FROM tree WHERE relation = conrelid AND attnum = ANY (conkey))
           WHEN 'c' THEN (contypid IN (SELECT type FROM types)
                          OR EXISTS (SELECT FROM keys WHERE relation = conrelid AND attnum = ANY (conkey)))
                -- new keys have more digits than this
                AND pg_get_constraintdef(oid) !~ '^CHECK \(\([\w"]+ (IS NOT NULL|>=? ''?-?\d{1,14}''?(::\w+)?)\)\)' END
    UNION
    -- A range or a list of another column decides alone, because keys do not repeat.
    SELECT format('table %s has no partition for new keys', relation::regclass),
           format('CREATE TABLE %s.%I PARTITION OF %s DEFAULT', relnamespace::regnamespace, relname || '_default', relation::regclass)
      FROM keys JOIN pg_partitioned_table ON partrelid = relation AND partstrat <> 'h' JOIN pg_class c ON c.oid = relation
     WHERE (partattrs[0] = attnum OR partattrs[0] = 0 AND EXISTS (   -- an expression of the column
               SELECT FROM pg_depend WHERE (classid, objid, objsubid) = ('pg_class'::regclass, relation, attnum) AND deptype = 'i'))
       AND NOT EXISTS (
           SELECT FROM next, pg_inherits JOIN pg_class p ON p.oid = inhrelid, pg_get_expr(relpartbound, p.oid) bound,
                  regexp_match(bound, 'FROM \(''?([^'',)]+).*\) TO \(''?([^'',)]+)') ends, lpad(next.key::text, 36, '0') new
            WHERE inhparent = relation AND (bound = 'DEFAULT' OR partattrs[0] = attnum
                  -- padded with zeros, numbers sort as text
                  AND (ends[1] = 'MINVALUE' OR lpad(ends[1], 36, '0') <= new COLLATE "C")
                  AND (ends[2] = 'MAXVALUE' OR lpad(ends[2], 36, '0') > new COLLATE "C")))
    UNION
    -- Only UUIDs of version 7 count, because random ones do not repeat either.
    SELECT format('key %s is above new keys', highest.key), format('SELECT * FROM %s WHERE %I >= %L', :'table', :'key', next.key)
      FROM highest, next
     WHERE highest.key >= next.key AND (pg_typeof(highest.key) <> 'uuid'::regtype OR substr(highest.key::text, 15, 1) = '7')
    UNION
    SELECT 'row security can hide the highest key', format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', :'table')
     WHERE row_security_active(:'table'))
TABLE obstacles ORDER BY obstacle;

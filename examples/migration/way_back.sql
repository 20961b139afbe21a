-- Prints the statements that restore the default or the identity that a column has now. Run it
-- before the change, and keep what it prints:
--
--     psql -v table=orders -v key=id -f way_back.sql > way_back_of_orders.sql
--
-- The sequence then continues above the highest key and, unless its MAXVALUE is lower, above all
-- snowflakes of the database, because a reader's position can be above all rows. For snowflake53s, add
-- -v generator=snowflake53. The sequence counts in steps of its INCREMENT, so that servers with different
-- steps generate different keys.
\if :{?generator}
\else
\set generator snowflake
\endif
SELECT concat_ws(E'\n', 'BEGIN;', 'SET LOCAL lock_timeout = ''200ms'';',
           -- lock_timeout limits the wait for each partition, and statement_timeout that for all of them.
           CASE relkind WHEN 'p' THEN 'SET LOCAL statement_timeout = ''500ms'';' END,
           format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation),
           CASE relkind WHEN 'p' THEN 'SET LOCAL statement_timeout = 0;' END,
           CASE attidentity WHEN '' THEN format('ALTER TABLE %s ALTER %I %s;', relation, attname,
                                            coalesce('SET DEFAULT ' || pg_get_expr(adbin, adrelid), 'DROP DEFAULT'))
           ELSE concat(format('ALTER TABLE %s ALTER %I DROP DEFAULT;', relation, attname),
               format(E'\nALTER TABLE %s ALTER %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s', relation, attname,
                      CASE attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, sequence),
               format(E'\n    START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s%s);', seqstart, seqincrement,
                      seqmin, seqmax, seqcache, CASE WHEN seqcycle THEN ' CYCLE' END)) END,
           (SELECT string_agg(format('GRANT %s ON SEQUENCE %s TO %s;', privilege_type, sequence,
                                     coalesce(nullif(grantee::regrole::text, '-'), 'PUBLIC')), E'\n')
              FROM pg_class c, aclexplode(relacl) WHERE c.oid = sequence AND attidentity <> '' AND grantee <> relowner),
           -- No session must call nextval() between the reading of last_value and setval().
           CASE WHEN seqincrement > 0 AND attidentity = '' THEN format('ALTER SEQUENCE %s CACHE %s;', sequence, seqcache) END,
           CASE WHEN seqincrement > 0 THEN format('SELECT setval(%L, greatest(%s, %s)) FROM %s;', sequence,
               -- a serial can count on until the change; the sequence of an identity is dropped
               CASE attidentity WHEN '' THEN format('(SELECT last_value FROM %s)', sequence) ELSE coalesce(last::text, 'NULL') END,
               CASE seqincrement WHEN 1 THEN highest
               ELSE format('%1$s + (%2$s - %1$s + %3$s) / %4$s * %4$s', first, highest, seqincrement - 1, seqincrement) END,
               -- the sequence cannot reach higher keys, and continues below them
               concat(relation, CASE WHEN NOT unlimited THEN format(' WHERE %I <= %s', attname, seqmax) END))
           -- a descending sequence continues below the lowest key, and that of a serial is already there
           WHEN attidentity <> '' THEN format('SELECT setval(%L, least(%s, min(%I))) FROM %s WHERE %3$I BETWEEN %5$s AND %6$s;',
               sequence, coalesce(last::text, 'NULL'), attname, relation, seqmin, seqmax) END,
           'COMMIT;')
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
  -- the column need not own the sequence of its default
  LEFT JOIN pg_sequence ON seqrelid = coalesce((
      SELECT min(refobjid) FROM pg_depend JOIN pg_class s ON s.oid = refobjid AND s.relkind = 'S'
       WHERE (classid, objid, refclassid) = ('pg_attrdef'::regclass, pg_attrdef.oid, 'pg_class'::regclass)
         AND pg_get_expr(adbin, adrelid) ~ '^\W*nextval\('),
      pg_get_serial_sequence(:'table', :'key')::regclass),
       CAST(attrelid AS regclass) relation, CAST(seqrelid AS regclass) sequence,
       pg_sequence_last_value(seqrelid) last, coalesce(last, seqstart - seqincrement) first,
       CAST(seqmax = 9223372036854775807 AS boolean) unlimited,
       format(CASE WHEN unlimited THEN 'greatest(max(%I), (SELECT %s_last(clock_mark) FROM seqid.stat_database))'
              ELSE 'max(%I)' END, attname, CASE :'generator' WHEN 'snowflake53' THEN 'snowflake53' ELSE 'snowflake' END) highest
 WHERE attrelid = :'table'::regclass AND attname = :'key'
\g (format=unaligned tuples_only=on)

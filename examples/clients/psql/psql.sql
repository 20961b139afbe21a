-- psql.sql: psql. A variable is text, and so it is whole.
\set ON_ERROR_STOP on
\pset tuples_only on
\pset format unaligned
CREATE FUNCTION pg_temp.same(what text, seen text, expected text) RETURNS text
LANGUAGE sql AS $$
	SELECT CASE WHEN seen IS NOT DISTINCT FROM expected THEN 'ok ' || what
		ELSE format('not ok %s: %s, not %s', what, seen, expected) END
$$;

CREATE TABLE orders (
    id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
    item text NOT NULL
);
INSERT INTO orders (item) VALUES ('apples') RETURNING id \gset
SELECT pg_temp.same('\gset keeps the id', :'id', (SELECT id::text FROM orders));
SELECT pg_temp.same('also as a number', (SELECT item FROM orders WHERE id = :id), 'apples');

INSERT INTO orders (item) VALUES ('pears'), ('plums'), ('figs');
SELECT pg_temp.same('the page after it', string_agg(item, ',' ORDER BY id), 'pears,plums')
  FROM (SELECT * FROM orders WHERE id > :id ORDER BY id LIMIT 2) page;

INSERT INTO orders VALUES (154173452582932603, 'an old one');
SELECT pg_temp.same('found by a range of time', string_agg(id::text, ','), '154173452582932603')
  FROM orders
 WHERE id >= snowflake_first('2024-03-01 00:00+00') AND id < snowflake_first('2024-03-02 00:00+00');

-- COPY takes the default for a column that it does not name.
\copy orders (item) FROM STDIN
lemons
limes
\.
SELECT pg_temp.same('COPY draws keys in the order of its rows', string_agg(item, ',' ORDER BY id), 'lemons,limes')
  FROM orders WHERE item IN ('lemons', 'limes');

-- A file with keys of another server, or older ones: their columns are named.
\copy orders (id, item) FROM STDIN
154173452582932604	another old one
\.
SELECT pg_temp.same('COPY takes keys that are given', item, 'another old one') FROM orders WHERE id = 154173452582932604;

-- JSON for JavaScript: the digits as a string
SELECT pg_temp.same('id::text, for JSON', json_build_object('id', id::text)::text, '{"id" : "154173452582932603"}')
  FROM orders WHERE item = 'an old one';
SELECT pg_temp.same('what a double makes of it', id::float8::numeric::text, '154173452582933000')
  FROM orders WHERE item = 'an old one';

-- done wrong: there is no sequence
\set ON_ERROR_STOP off
\o /dev/null
SELECT lastval();
\o
\set lastval :LAST_ERROR_SQLSTATE
\set ON_ERROR_STOP on
SELECT pg_temp.same('lastval() knows no snowflake', :'lastval', '55000');
SELECT snowflake_nextval(5) AS drawn \gset
SELECT pg_temp.same('snowflake_currval() does', snowflake_currval()::text, :'drawn');
SELECT 'end';

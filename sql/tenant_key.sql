--
-- Packed ids: tenant 22 bits, entity 40 bits
--
-- and in between
\pset format unaligned
\pset tuples_only on
SELECT count(*) AS tried,
       count(*) FILTER (WHERE tenant_key_tenant(tenant_key_pack(c, e)) = c
                          AND tenant_key_entity(tenant_key_pack(c, e)) = e) AS equal
  FROM (SELECT (random() * 4194303)::bigint AS c, (random() * 1099511627775)::bigint AS e
          FROM generate_series(1, 10000)) v;

-- with a sequence
CREATE SEQUENCE entity_seq;
SELECT tenant_key_tenant(id) AS tenant, tenant_key_entity(id) AS entity
  FROM (SELECT tenant_key_nextval(n, 'entity_seq') AS id FROM generate_series(7, 9) n) v;
-- a bad tenant takes no entity
SELECT error_of($$SELECT tenant_key_nextval(4194304, 'entity_seq')$$);
SELECT last_value FROM entity_seq;
SELECT setval('entity_seq', 1099511627775);
SELECT error_of($$SELECT tenant_key_nextval(1, 'entity_seq')$$);
SELECT left(error_of($$SELECT tenant_key_nextval(1, 'pg_class')$$), 5) AS no_sequence;
DROP SEQUENCE entity_seq;

SELECT error_of('SELECT tenant_key_pack(-1, 0)');
SELECT error_of('SELECT tenant_key_pack(4194304, 0)');
SELECT error_of('SELECT tenant_key_pack(0, -1)');
SELECT error_of('SELECT tenant_key_pack(0, 1099511627776)');
SELECT error_of('SELECT tenant_key_tenant(-1)');
SELECT error_of('SELECT tenant_key_entity(4611686018427387904)');
SELECT tenant_key_pack(NULL, 1) IS NULL AS p1, tenant_key_pack(1, NULL) IS NULL AS p2,
       tenant_key_tenant(NULL) IS NULL AS c, tenant_key_entity(NULL) IS NULL AS e,
       tenant_key_nextval(NULL, 'pg_class') IS NULL AS n1, tenant_key_nextval(1, NULL) IS NULL AS n2;

--
-- Recipe: a table sharded by tenant, partitioned by the key itself
--
CREATE SEQUENCE invoice_seq;
CREATE TABLE invoices (
	id bigint PRIMARY KEY,
	total numeric NOT NULL
) PARTITION BY RANGE (id);
-- a shard for every 1000 tenants
CREATE TABLE invoices_0 PARTITION OF invoices
	FOR VALUES FROM (tenant_key_pack(0, 0)) TO (tenant_key_pack(1000, 0));
CREATE TABLE invoices_1 PARTITION OF invoices
	FOR VALUES FROM (tenant_key_pack(1000, 0)) TO (tenant_key_pack(2000, 0));
INSERT INTO invoices VALUES (tenant_key_nextval(7, 'invoice_seq'), 10),
	(tenant_key_nextval(1234, 'invoice_seq'), 20), (tenant_key_nextval(1234, 'invoice_seq'), 30);
SELECT tableoid::regclass AS shard, tenant_key_tenant(id) AS tenant, tenant_key_entity(id) AS invoice, total
  FROM invoices ORDER BY id;
-- all invoices of a tenant are a range of the key: one partition, by its index
EXPLAIN (COSTS OFF)
SELECT * FROM invoices
 WHERE id BETWEEN tenant_key_pack(1234, 0) AND tenant_key_pack(1234, 1099511627775);
SELECT sum(total) FROM invoices
 WHERE id BETWEEN tenant_key_pack(1234, 0) AND tenant_key_pack(1234, 1099511627775);
DROP TABLE invoices;
DROP SEQUENCE invoice_seq;

// What programs make of a bigint that JavaScript would round: PostGraphile and wal2json.
import graphql from 'graphql';
import pg from 'pg';
import postgraphile from 'postgraphile';
import { check, url } from './check.mjs';

const pool = new pg.Pool({ connectionString: url('postgres') });
await pool.query(`
  CREATE EXTENSION seqid;
  CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), id_text text GENERATED ALWAYS AS (id::text) STORED);
  CREATE FUNCTION order_time(id bigint) RETURNS timestamptz STABLE RETURN snowflake_timestamp(id);`);
await pool.query("SELECT pg_create_logical_replication_slot('json', 'wal2json')");
await pool.query('INSERT INTO orders VALUES (154173452582932603)');

const schema = await postgraphile.createPostGraphileSchema(pool, ['public']);
const text = graphql.printSchema(schema);
check('postgraphile: shows no function of the extension', !/snowflake/i.test(text), text);
check('postgraphile: shows a function that calls one', text.includes('orderTime(id: BigInt): Datetime'));
const { data } = await postgraphile.withPostGraphileContext({ pgPool: pool }, (context) =>
  graphql.graphql(schema, '{ allOrders { nodes { id } } orderTime(id: "154173452582932603") }', null, context));
check('postgraphile: returns an id as an exact string', data.allOrders.nodes[0].id === '154173452582932603', data);

const { rows } = await pool.query(
  "SELECT data FROM pg_logical_slot_get_changes('json', NULL, NULL, 'format-version', '2', 'include-transaction', 'false')");
const values = JSON.parse(rows[0].data).columns.map((column) => String(column.value));
check('wal2json: a number is rounded, and not a text', values.join(' ') === '154173452582932600 154173452582932603', rows[0].data);
await pool.end();
console.log('end');

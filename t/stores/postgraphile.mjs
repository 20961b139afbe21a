// PostGraphile: what its schema has of seqid.
import graphql from 'graphql';
import pg from 'pg';
import postgraphile from 'postgraphile';
import { check, url } from './check.mjs';

const pool = new pg.Pool({ connectionString: url('postgres', process.env.PGUSER) });
await pool.query(`
  CREATE EXTENSION seqid;
  CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text NOT NULL);
  CREATE FUNCTION order_time(id bigint) RETURNS timestamptz STABLE RETURN snowflake_timestamp(id);
  INSERT INTO orders VALUES (154173452582932603, 'apples');`);
const schema = await postgraphile.createPostGraphileSchema(pool, ['public']);
const text = graphql.printSchema(schema);

check('postgraphile: shows no function of the extension', !/snowflake/i.test(text), text);
check('postgraphile: shows a function that calls one', text.includes('orderTime(id: BigInt): Datetime'));
const { data } = await postgraphile.withPostGraphileContext({ pgPool: pool }, (context) =>
  graphql.graphql(schema, '{ allOrders { nodes { id } } orderTime(id: "154173452582932603") }', null, context));
check('postgraphile: returns an id as an exact string', data.allOrders.nodes[0].id === '154173452582932603', data);
await pool.end();
console.log('end');

// postgres_js.mjs: postgres.js, the package "postgres". Ids are strings.
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import postgres from 'postgres';

const sql = postgres();                     // PGHOST, PGDATABASE and so on say where

const create = () => sql`CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text NOT NULL)`;
const columns = async () => JSON.stringify(await sql`
  SELECT column_name, data_type, column_default FROM information_schema.columns WHERE table_name = 'orders'`);
await create();
const made = await columns();
await create();
same('a second run changes nothing', await columns(), made);

const [order] = await sql`INSERT INTO orders (item) VALUES ('apples') RETURNING id`;
const many = await sql`INSERT INTO orders ${sql([{ item: 'pears' }, { item: 'plums' }, { item: 'figs' }])} RETURNING id, item`;
const [found] = await sql`SELECT * FROM orders WHERE id = ${order.id}`;
const page = await sql`SELECT * FROM orders WHERE id > ${order.id} ORDER BY id LIMIT 2`;

check('an id is a string of digits', /^\d{18,19}$/.test(order.id), order.id);
same('many ids come back', many.map((row) => row.item).join(), 'pears,plums,figs');
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');

await sql`INSERT INTO orders VALUES (${OLD}, 'an old one')`;
const range = await sql`SELECT * FROM orders WHERE id >= ${firstId(MARCH_1)} AND id < ${firstId(MARCH_2)}`;
same('found by a range of time, whole', range.map((row) => row.id).join(), OLD);
same('through JSON whole', JSON.parse(JSON.stringify(range[0])).id, OLD);

// as BigInt
const exact = postgres({ types: { bigint: postgres.BigInt } });
const [{ id }] = await exact`SELECT id FROM orders WHERE id = ${BigInt(OLD)}`;
same('with postgres.BigInt, an id is a BigInt', id, BigInt(OLD));

// done wrong
const missed = await sql`SELECT * FROM orders WHERE id = ${Number(OLD)}`;
same('asked with a number, the row is not found', missed.length, 0);

await sql.end();
await exact.end();
end();

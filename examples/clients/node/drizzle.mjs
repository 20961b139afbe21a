// drizzle.mjs: Drizzle, and drizzle-kit. mode: 'bigint', never 'number'.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import { drizzle } from 'drizzle-orm/node-postgres';
import { and, asc, eq, gt, gte, lt } from 'drizzle-orm';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { orders } from './drizzle_schema.mjs';

const pool = new pg.Pool();                 // PGHOST, PGDATABASE and so on say where
const db = drizzle(pool);

const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env;
const url = `--url=postgresql://${PGUSER}:${PGPASSWORD}@${PGHOST}:${PGPORT}/${PGDATABASE}`;
const kit = (...command) => String(execFileSync('node_modules/.bin/drizzle-kit', [...command, '--dialect=postgresql']));

const push = () => kit('push', url, '--force', '--verbose', '--schema=drizzle_schema.mjs');
const pushed = push();
same('drizzle-kit makes the table only', pushed.match(/(CREATE|ALTER|DROP) .*/g)?.join(), 'CREATE TABLE "orders" (');
const again = push();
check('a second push finds nothing to do', again.includes('No changes detected'), again);
const generate = () => kit('generate', '--schema=drizzle_schema.mjs', '--out=generated/drizzle/migrations');
const migration = generate();
check('drizzle-kit writes a migration', migration.includes('Your SQL migration file'), migration);
const nothing = generate();
check('a second one would be empty', nothing.includes('No schema changes'), nothing);

const [order] = await db.insert(orders).values({ item: 'apples' }).returning();
const many = await db.insert(orders)
  .values([{ item: 'pears' }, { item: 'plums' }, { item: 'figs' }]).returning();
const [found] = await db.select().from(orders).where(eq(orders.id, order.id));
const page = await db.select().from(orders)
  .where(gt(orders.id, order.id)).orderBy(asc(orders.id)).limit(2);

same('an id is a BigInt', typeof order.id, 'bigint');
same('many ids come back', many.map((row) => row.item).join(), 'pears,plums,figs');
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');

await db.insert(orders).values({ id: BigInt(OLD), item: 'an old one' });
const range = await db.select().from(orders)
  .where(and(gte(orders.id, firstId(MARCH_1)), lt(orders.id, firstId(MARCH_2))));
same('found by a range of time, whole', range.map((row) => String(row.id)).join(), OLD);

// JSON
let thrown;
try { JSON.stringify(range[0]); } catch (error) { thrown = error; }
check('JSON.stringify refuses a BigInt', thrown instanceof TypeError, thrown);
same('a replacer writes strings', JSON.stringify(range[0], (key, value) => typeof value === 'bigint' ? String(value) : value),
  `{"id":"${OLD}","item":"an old one"}`);

// done wrong
kit('pull', url, '--out=generated/drizzle');
const pulled = readFileSync('generated/drizzle/schema.ts', 'utf8');
check('drizzle-kit pull writes mode: "number"', pulled.includes('id: bigint({ mode: "number" })'), pulled);
const rounded = pgTable('orders', { id: bigint('id', { mode: 'number' }).primaryKey(), item: text('item') });
const [lost] = await db.select().from(rounded).where(eq(rounded.item, 'an old one'));
check('mode: \'number\' loses digits', typeof lost.id === 'number' && String(lost.id) !== OLD, lost.id);
const updated = await db.update(rounded).set({ item: 'changed' }).where(eq(rounded.id, lost.id)).returning();
same('and what is written back finds no row', updated.length, 0);
await db.insert(orders).values({ id: BigInt(OLD) - 1n, item: 'its neighbour' });
const [neighbour] = await db.select().from(rounded).where(eq(rounded.item, 'its neighbour'));
same('and neighbours become one', neighbour.id, lost.id);

await pool.end();
end();

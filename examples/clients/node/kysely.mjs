// kysely.mjs: Kysely, and kysely-codegen. Ids are strings, as the driver's are.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });   // PGHOST and so on say where

await db.schema.createTable('orders')
  .addColumn('id', 'bigint', (column) => column.primaryKey().defaultTo(sql`snowflake_nextval(5)`))
  .addColumn('item', 'text', (column) => column.notNull())
  .execute();
const order = await db.insertInto('orders').values({ item: 'apples' }).returning('id').executeTakeFirst();
const many = await db.insertInto('orders')
  .values([{ item: 'pears' }, { item: 'plums' }, { item: 'figs' }]).returning(['id', 'item']).execute();
const found = await db.selectFrom('orders').selectAll().where('id', '=', order.id).executeTakeFirst();
const page = await db.selectFrom('orders').selectAll().where('id', '>', order.id).orderBy('id').limit(2).execute();

check('an id is a string of digits', /^\d{18,19}$/.test(order.id), order.id);
same('many ids come back', many.map((row) => row.item).join(), 'pears,plums,figs');
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');

await db.insertInto('orders').values({ id: OLD, item: 'an old one' }).execute();
const range = await db.selectFrom('orders').selectAll()
  .where('id', '>=', firstId(MARCH_1)).where('id', '<', firstId(MARCH_2)).execute();
same('found by a range of time, whole', range.map((row) => row.id).join(), OLD);
same('through JSON whole', JSON.parse(JSON.stringify(range[0])).id, OLD);

// kysely-codegen, twice; the second finds no difference
const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env;
const codegen = (...options) => execFileSync('node_modules/.bin/kysely-codegen', ['--dialect=postgres', '--out-file=generated/kysely.ts',
  `--url=postgresql://${PGUSER}:${PGPASSWORD}@${PGHOST}:${PGPORT}/${PGDATABASE}`, ...options], { stdio: 'pipe' });
codegen('--exclude-pattern=seqid.*');
const types = readFileSync('generated/kysely.ts', 'utf8');
same('kysely-codegen finds the table only', types.match(/interface DB \{([^}]*)\}/)[1].trim(), 'orders: Orders;');
check('and reads ids as strings', /Int8 = ColumnType<string,/.test(types) && types.includes('id: Generated<Int8>;'), types);
codegen('--exclude-pattern=seqid.*', '--verify');

// done wrong
codegen();
check('without the pattern it also describes seqid', readFileSync('generated/kysely.ts', 'utf8').includes('"seqid.'));

await db.destroy();
end();

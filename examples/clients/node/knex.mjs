// knex.mjs: Knex. Ids are strings, as the driver's are.
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import knex from 'knex';

const db = knex({ client: 'pg', connection: {} });   // PGHOST, PGDATABASE and so on say where

const up = (db) => db.schema.createTable('orders', (table) => {
  table.bigInteger('id').primary().defaultTo(db.raw('snowflake_nextval(5)'));
  table.text('item').notNullable();
});
const migrationSource = {
  getMigrations: async () => ['orders'],
  getMigrationName: (name) => name,
  getMigration: async () => ({ up, down: (db) => db.schema.dropTable('orders') }),
};
const migrate = async () => (await db.migrate.latest({ migrationSource }))[1].join();
same('a migration makes the table', await migrate(), 'orders');
same('a second run finds nothing to do', await migrate(), '');

const [order] = await db('orders').insert({ item: 'apples' }).returning('id');
const many = await db('orders')
  .insert([{ item: 'pears' }, { item: 'plums' }, { item: 'figs' }]).returning(['id', 'item']);
const found = await db('orders').where('id', order.id).first();
const page = await db('orders').where('id', '>', order.id).orderBy('id').limit(2);

check('an id is a string of digits', /^\d{18,19}$/.test(order.id), order.id);
same('many ids come back', many.map((row) => row.item).join(), 'pears,plums,figs');
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');

await db('orders').insert({ id: OLD, item: 'an old one' });
const range = await db('orders').where('id', '>=', firstId(MARCH_1)).where('id', '<', firstId(MARCH_2));
same('found by a range of time, whole', range.map((row) => row.id).join(), OLD);
const server = await db('orders').whereRaw('id >= snowflake_first(?) AND id < snowflake_first(?)', [MARCH_1, MARCH_2]);
same('also by the server\'s functions', server.map((row) => row.id).join(), OLD);
same('through JSON whole', JSON.parse(JSON.stringify(range[0])).id, OLD);

// An alter() without defaultTo() drops the default.
const alter = async (column) => db.schema.alterTable('orders', (table) => column(table).alter({ alterNullable: false }));
const insert = () => db('orders').insert({ item: 'a new one' }).then(() => 'inserted', (error) => error.code);
await alter((table) => table.bigInteger('id'));
same('alter() without defaultTo() drops the default', await insert(), '23502');
await alter((table) => table.bigInteger('id').defaultTo(db.raw('snowflake_nextval(5)')));
same('alter() with defaultTo() sets it', await insert(), 'inserted');

// done wrong
const missed = await db('orders').where('id', Number(OLD)).first();
same('asked with a number, the row is not found', missed, undefined);

await db.destroy();
end();

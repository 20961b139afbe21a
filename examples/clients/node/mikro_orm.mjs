// mikro_orm.mjs: MikroORM. Its generator of schemas leaves the schema seqid alone.
import { same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';

const Order = new EntitySchema({
  name: 'Order', tableName: 'orders',
  properties: {
    id: { type: 'bigint', primary: true, autoincrement: false, defaultRaw: 'snowflake_nextblock((1)::bigint)' },
    item: { type: 'text' },
  },
});
const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env;
const options = {
  host: PGHOST, port: PGPORT, dbName: PGDATABASE, user: PGUSER, password: PGPASSWORD, entities: [Order],
};
const orm = await MikroORM.init(options);
await orm.schema.updateSchema();
const db = orm.em.fork();

const order = db.create(Order, { item: 'apples' });
const many = ['pears', 'plums', 'figs'].map((item) => db.create(Order, { item }));
await db.flush();
const found = await orm.em.fork().findOne(Order, order.id);
const page = await db.find(Order, { id: { $gt: order.id } }, { orderBy: { id: 'asc' }, limit: 2 });

same('an id is a BigInt', typeof order.id, 'bigint');
same('many ids come back', many.map((row) => typeof row.id).join(), 'bigint,bigint,bigint');
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');
db.create(Order, { id: BigInt(OLD), item: 'an old one' });
await db.flush();
const range = await db.find(Order, { id: { $gte: firstId(MARCH_1), $lt: firstId(MARCH_2) } });
same('found by a range of time, whole', range.map((row) => String(row.id)).join(), OLD);
same('a second update finds nothing to do', await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');

await orm.close();
end();

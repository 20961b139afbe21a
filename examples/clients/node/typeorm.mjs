// typeorm.mjs: TypeORM. A primary column with a default, not a generated one;
// 'bigint' gives strings.
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import typeorm from 'typeorm';

const { DataSource, EntitySchema, And, LessThan, MoreThan, MoreThanOrEqual } = typeorm;

const Order = new EntitySchema({
  name: 'orders',
  columns: {
    id: { type: 'bigint', primary: true, default: () => 'snowflake_nextval()' },
    item: { type: 'text' },
  },
});
const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env;
const db = await new DataSource({
  type: 'postgres', host: PGHOST, port: PGPORT, database: PGDATABASE, username: PGUSER, password: PGPASSWORD,
  entities: [Order], synchronize: true,
}).initialize();
const orders = db.getRepository(Order);

const order = await orders.save({ item: 'apples' });
const many = await orders.save([{ item: 'pears' }, { item: 'plums' }, { item: 'figs' }]);
const found = await orders.findOneBy({ id: order.id });
const page = await orders.find(
  { where: { id: MoreThan(order.id) }, order: { id: 'ASC' }, take: 2 });

check('an id is a string of digits', /^\d{18,19}$/.test(order.id), order.id);
check('many ids come back', many.every((row) => /^\d{18,19}$/.test(row.id)), many.map((row) => row.id));
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');

await orders.insert({ id: OLD, item: 'an old one' });
const range = await orders.findBy(
  { id: And(MoreThanOrEqual(String(firstId(MARCH_1))), LessThan(String(firstId(MARCH_2)))) });
same('found by a range of time, whole', range.map((row) => row.id).join(), OLD);
same('through JSON whole', JSON.parse(JSON.stringify(range[0])).id, OLD);
const again = await db.driver.createSchemaBuilder().log();
same('a second synchronize finds nothing to do', again.upQueries.map((q) => q.query).join('; '), '');

await db.dropDatabase();                    // all tables and views of the schema
await db.synchronize();
same('dropDatabase and synchronize leave an empty table', await orders.count(), 0);
await orders.insert({ id: OLD, item: 'an old one' });
check('and its ids are generated', (await orders.save({ item: 'apples' })).id > OLD);

// done wrong
same('asked with a number, the row is not found', await orders.findOneBy({ id: Number(OLD) }), null);
const Rounded = new EntitySchema({
  name: 'rounded', tableName: 'orders',
  columns: {
    id: { type: 'bigint', primary: true, transformer: { from: Number, to: String } },
    item: { type: 'text' },
  },
});
const second = await new DataSource({ ...db.options, entities: [Rounded], synchronize: false }).initialize();
const [lost] = await second.getRepository(Rounded).findBy({ item: 'an old one' });
check('a transformer to numbers loses digits', String(lost.id) !== OLD, lost.id);

await second.destroy();
await db.destroy();
end();

// sequelize.mjs: Sequelize. BIGINT gives strings.
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import { DataTypes, Op, Sequelize, literal } from 'sequelize';

const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env;
const db = new Sequelize(PGDATABASE, PGUSER, PGPASSWORD,
  { dialect: 'postgres', host: PGHOST, port: PGPORT, logging: false });

const Order = db.define('order', {
  id: { type: DataTypes.BIGINT, primaryKey: true, defaultValue: literal('snowflake_nextval(5)') },
  item: { type: DataTypes.TEXT, allowNull: false },
}, { timestamps: false });
await Order.sync();

const order = await Order.create({ item: 'apples' });
const many = await Order.bulkCreate([{ item: 'pears' }, { item: 'plums' }, { item: 'figs' }]);
const found = await Order.findByPk(order.id);
const page = await Order.findAll(
  { where: { id: { [Op.gt]: order.id } }, order: ['id'], limit: 2 });

check('an id is a string of digits', /^\d{18,19}$/.test(order.id), order.id);
check('many ids come back', many.every((row) => /^\d{18,19}$/.test(row.id)), many.map((row) => row.id));
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');

await Order.create({ id: OLD, item: 'an old one' });
const range = await Order.findAll(
  { where: { id: { [Op.gte]: firstId(MARCH_1), [Op.lt]: firstId(MARCH_2) } } });
same('found by a range of time, whole', range.map((row) => row.id).join(), OLD);
same('through JSON whole', JSON.parse(JSON.stringify(range[0])).id, OLD);
await db.query('INSERT INTO orders (item) VALUES (\'by hand\')');
same('the table has the default, too', await Order.count({ where: { item: 'by hand' } }), 1);
const before = await db.getQueryInterface().describeTable('orders');
await Order.sync({ alter: true });
same('a second sync changes nothing', JSON.stringify(await db.getQueryInterface().describeTable('orders')), JSON.stringify(before));

// done wrong
same('asked with a number, the row is not found', await Order.findByPk(Number(OLD)), null);
const Serial = db.define('serial', {
  id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true, defaultValue: literal('snowflake_nextval(5)') },
}, { timestamps: false });
const error = await Serial.sync().catch((thrown) => thrown.message);
same('autoIncrement makes a sequence of it', error, 'multiple default values specified for column "id" of table "serials"');

await db.close();
end();

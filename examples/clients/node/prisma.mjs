// prisma.mjs: Prisma. BigInt with dbgenerated(). The engine is the client's own
// (engineType = "client"), so that nothing but npm is needed.
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import { PrismaPg } from '@prisma/adapter-pg';
import prisma from './generated/index.js';

const db = new prisma.PrismaClient({ adapter: new PrismaPg({}) });   // PGHOST and so on say where

// what prisma migrate makes of the schema
await db.$executeRaw`CREATE TABLE "orders" (
  "id" BIGINT NOT NULL DEFAULT snowflake_nextval(5), "item" TEXT NOT NULL,
  CONSTRAINT "orders_pkey" PRIMARY KEY ("id"))`;

const order = await db.order.create({ data: { item: 'apples' } });
const many = await db.order.createManyAndReturn(
  { data: [{ item: 'pears' }, { item: 'plums' }, { item: 'figs' }] });
const found = await db.order.findUnique({ where: { id: order.id } });
const page = await db.order.findMany(
  { where: { id: { gt: order.id } }, orderBy: { id: 'asc' }, take: 2 });

same('an id is a BigInt', typeof order.id, 'bigint');
same('many ids come back', many.map((row) => `${typeof row.id} ${row.item}`).join(), 'bigint pears,bigint plums,bigint figs');
same('found by its key', found.item, 'apples');
same('the page after it', page.map((row) => row.item).join(), 'pears,plums');

await db.order.create({ data: { id: BigInt(OLD), item: 'an old one' } });
const range = await db.order.findMany(
  { where: { id: { gte: firstId(MARCH_1), lt: firstId(MARCH_2) } } });
same('found by a range of time, whole', range.map((row) => String(row.id)).join(), OLD);
const raw = await db.$queryRaw`SELECT id FROM orders WHERE id = ${BigInt(OLD)}`;
same('by raw SQL, too', raw[0].id, BigInt(OLD));

// JSON
let thrown;
try { JSON.stringify(range[0]); } catch (error) { thrown = error; }
check('JSON.stringify refuses a BigInt', thrown instanceof TypeError, thrown);
same('a replacer writes strings', JSON.stringify(range[0], (key, value) => typeof value === 'bigint' ? String(value) : value),
  `{"id":"${OLD}","item":"an old one"}`);

// done wrong
same('asked with a number, the row is not found',
  await db.order.findUnique({ where: { id: Number(OLD) } }), null);

await db.$disconnect();
end();

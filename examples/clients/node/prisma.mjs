// prisma.mjs: Prisma. BigInt with dbgenerated().
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { check, same, end, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { firstId } from './snowflake.mjs';

import { PrismaPg } from '@prisma/adapter-pg';

// Prisma would download these engines, which neither its client nor prisma.config.mjs needs.
const engines = { PRISMA_QUERY_ENGINE_LIBRARY: '/bin/true', PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true' };
const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env;
const DATABASE_URL = `postgresql://${PGUSER}:${PGPASSWORD}@${PGHOST}:${PGPORT}/${PGDATABASE}`;
const kit = (...command) => String(execFileSync('node', ['node_modules/prisma/build/index.js', ...command],
  { env: { ...process.env, ...engines, DATABASE_URL, CHECKPOINT_DISABLE: '1' }, stdio: 'pipe' }));

// from an empty database
mkdirSync('generated/migrations/0_orders', { recursive: true });
writeFileSync('generated/migrations/migration_lock.toml', 'provider = "postgresql"');
writeFileSync('generated/migrations/0_orders/migration.sql',
  kit('migrate', 'diff', '--from-empty', '--to-schema-datamodel=schema.prisma', '--script'));
const deployed = kit('migrate', 'deploy');
check('migrate deploy makes the table', deployed.includes('All migrations have been successfully applied'), deployed);
const again = kit('migrate', 'deploy');
check('a second one finds nothing to do', again.includes('No pending migrations to apply'), again);
const pushed = kit('db', 'push');
check('and db push finds no difference', pushed.includes('already in sync'), pushed);
const pulled = kit('db', 'pull', '--print');
same('db pull finds the same table only', pulled.match(/^model (.*\n)*?}$/mg)?.join(), readFileSync('schema.prisma', 'utf8').match(/^model (.*\n)*?}$/m)[0]);

const { default: prisma } = await import('./generated/prisma/index.js');   // by db push
const db = new prisma.PrismaClient({ adapter: new PrismaPg({}) });   // PGHOST and so on say where
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

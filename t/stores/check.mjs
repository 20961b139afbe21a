// What the programs of the stores share.  Each tests two databases of one server at the same
// time: "stock" has the package alone, "seqid" has also examples/stores/NAME.sql.
import { readFileSync } from 'node:fs';
import pg from 'pg';

const { PGPORT, PGUSER, SEQID_MINUTES = '0.03' } = process.env;
let failures = 0;

export const url = (database, role = PGUSER) => `postgresql://${role}@127.0.0.1:${PGPORT}/${database}`;

export function check(what, holds, ...details) {
  if (!holds) failures++;
  console.log(`${holds ? 'ok' : 'not ok'} - ${what}`, ...(holds ? [] : details));
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition, what) {
  for (let tries = 0; tries < 9000; tries++) {
    if (await condition()) return;
    await sleep(20);
  }
  throw new Error(`waited in vain until ${what}`);
}

// Runs statements in a session that stays open.
async function session(database, sql) {
  const client = new pg.Client(url(database));
  await client.connect();
  const { rows } = await client.query(sql);
  return { client, rows };
}

async function query(database, sql) {
  const { client, rows } = await session(database, sql);
  await client.end();
  return rows;
}

export const waitForLocks = (database, sessions = 1) => until(async () =>
  (await query(database, `SELECT FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`)).length === sessions,
  `${sessions} sessions of ${database} wait for a lock`);

// A variant of a store, as its writers and its reader use it.
class Variant {
  constructor(store, kind) {
    Object.assign(this, { store, kind, database: `${store.name}_${kind}`, keys: 0 });
    this.forget();
  }

  // What the handler got, and what has been committed: {key, at}
  forget() { Object.assign(this, { seen: [], appended: [] }); }

  async start() {
    await query('postgres', `CREATE DATABASE ${this.database}`);
    await query(this.database, 'CREATE TABLE another (n int)');
    this.write = await this.store.writer(url(this.database));
    await query(this.database, 'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO reader');
    if (this.kind === 'seqid') {
      // A file can alter the role, which programs must not do at the same time.
      const lock = await session('postgres', 'SELECT pg_advisory_lock(1)');
      await query(this.database, 'CREATE EXTENSION seqid');
      await query(this.database, readFileSync(new URL(`../../examples/stores/${this.store.name}.sql`, import.meta.url), 'utf8'));
      // A query past the view fails, rather than losing rows.
      if (this.store.viewed) await query(this.database, `REVOKE ALL ON ${this.store.viewed} FROM reader`);
      await lock.client.end();
    } else {
      await query(this.database, 'GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader');
    }
    await this.store.reader(url(this.database, 'reader'), (key) => this.seen.push({ key, at: performance.now() }), this.kind);
  }

  // Appends an event.  If before is given, its transaction stays open until that promise ends.
  async append(stream, before) {
    const key = `${stream}:${++this.keys}`;
    await this.write(stream, key, before);
    this.appended.push({ key, at: performance.now() });
    return key;
  }

  sees(key) { return until(() => this.seen.some((event) => event.key === key), `${this.database} sees ${key}`); }

  // Waits until the reader has looked for events once more, and has seen this one if it can.
  async looked(key) {
    if (this.kind === 'stock') return this.sees(key);
    const [{ now }] = await query(this.database, 'SELECT clock_timestamp()::text AS now');
    await until(async () => (await query(this.database, `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND usename = 'reader' AND state = 'idle' AND query_start > '${now}'`)).length,
      `the reader of ${this.database} looks`);
  }

  lost() {
    const keys = new Set(this.seen.map((event) => event.key));
    return this.appended.filter((event) => !keys.has(event.key)).length;
  }

  twice() { return this.seen.length - new Set(this.seen.map((event) => event.key)).size; }
}

// An append whose transaction has taken its position and stays open, until commit() or
// rollBack() is called.
export async function openAppend(variant, stream) {
  let commit;
  let fail;
  const promise = new Promise((resolve, reject) => { commit = resolve; fail = reject; });
  const last = async () => (await query(variant.database, `SELECT pg_sequence_last_value('${variant.store.sequence}') AS last`))[0].last;
  const before = await last();
  const done = variant.append(stream, promise);
  await until(async () => await last() !== before, `${stream} has a position`);
  return {
    commit: () => { commit(); return done; },
    rollBack: () => { fail(new Error('rolled back')); return done.catch(() => {}); },
  };
}

// One transaction takes its position first and commits last.
export async function lateCommit(variant) {
  const slow = await openAppend(variant, 'slow');
  await variant.looked(await variant.append('quick'));
  await slow.commit();
}

// Four writers, one of which keeps its transactions open for 100 ms, beside an open transaction:
// seqid's reader gets all events while it is open.
async function run(variant, beside) {
  const { store, kind } = variant;
  variant.forget();
  const began = performance.now();
  const other = await session(beside === 'another table' ? variant.database : 'postgres', beside ? 'BEGIN; INSERT INTO another VALUES (1)' : '');
  const writer = async (stream, pause, before) => {
    while (performance.now() < began + 60000 * SEQID_MINUTES) {
      await variant.append(stream, before?.());
      await sleep(pause);
    }
  };
  await Promise.all([1, 2, 3].map((n) => writer(`quick${n}`, 5)).concat(writer('slow', 0, () => sleep(100))));
  const seconds = (performance.now() - began) / 1000;
  const last = await variant.append('last');
  if (kind === 'seqid') await variant.sees(last);
  if (kind === 'stock' && store.waitsForAny && beside) check(`${store.name}, stock: waits for a transaction of ${beside}`, variant.seen.length === 0);
  await other.client.query('COMMIT');
  await other.client.end();
  await variant.sees(last);
  if (kind === 'seqid') check(`${store.name}, seqid: nothing lost or twice beside ${beside ?? 'no transaction'}`, variant.lost() + variant.twice() === 0);

  const at = new Map(variant.seen.map((event) => [event.key, event.at]));
  const delays = variant.appended.filter((event) => at.has(event.key)).map((event) => Math.max(0, at.get(event.key) - event.at)).sort((a, b) => a - b);
  const percentile = (part) => Math.round(delays[Math.min(delays.length - 1, Math.floor(part * delays.length))]);
  console.log(`# ${store.name}, ${kind}, beside ${beside ? `a transaction of ${beside}` : 'no other transaction'}: `
    + `${variant.appended.length} events, ${Math.round(variant.appended.length / seconds)}/s, lost ${variant.lost()}, twice ${variant.twice()}, `
    + `delay p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms`);
}

// A store has the functions writer, which returns one that appends, reader, and interleave, by
// which the stock reader loses an event if losesByInterleaving.
export async function testStore(store) {
  const variants = ['stock', 'seqid'].map((kind) => new Variant(store, kind));
  for (const variant of variants) {
    await variant.start();
    await store.interleave(variant);
    // By this event the reader shows that it has read all before it.
    await variant.sees(await variant.append('last'));
    const loses = variant.kind === 'stock' && store.losesByInterleaving ? 1 : 0;
    check(`${store.name}, ${variant.kind}: loses ${loses} events`, variant.lost() === loses && variant.twice() === 0, variant.seen);
  }
  for (const beside of [null, 'another table', 'another database']) {
    await Promise.all(variants.map((variant) => run(variant, beside)));
  }
  console.log('end');
  process.exit(failures ? 1 : 0);
}

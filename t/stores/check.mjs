// What the programs of the stores share.  Each tests two databases of one server at the same
// time: "stock" has the package alone, "seqid" has also examples/stores/NAME.sql.
import { readFileSync } from 'node:fs';
import pg from 'pg';

const { PGPORT, PGUSER, SEQID_MINUTES = '0.03' } = process.env;
let failures = 0;

export const url = (database, role) => `postgresql://${role}@127.0.0.1:${PGPORT}/${database}`;

export function check(what, holds, ...details) {
  if (!holds) failures++;
  console.log(`${holds ? 'ok' : 'not ok'} - ${what}`, ...(holds ? [] : details));
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(condition, what) {
  for (let tries = 0; tries < 9000; tries++) {
    const value = await condition();
    if (value) return value;
    await sleep(20);
  }
  throw new Error(`waited in vain until ${what}`);
}

async function query(database, sql, role = PGUSER) {
  const client = new pg.Client(url(database, role));
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

// A transaction that has written, and stays open.
export async function openTransaction(database) {
  const client = new pg.Client(url(database, PGUSER));
  await client.connect();
  await client.query('BEGIN; INSERT INTO another VALUES (1)');
  return async () => { await client.query('COMMIT'); await client.end(); };
}

export const waitForLocks = (database, sessions = 1) => until(async () =>
  (await query(database, `SELECT FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`)).length === sessions,
  `${sessions} sessions of ${database} wait for a lock`);

// A variant of a store, as its writers and its reader use it.
class Variant {
  constructor(store, kind) {
    this.store = store;
    this.kind = kind;
    this.database = `${store.name}_${kind}`;
    this.seen = [];       // what the handler got: {key, at}
    this.appended = [];   // what has been committed: {key, at}
    this.keys = 0;
  }

  async install() {
    await query('postgres', `DROP DATABASE IF EXISTS ${this.database} WITH (FORCE)`);
    await query('postgres', `CREATE DATABASE ${this.database}`);
    await query(this.database, 'CREATE TABLE another (n int)');
    this.writer = await this.store.writer(url(this.database, PGUSER));
    await query(this.database, 'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO reader');
    // With seqid, the file grants what its function needs.
    if (this.store.readsSequence && this.kind === 'stock') await query(this.database, `GRANT SELECT ON SEQUENCE ${this.store.sequence} TO reader`);
    if (this.kind !== 'seqid') return;
    await query(this.database, 'CREATE EXTENSION seqid');
    await query(this.database, readFileSync(new URL(`../../examples/stores/${this.store.name}.sql`, import.meta.url), 'utf8').replace(/(ALTER ROLE reader) SET/, `$1 IN DATABASE ${this.database} SET`));
  }

  async startReader() {
    this.stopReader = await this.store.reader(url(this.database, 'reader'), (key) => this.seen.push({ key, at: performance.now() }), this.kind);
  }

  // Appends an event.  If before is given, its transaction stays open until that promise ends.
  async append(stream, before) {
    const key = `${stream}:${++this.keys}`;
    await this.writer.append(stream, key, before);
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

  async stop() {
    await this.stopReader();
    await this.writer.close();
  }
}

// An append whose transaction has taken its position and stays open, until commit() or
// rollBack() is called.
export async function openAppend(variant, stream) {
  let open;
  let fail;
  const promise = new Promise((resolve, reject) => { open = resolve; fail = reject; });
  const last = async () => (await query(variant.database, `SELECT coalesce(pg_sequence_last_value('${variant.store.sequence}'), 0) AS last`))[0].last;
  const before = await last();
  const done = variant.append(stream, promise);
  await until(async () => await last() !== before, `${stream} has a position`);
  return {
    commit: async () => { open(); await done; },
    rollBack: async () => { fail(new Error('rolled back')); await done.catch(() => {}); },
  };
}

// One transaction takes its position first and commits last.
export async function lateCommit(variant) {
  const slow = await openAppend(variant, 'slow');
  await variant.looked(await variant.append('quick'));
  await slow.commit();
}

// Four writers, one of which keeps its transactions open for 100 ms.
async function write(variant, seconds) {
  const end = performance.now() + 1000 * seconds;
  const writer = async (stream, pause, before) => {
    while (performance.now() < end) {
      await variant.append(stream, before?.());
      await sleep(pause);
    }
  };
  await Promise.all([1, 2, 3].map((n) => writer(`quick${n}`, 5)).concat(writer('slow', 0, () => sleep(100))));
}

const percentile = (sorted, part) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]);

// Lost events, twice, delays and throughput.
async function run(variant, beside, seconds) {
  variant.seen = [];
  variant.appended = [];
  const began = performance.now();
  const end = beside && await openTransaction(beside === 'another database' ? 'postgres' : variant.database);
  await write(variant, seconds);
  const elapsed = (performance.now() - began) / 1000;
  if (end) await end();
  await variant.sees(await variant.append('last'));
  const at = new Map(variant.seen.map((event) => [event.key, event.at]));
  const delays = variant.appended.filter((event) => at.has(event.key)).map((event) => Math.max(0, at.get(event.key) - event.at)).sort((a, b) => a - b);
  console.log(`# ${variant.store.name}, ${variant.kind}, beside ${beside ? `a transaction of ${beside}` : 'no other transaction'}: `
    + `${variant.appended.length} events, ${Math.round(variant.appended.length / elapsed)}/s, lost ${variant.lost()}, twice ${variant.twice()}, `
    + `delay p50 ${percentile(delays, 0.5)} ms, p99 ${percentile(delays, 0.99)} ms`);
}

export async function testStore(store) {
  const variants = ['stock', 'seqid'].map((kind) => new Variant(store, kind));
  const [stock, seqid] = variants;
  for (const variant of variants) {
    await variant.install();
    await variant.startReader();
  }

  // An event by which the reader shows that it has read all before it.
  for (const variant of variants) {
    await store.interleave(variant);
    await variant.sees(await variant.append('last'));
  }
  check(`${store.name}, stock: ${store.losesByInterleaving ? 'loses an event' : 'loses nothing'}`,
    stock.lost() === (store.losesByInterleaving ? 1 : 0), stock.seen);
  check(`${store.name}, seqid: loses nothing`, seqid.lost() === 0 && seqid.twice() === 0, seqid.seen);

  // The stock reader cannot have seen an event that it sees only after the transaction.
  for (const beside of ['another table', 'another database']) {
    const ends = await Promise.all(variants.map((variant) => openTransaction(beside === 'another database' ? 'postgres' : variant.database)));
    const keys = await Promise.all(variants.map((variant) => variant.append('beside')));
    await seqid.sees(keys[1]);
    check(`${store.name}, seqid: an open transaction of ${beside} delays nothing`, true);
    if (store.waitsForAny) {
      check(`${store.name}, stock: waits for a transaction of ${beside}`, !stock.seen.some((event) => event.key === keys[0]));
    }
    for (const end of ends) await end();
    await stock.sees(keys[0]);
  }

  for (const beside of [null, 'another table', 'another database']) {
    await Promise.all(variants.map((variant) => run(variant, beside, 60 * SEQID_MINUTES)));
    check(`${store.name}, seqid: nothing lost or twice beside ${beside ?? 'no transaction'}`, seqid.lost() === 0 && seqid.twice() === 0);
  }
  for (const variant of variants) await variant.stop();
  console.log('end');
  process.exit(failures ? 1 : 0);
}

// A client that knows SELECT * FROM v WHERE id > $1 ORDER BY id LIMIT n and nothing else.
import pg from 'pg';
import { lateCommit, sleep, testStore } from './check.mjs';

const way = process.argv[2];

async function writer(url) {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  await pool.query('CREATE TABLE events (id bigserial PRIMARY KEY, key text NOT NULL)');
  return async (stream, key, before) => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO events (key) VALUES ($1)', [key]);
    await before;
    await client.query('COMMIT');
    client.release();
  };
}

async function reader(url, handle, kind) {
  const source = way === 'view' && kind === 'seqid' ? 'settled.events' : 'events';
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  let last = 0;
  (async function read() {
    const { rows } = await pool.query(`SELECT * FROM ${source} WHERE id > $1 ORDER BY id LIMIT 100`, [last]);
    for (const row of rows) {
      handle(row.key);
      last = row.id;
    }
    setTimeout(read, rows.length === 0 ? 100 : 0);
  })();
}

testStore({ name: `loader_${way}`, sequence: 'events_id_seq', viewed: way === 'view' && 'events', writer, reader, interleave: lateCommit, losesByInterleaving: true });

// A client that knows SELECT * FROM v WHERE id > $1 ORDER BY id LIMIT n and nothing else.
import pg from 'pg';
import { lateCommit, sleep, testStore } from './check.mjs';

const way = process.argv[2];

async function writer(url) {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  await pool.query('CREATE TABLE events (id bigserial PRIMARY KEY, key text NOT NULL)');
  return {
    async append(stream, key, before) {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query('INSERT INTO events (key) VALUES ($1)', [key]);
      await before;
      await client.query('COMMIT');
      client.release();
    },
    close: () => pool.end(),
  };
}

async function reader(url, handle, kind) {
  const source = way === 'view' && kind === 'seqid' ? 'settled.events' : 'events';
  const client = new pg.Client(url);
  let last = 0;
  let running = true;
  await client.connect();
  const done = (async () => {
    while (running) {
      const { rows } = await client.query(`SELECT * FROM ${source} WHERE id > $1 ORDER BY id LIMIT 100`, [last]);
      for (const row of rows) {
        handle(row.key);
        last = row.id;
      }
      if (rows.length === 0) await sleep(100);
    }
    await client.end();
  })();
  return () => { running = false; return done; };
}

testStore({ name: `loader_${way}`, sequence: 'events_id_seq', writer, reader, interleave: lateCommit, losesByInterleaving: true });

// reader.js: reads the outbox of docs/outbox.md, with node-postgres (npm install pg).
// PGHOST, PGDATABASE and so on name the server. The argument is the reader's name.
const { Client } = require('pg');

const reader = process.argv[2] ?? 'mail';
const AT_MOST = 1000;
const client = new Client();
let notified = false;
let wake = () => {};

async function handle(row) {
  console.log(row.id, row.topic);
}

// Returns the number of rows, and whether there are rows beyond the horizon.
async function readBatch() {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  await client.query('SELECT outbox_settle($1)', [reader]);
  const { rows } = await client.query(
    'SELECT id, topic, payload FROM outbox_unread($1) ORDER BY id LIMIT $2', [reader, AT_MOST]);
  for (const row of rows)
    await handle(row);
  if (rows.length > 0)                  // an id is a string, because it has 64 bits
    await client.query('UPDATE outbox_reader SET last_id = $2 WHERE name = $1', [reader, rows.at(-1).id]);
  const { rows: [{ more }] } = await client.query(
    'SELECT EXISTS (SELECT FROM outbox, outbox_reader WHERE name = $1 AND id > last_id) AS more', [reader]);
  await client.query('COMMIT');
  return { count: rows.length, more };
}

function nap(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, notified ? 0 : ms);
    wake = () => { clearTimeout(timer); resolve(); };
  });
}

async function main() {
  await client.connect();
  client.on('notification', () => { notified = true; wake(); });
  await client.query('LISTEN outbox');
  for (;;) {
    notified = false;
    const { count, more } = await readBatch();
    if (count < AT_MOST)
      await nap(more ? 20 : 1000);
  }
}

// A lost connection ends the program. Let systemd start it again.
main().catch((error) => { console.error(error); process.exit(1); });

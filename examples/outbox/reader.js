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

// Returns the number of rows, and whether there are unread rows.
async function readBatch() {
  await client.query('BEGIN');
  const { rows: [position] } = await client.query(
    'SELECT last_id FROM outbox_reader WHERE name = $1 FOR UPDATE', [reader]);
  const { rows } = await client.query(
    `SELECT id, topic, payload FROM outbox
      WHERE id > $1 AND id < seqid.settled('outbox_id_seq') ORDER BY id LIMIT $2`,
    [position.last_id, AT_MOST]);
  for (const row of rows)
    await handle(row);
  if (rows.length > 0)         // an id is a string, because it has 64 bits
    await client.query('UPDATE outbox_reader SET last_id = $2 WHERE name = $1', [reader, rows.at(-1).id]);
  await client.query('COMMIT');
  const { rows: [{ more }] } = await client.query(
    'SELECT EXISTS (SELECT FROM outbox WHERE id > $1) AS more', [rows.at(-1)?.id ?? position.last_id]);
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
  const { rowCount } = await client.query('SELECT FROM outbox_reader WHERE name = $1', [reader]);
  if (rowCount === 0)
    throw new Error(`outbox_reader has no row with the name ${reader}`);
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

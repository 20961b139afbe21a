// snowflake53.mjs: ids that are plain numbers, by node-postgres. A bigint still
// arrives as a string, so the driver is told to make numbers of it.
import { check, same, end, vectors, vectorTime, MARCH_1, MARCH_2 } from './check.mjs';
import { parts53, firstId53 } from './snowflake.mjs';

import pg from 'pg';

// All bigints of this pool become numbers, count(*) among them; one that does not
// fit is an error.
function safeNumber(text) {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is no safe integer`);
  return number;
}
const types = {
  getTypeParser: (oid, format) =>
    oid === 20 && format !== 'binary' ? safeNumber : pg.types.getTypeParser(oid, format),
};
const db = new pg.Pool({ types });          // PGHOST, PGDATABASE and so on say where

await db.query(`CREATE TABLE orders (
  id bigint PRIMARY KEY DEFAULT snowflake53_nextval(5),
  item text NOT NULL)`);
const one = await db.query(
  'INSERT INTO orders (item) VALUES ($1) RETURNING id', ['apples']);
const id = one.rows[0].id;                  // 502614448128896, a number
const many = await db.query(
  'INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id', [['pears', 'plums', 'figs']]);
const found = await db.query('SELECT * FROM orders WHERE id = $1', [id]);
const page = await db.query('SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT 2', [id]);

check('an id is a safe integer', Number.isSafeInteger(id), id);
same('many ids come back', many.rows.length, 3);
check('in order', many.rows.every((row, i) => row.id > (i ? many.rows[i - 1].id : id)), many.rows.map((row) => row.id));
same('found by its key', found.rows[0]?.item, 'apples');
same('the page after it', page.rows.map((row) => row.item).join(), 'pears,plums');

const old = 150560012288763;
await db.query('INSERT INTO orders VALUES ($1, $2)', [old, 'an old one']);
const range = await db.query('SELECT * FROM orders WHERE id >= $1 AND id < $2 ORDER BY id',
  [firstId53(MARCH_1), firstId53(MARCH_2)]);
same('found by a range of time', range.rows.map((row) => row.id).join(), String(old));

// decoding
const server = await db.query('SELECT p.*, snowflake53_first($2) AS first FROM snowflake53_parts($1) p', [id, MARCH_1]);
const { createdAt, shard, sequence } = parts53(id);
same('the client sees what the server sees', [createdAt.getTime(), shard, sequence].join(),
  [server.rows[0].created_at.getTime(), server.rows[0].shard, server.rows[0].sequence].join());
same('the first id of a time, too', firstId53(MARCH_1), server.rows[0].first);
const wrong = vectors('snowflake53').filter(([vector, time, shard, sequence]) => {
  const p = parts53(Number(vector));
  return p.createdAt.getTime() !== vectorTime(time).getTime() || p.shard !== +shard || p.sequence !== +sequence
    || firstId53(p.createdAt) + p.shard * 128 + p.sequence !== Number(vector);
});
same(`decodes ${vectors('snowflake53').length} vectors`, wrong.join(' '), '');
const last = vectors('snowflake53').find(([vector]) => vector === String(Number.MAX_SAFE_INTEGER));
check('the largest of them is the largest safe integer', last !== undefined, last);

// JSON
same('a number goes through JSON whole', JSON.parse(JSON.stringify(range.rows[0])).id, old);
const json = await db.query('SELECT to_json(o) AS row FROM orders o WHERE id = $1', [old]);
same('also by to_json', json.rows[0].row.id, old);

// done wrong
const refused = await db.query('SELECT snowflake_nextval(5)').catch((error) => error);
check('a snowflake of 64 bits is refused by safeNumber', refused instanceof RangeError, refused);
const shifted = new Date((old >> 12) + Date.UTC(2023, 0, 1));
check('>> shifts 32 bits only, and tells a wrong time', shifted.getTime() !== parts53(old).createdAt.getTime(), shifted);

await db.end();
end();

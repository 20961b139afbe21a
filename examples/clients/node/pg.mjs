// pg.mjs: node-postgres. A bigint arrives as a string, which is whole.
import { check, same, end, vectors, vectorTime, OLD, MARCH_1, MARCH_2 } from './check.mjs';
import { parts, firstId, combTime } from './snowflake.mjs';

import pg from 'pg';

const db = new pg.Pool();                   // PGHOST, PGDATABASE and so on say where

await db.query(`CREATE TABLE orders (
  id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
  item text NOT NULL)`);
const one = await db.query(
  'INSERT INTO orders (item) VALUES ($1) RETURNING id', ['apples']);
const id = one.rows[0].id;                  // '514677055346987008', a string
const many = await db.query(
  'INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id', [['pears', 'plums', 'figs']]);
const found = await db.query('SELECT * FROM orders WHERE id = $1', [id]);
const page = await db.query('SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT 2', [id]);

check('an id is a string of digits', /^\d{18,19}$/.test(id), id);
same('many ids come back', many.rows.length, 3);
same('in order', many.rows.map((row) => row.id).join(), many.rows.map((row) => row.id).sort().join());
same('found by its key', found.rows[0]?.item, 'apples');
same('the page after it', page.rows.map((row) => row.item).join(), 'pears,plums');

await db.query('INSERT INTO orders VALUES ($1, $2)', [OLD, 'an old one']);
const range = await db.query('SELECT * FROM orders WHERE id >= $1 AND id < $2 ORDER BY id',
  [firstId(MARCH_1), firstId(MARCH_2)]);
same('found by a range of time, whole', range.rows.map((row) => row.id).join(), OLD);

// decoding
const server = await db.query('SELECT p.*, snowflake_first($2) AS first FROM snowflake_parts($1) p', [id, MARCH_1]);
same('the client sees the time that the server sees', parts(id).createdAt.getTime(), server.rows[0].created_at.getTime());
same('the first id of a time, too', String(firstId(MARCH_1)), server.rows[0].first);
let wrong = vectors('snowflake').filter(([vector, time, shard, sequence]) => {
  const p = parts(vector);
  return p.createdAt.getTime() !== vectorTime(time).getTime() || p.shard !== +shard || p.sequence !== +sequence;
});
same(`decodes ${vectors('snowflake').length} vectors`, wrong.join(' '), '');
wrong = vectors('comb').filter(([uuid, time]) => combTime(uuid).getTime() !== vectorTime(time).getTime());
same(`decodes ${vectors('comb').length} COMBs`, wrong.join(' '), '');

// JSON
same('a string goes through JSON whole', JSON.parse(JSON.stringify(range.rows[0])).id, OLD);
let thrown;
try { JSON.stringify({ id: BigInt(OLD) }); } catch (error) { thrown = error; }
check('JSON.stringify refuses a BigInt', thrown instanceof TypeError, thrown);
BigInt.prototype.toJSON = function () { return this.toString(); };
same('with toJSON it writes a string', JSON.stringify({ id: BigInt(OLD) }), `{"id":"${OLD}"}`);
const json = await db.query(
  `SELECT to_json(o) AS wrong, json_build_object('id', id::text, 'item', item) AS right
     FROM orders o WHERE id = $1`, [OLD]);
check('to_json writes a number, and the client loses digits', String(json.rows[0].wrong.id) !== OLD, json.rows[0].wrong.id);
same('json_build_object with id::text does not', json.rows[0].right.id, OLD);

// BigInt instead of strings, for this client only
const types = { getTypeParser: (oid, format) => oid === 20 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format) };
const big = await db.query({ text: 'SELECT id FROM orders WHERE id = $1', values: [BigInt(OLD)], types });
same('or a BigInt', big.rows[0].id, BigInt(OLD));

// done wrong
types.getTypeParser = (oid, format) => oid === 20 ? Number : pg.types.getTypeParser(oid, format);
const lost = await db.query({ text: 'SELECT id FROM orders WHERE id = $1', values: [OLD], types });
check('a parser of numbers loses digits', String(lost.rows[0].id) !== OLD, lost.rows[0].id);
const missed = await db.query('SELECT 1 FROM orders WHERE id = $1', [lost.rows[0].id]);
same('and the row is not found any more', missed.rows.length, 0);

await db.end();
end();

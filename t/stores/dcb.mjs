// @dcb-es/event-store-postgres: its event store, and a subscriber to one type of events.
import { PostgresEventStore } from '@dcb-es/event-store-postgres';
import { Query, Tags } from '@dcb-es/event-store';
import pg from 'pg';
import { check, openAppend, testStore, waitForLocks } from './check.mjs';

async function writer(url) {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  await new PostgresEventStore({ pool }).ensureInstalled();
  // The store appends in a transaction of the program if its pool is a client.
  return async (stream, key, promise) => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await new PostgresEventStore({ pool: client }).append({ events: { type: 'noted', tags: Tags.fromObj({ stream }), data: { key }, metadata: {} } });
    await promise;
    await client.query('COMMIT');
    client.release();
  };
}

async function reader(url, handle) {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const events = new PostgresEventStore({ pool }).subscribe(Query.fromItems([{ types: ['noted'] }]));
  (async () => { for await (const { event } of events) handle(event.data.key); })();
}

// The reader's exclusive lock waits for an open append, and the next append waits for the reader.
async function interleave(variant) {
  const slow = await openAppend(variant, 'slow');
  if (variant.kind === 'stock') await waitForLocks(variant.database, 1);
  const quick = variant.append('quick');
  if (variant.kind === 'stock') await waitForLocks(variant.database, 2);
  else await quick;
  check(`dcb, ${variant.kind}: an open append ${variant.kind === 'stock' ? 'blocks the reader and the next append' : 'blocks nothing'}`, true);
  await slow.commit();
  await quick;
}

testStore({ name: 'dcb', sequence: 'events_sequence_position_seq', writer, reader, interleave });

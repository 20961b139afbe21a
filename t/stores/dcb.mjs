// @dcb-es/event-store-postgres: its event store, and a handler of one type of events.
import { PostgresEventStore, ensureHandlersInstalled, runHandler } from '@dcb-es/event-store-postgres';
import { Tags } from '@dcb-es/event-store';
import pg from 'pg';
import { check, openAppend, testStore, waitForLocks } from './check.mjs';

async function writer(url) {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  await new PostgresEventStore({ pool }).ensureInstalled();
  await ensureHandlersInstalled(pool, ['reader'], '_handler_bookmarks');
  return {
    // The store appends in a transaction of the program if its pool is a client.
    async append(stream, key, promise) {
      const client = await pool.connect();
      await client.query('BEGIN');
      await new PostgresEventStore({ pool: client }).append({ events: { type: 'noted', tags: Tags.fromObj({ stream }), data: { key }, metadata: {} } });
      await promise;
      await client.query('COMMIT');
      client.release();
    },
    close: () => pool.end(),
  };
}

async function reader(url, handle) {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const controller = new AbortController();
  const handlerFactory = () => ({ when: { noted: async ({ event }) => { handle(event.data.key); } } });
  const { promise } = runHandler({ pool, eventStore: new PostgresEventStore({ pool }), handlerName: 'reader', handlerFactory, signal: controller.signal });
  return async () => { controller.abort(); await promise; await pool.end(); };
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

testStore({ name: 'dcb', sequence: 'events_sequence_position_seq', writer, reader, interleave, readsSequence: true });

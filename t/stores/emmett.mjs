// @event-driven-io/emmett-postgresql: its event store, and a consumer with a reactor.
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { openAppend, testStore, waitForLocks } from './check.mjs';

// An inline projection runs before the commit of an append, so it can keep the append open.
const before = new Map();
const keepOpen = { canHandle: ['Noted'], handle: (events) => Promise.all(events.map((event) => before.get(event.data.key))) };

async function writer(url) {
  const store = getPostgreSQLEventStore(url, { projections: [{ type: 'inline', projection: keepOpen }] });
  await store.schema.migrate();
  return async (stream, key, promise) => {
    before.set(key, promise);
    await store.appendToStream(stream, [{ type: 'Noted', data: { key } }]);
  };
}

async function reader(url, handle) {
  const consumer = getPostgreSQLEventStore(url, { schema: { autoMigration: 'None' } }).consumer();
  consumer.reactor({ processorId: 'reader', eachMessage: (event) => { handle(event.data.key); } });
  consumer.start();
}

// The package reads in the order of transaction_id, and continues after a global_position.
// An append that waits for a row of its stream has the first, and not yet the second.
async function interleave(variant) {
  await variant.append('busy');
  const failing = await openAppend(variant, 'busy');
  const first = variant.append('busy');
  await waitForLocks(variant.database);
  const second = await openAppend(variant, 'other');
  await failing.rollBack();
  await variant.looked(await first);
  await second.commit();
}

testStore({ name: 'emmett', sequence: 'emt_global_message_position', viewed: 'emt_messages', writer, reader, interleave, losesByInterleaving: true, waitsForAny: true });

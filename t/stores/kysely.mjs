// @wataruoguchi/emmett-event-store-kysely: its event store, and its consumer.
import { createKyselyEventStoreConsumer, getKyselyEventStore } from '@wataruoguchi/emmett-event-store-kysely';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { lateCommit, testStore } from './check.mjs';

const logger = { info() {}, debug() {}, error(details, message) { console.log('not ok -', message, details.error ?? details); } };

// The package creates no tables.  These have its columns, and those that its consumer writes.
const tables = `
  CREATE TABLE streams (stream_id text, stream_position bigint NOT NULL, partition text, stream_type text NOT NULL,
    stream_metadata jsonb NOT NULL, is_archived boolean DEFAULT false, PRIMARY KEY (stream_id, partition, is_archived));
  CREATE SEQUENCE emt_global_message_position;
  CREATE TABLE messages (stream_id text, stream_position bigint, partition text, message_kind char(1) NOT NULL DEFAULT 'E',
    message_data jsonb NOT NULL, message_metadata jsonb NOT NULL, message_schema_version text NOT NULL, message_type text NOT NULL,
    message_id text NOT NULL, is_archived boolean DEFAULT false, global_position bigint DEFAULT nextval('emt_global_message_position'),
    created timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (stream_id, stream_position, partition, is_archived));
  CREATE TABLE subscriptions (consumer_name text PRIMARY KEY, last_processed_position bigint NOT NULL,
    last_processed_transaction_id bigint, created_at timestamptz, updated_at timestamptz);`;

const connect = (pool) => new Kysely({ dialect: new PostgresDialect({ pool }) });

async function writer(url) {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  await pool.query(tables);
  const db = connect(pool);
  const store = getKyselyEventStore({ db, logger });
  return (stream, key, promise) => store.withSession(async ({ eventStore }) => {
    await eventStore.appendToStream(stream, [{ type: 'Noted', data: { key } }]);
    await promise;
  });
}

async function reader(url, handle) {
  const db = connect(new pg.Pool({ connectionString: url, max: 8 }));
  const consumer = createKyselyEventStoreConsumer({ db, logger });
  consumer.subscribeToAll(async (event) => handle(event.data.key));
  await consumer.start();
}

testStore({ name: 'kysely', sequence: 'emt_global_message_position', writer, reader, interleave: lateCommit, losesByInterleaving: true });

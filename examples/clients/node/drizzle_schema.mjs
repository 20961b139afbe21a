// drizzle_schema.mjs: the table, for drizzle.mjs and for drizzle-kit.
import { sql } from 'drizzle-orm';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';

export const orders = pgTable('orders', {
  id: bigint('id', { mode: 'bigint' }).primaryKey().default(sql`snowflake_nextval()`),
  item: text('item').notNull(),
});

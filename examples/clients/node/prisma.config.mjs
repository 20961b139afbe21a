// prisma.config.mjs: Prisma's commands without a download, by an engine in WebAssembly
// (Prisma 6.16 to 6.19). Its adapter does not know two types that catalogs have.
import { PrismaPg } from '@prisma/adapter-pg';
import { defineConfig } from 'prisma/config';

const CHAR = 18, NAME = 19, TEXT = 25;      // as in pg_type

class Adapter extends PrismaPg {
  async connect() {
    const adapter = await super.connect();
    const perform = adapter.performIO;
    adapter.performIO = async (query) => {
      const result = await perform.call(adapter, query);
      for (const field of result.fields) if ([CHAR, NAME].includes(field.dataTypeID)) field.dataTypeID = TEXT;
      return result;
    };
    return adapter;
  }
}

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'generated/migrations' },
  experimental: { adapter: true },
  engine: 'js',
  adapter: async () => new Adapter({}),     // PGHOST and so on say where
});

# activerecord.rb: ActiveRecord, with fixtures and schema.rb.
require "json"
require "stringio"
require "tmpdir"
require_relative "check"
require_relative "snowflake"

require "active_record"
require "active_record/fixtures"

ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"],
  database: ENV["PGDATABASE"], username: ENV["PGUSER"], password: ENV["PGPASSWORD"]
)
ActiveRecord::Migration.verbose = false

# 7.1 to 8.0 write create_schema into schema.rb for every schema.
ActiveSupport.on_load(:active_record_postgresqladapter) do
  prepend(Module.new { def schema_names = super - ["seqid"] })
end

class CreateOrders < ActiveRecord::Migration[6.1]
  def change
    create_table :orders, id: :bigint, default: -> { "snowflake_nextblock(5, 1)" } do |t|
      t.text :item, null: false
    end
  end
end
CreateOrders.migrate(:up)

class Order < ActiveRecord::Base
end

order = Order.create!(item: "apples")
many = Order.insert_all!([{ item: "pears" }, { item: "plums" }, { item: "figs" }])
found = Order.find(order.id)
page = Order.where("id > ?", order.id).order(:id).limit(2)

check("an id is an Integer, and large", order.id.is_a?(Integer) && order.id > 2**53, order.id)
same("many ids come back, in order", many.rows.flatten, many.rows.flatten.sort)
same("all of them", many.rows.length, 3)
same("found by its key", found.item, "apples")
same("the page after it", page.map(&:item), %w[pears plums])

Order.create!(id: OLD, item: "an old one")
range = Order.where(id: Snowflake.first_id(MARCH_1)...Snowflake.first_id(MARCH_2))
same("found by a range of time, whole", range.map(&:id), [OLD])
same("in_batches goes by the key", Order.in_batches(of: 2).map(&:count).sum, 5)

# decoding
connection = ActiveRecord::Base.connection
server = connection.select_one("SELECT * FROM snowflake_parts(#{order.id})")
same("the client sees what the server sees",
     Snowflake.parts(order.id).values_at(:shard, :sequence), server.values_at("shard", "sequence"))
same("the time, too", Snowflake.parts(order.id)[:created_at], server["created_at"])
same("the first id of a time, too", Snowflake.first_id(MARCH_1),
     connection.select_value("SELECT snowflake_first('2024-03-01 00:00+00')"))
same("decodes #{vectors("snowflake").length} vectors", vectors("snowflake").reject { |id, time, shard, sequence|
  Snowflake.parts(id.to_i) == { created_at: Time.parse(time), shard: shard.to_i, sequence: sequence.to_i }
}, [])
same("decodes #{vectors("comb").length} COMBs", vectors("comb").reject { |uuid, time|
  Snowflake.comb_time(uuid) == Time.parse(time).floor(3)
}, [])

# JSON
same("Ruby's JSON keeps all digits", JSON.parse(range.first.to_json)["id"], OLD)
class Order
  def as_json(*)                            # JavaScript reads it as a double
    super.merge("id" => id.to_s)
  end
end
same("a string of digits, for JavaScript", range.first.to_json, %({"id":"#{OLD}","item":"an old one"}))

# Fixtures end with reset_pk_sequence!.
def load_fixture(table)
  Dir.mktmpdir do |directory|
    File.write("#{directory}/#{table}.yml", "cherries:\n  item: cherries\n")
    ActiveRecord::FixtureSet.reset_cache
    ActiveRecord::FixtureSet.create_fixtures(directory, table)
  end
end

load_fixture("orders")
same("fixtures replace what is there", Order.pluck(:item), ["cherries"])
same("and a row after them has a key", Order.create!(item: "after").item, "after")

dumped = StringIO.new
ActiveRecord::SchemaDumper.dump(connection, dumped)
check("schema.rb has the extension", dumped.string.include?(%(enable_extension "seqid")), dumped.string)
check("and the default", dumped.string.include?(
  %(create_table "orders", id: :bigint, default: -> { "snowflake_nextblock((5)::bigint, (1)::bigint)" })), dumped.string)
same("and nothing else", dumped.string.scan(/^ *(\w+) "(\w+)"/),
     [%w[enable_extension plpgsql], %w[enable_extension seqid], %w[create_table orders]])

# rails db:test:prepare, and db:schema:load
connection.recreate_database("shop_test")
ActiveRecord::Base.establish_connection(connection.pool.db_config.configuration_hash.merge(database: "shop_test"))
2.times { eval(dumped.string) }             # the second time over what is there
loaded = StringIO.new
ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, loaded)
same("it loads, and is the same again", loaded.string, dumped.string)
same("a row of the new database has a key", Order.create!(item: "apples").item, "apples")
ActiveRecord::Base.establish_connection(connection.pool.db_config.configuration_hash)
connection = ActiveRecord::Base.connection

# The shard of the server, see seqid.shards.
class CreateInvoices < ActiveRecord::Migration[6.1]
  def change
    create_table :invoices, id: :bigint, default: -> { "snowflake_nextblock(1)" } do |t|
      t.text :item, null: false
    end
  end
end
CreateInvoices.migrate(:up)

class Invoice < ActiveRecord::Base
end

load_fixture("invoices")
same("fixtures load with the shard of the server", Invoice.pluck(:item), ["cherries"])

# done wrong
connection.execute("CREATE TABLE receipts (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text)")
fails("a default with nextval in its name is taken for a sequence", 'relation "public" does not exist') { load_fixture("receipts") }
fails("by reset_pk_sequence!", 'relation "public" does not exist') { connection.reset_pk_sequence!("receipts") }

puts "end"

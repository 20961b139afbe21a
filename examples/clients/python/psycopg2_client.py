"""psycopg 2: ids are Python's int, which has no limit."""
from check import MARCH_1, MARCH_2, OLD, check, end, same, vector_time, vectors
from snowflake import MILLISECOND, comb_time, first_id, parts

import json
import uuid

import psycopg2
from psycopg2.extras import execute_values, register_uuid

db = psycopg2.connect("")                   # PGHOST, PGDATABASE and so on say where
cursor = db.cursor()

cursor.execute("""
    CREATE TABLE orders (
        id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
        item text NOT NULL)""")
cursor.execute("INSERT INTO orders (item) VALUES (%s) RETURNING id", ["apples"])
order_id, = cursor.fetchone()
many = execute_values(cursor, "INSERT INTO orders (item) VALUES %s RETURNING id",
                      [["pears"], ["plums"], ["figs"]], fetch=True)
cursor.execute("SELECT * FROM orders WHERE id = %s", [order_id])
found = cursor.fetchone()
cursor.execute("SELECT * FROM orders WHERE id > %s ORDER BY id LIMIT 2", [order_id])
page = cursor.fetchall()
db.commit()

same("an id is an int", type(order_id), int)
same("many ids come back, in order", sorted(many), many)
same("all of them", len(many), 3)
same("found by its key", found, (order_id, "apples"))
same("the page after it", [item for _, item in page], ["pears", "plums"])

cursor.execute("INSERT INTO orders VALUES (%s, 'an old one')", [OLD])
cursor.execute("SELECT id FROM orders WHERE id >= %s AND id < %s", [first_id(MARCH_1), first_id(MARCH_2)])
same("found by a range of time, whole", cursor.fetchall(), [(OLD,)])
cursor.execute("SELECT id FROM orders WHERE id >= snowflake_first(%s) AND id < snowflake_first(%s)", [MARCH_1, MARCH_2])
same("also by the server's functions", cursor.fetchall(), [(OLD,)])

# decoding
cursor.execute("SELECT created_at, shard, sequence FROM snowflake_parts(%s)", [order_id])
same("the client sees what the server sees", parts(order_id), cursor.fetchone())
cursor.execute("SELECT snowflake_first(%s)", [MARCH_1])
same("the first id of a time, too", first_id(MARCH_1), cursor.fetchone()[0])
same(f"decodes {len(vectors('snowflake'))} vectors",
     [v for v in vectors("snowflake") if parts(int(v[0])) != (vector_time(v[1]), int(v[2]), int(v[3]))], [])
same(f"decodes {len(vectors('comb'))} COMBs",
     [v for v in vectors("comb")
      if comb_time(uuid.UUID(v[0])) != vector_time(v[1]).replace(
          microsecond=vector_time(v[1]).microsecond // 1000 * 1000)], [])

# UUIDs
register_uuid()
cursor.execute("SELECT comb_uuid(), comb_uuid_timestamp(comb_uuid())")
comb, made = cursor.fetchone()
same("with register_uuid(), a COMB is a UUID", (type(comb), comb.version), (uuid.UUID, 7))
check("of that time", abs(comb_time(comb) - made) < 1000 * MILLISECOND * 60, (comb_time(comb), made))

# JSON
same("Python's JSON keeps all digits", json.loads(json.dumps({"id": OLD})), {"id": OLD})
cursor.execute("SELECT to_json(o) FROM orders o WHERE id = %s", [OLD])
same("to_json, read by Python, too", cursor.fetchone()[0]["id"], OLD)
same("but with numbers read as doubles it is another",
     json.loads(json.dumps({"id": OLD}), parse_int=float)["id"] == OLD, False)

# done wrong
check("a float loses digits", int(float(OLD)) != OLD)
cursor.execute("SELECT count(*) FROM orders WHERE id = %s", [int(float(OLD))])
same("and the row is not found any more", cursor.fetchone(), (0,))

db.close()
end()

"""asyncpg: ids are int, and parameters must be, too."""
from check import MARCH_1, MARCH_2, OLD, check, end, same
from snowflake import first_id, parts

import asyncio

import asyncpg


async def main():
    db = await asyncpg.connect()            # PGHOST, PGDATABASE and so on say where

    await db.execute("""
        CREATE TABLE orders (
            id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
            item text NOT NULL)""")
    order_id = await db.fetchval("INSERT INTO orders (item) VALUES ($1) RETURNING id", "apples")
    many = await db.fetch("INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id",
                          ["pears", "plums", "figs"])
    found = await db.fetchrow("SELECT * FROM orders WHERE id = $1", order_id)
    page = await db.fetch("SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT 2", order_id)

    same("an id is an int", type(order_id), int)
    same("many ids come back, in order", sorted(row["id"] for row in many), [row["id"] for row in many])
    same("all of them", len(many), 3)
    same("found by its key", tuple(found), (order_id, "apples"))
    same("the page after it", [row["item"] for row in page], ["pears", "plums"])

    await db.execute("INSERT INTO orders VALUES ($1, 'an old one')", OLD)
    rows = await db.fetch("SELECT id FROM orders WHERE id >= $1 AND id < $2", first_id(MARCH_1), first_id(MARCH_2))
    same("found by a range of time, whole", [row["id"] for row in rows], [OLD])
    rows = await db.fetch("SELECT id FROM orders WHERE id >= snowflake_first($1) AND id < snowflake_first($2)",
                          MARCH_1, MARCH_2)
    same("also by the server's functions", [row["id"] for row in rows], [OLD])
    created_at, shard, sequence = await db.fetchrow("SELECT * FROM snowflake_parts($1)", order_id)
    same("the client sees what the server sees", parts(order_id), (created_at, shard, sequence))

    # COPY, whose rows take the default where the column is not named
    await db.copy_records_to_table("orders", records=[("lemons",), ("limes",)], columns=["item"])
    same("COPY draws keys, too",
         await db.fetchval("SELECT count(DISTINCT id) FROM orders WHERE item IN ('lemons', 'limes')"), 2)
    comb = await db.fetchval("SELECT comb_uuid()")
    same("a COMB is a UUID", comb.version, 7)

    # done wrong
    try:
        await db.fetchrow("SELECT * FROM orders WHERE id = $1", str(OLD))
        check("the digits as a string are refused", False, "no error")
    except asyncpg.DataError:
        check("the digits as a string are refused", True)
    same("a float finds no row", await db.fetchrow("SELECT * FROM orders WHERE id = $1", int(float(OLD))), None)

    await db.close()
    end()


asyncio.run(main())

// pgx.go: pgx, version 4.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v4"
)

type Order struct {
	ID   int64  `json:"id,string"` // JavaScript reads numbers as doubles
	Item string `json:"item"`
}

var ctx = context.Background()

func query(db *pgx.Conn, text string, values ...interface{}) (orders []Order) {
	rows, err := db.Query(ctx, text, values...)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var o Order
		must(rows.Scan(&o.ID, &o.Item))
		orders = append(orders, o)
	}
	must(rows.Err())
	return
}

func main() {
	db, err := pgx.Connect(ctx, "") // PGHOST, PGDATABASE and so on say where
	must(err)

	_, err = db.Exec(ctx, `CREATE TABLE orders (
		id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
		item text NOT NULL)`)
	must(err)
	var id int64
	err = db.QueryRow(ctx, "INSERT INTO orders (item) VALUES ($1) RETURNING id", "apples").Scan(&id)
	must(err)
	many := query(db, "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id, item",
		[]string{"pears", "plums", "figs"})
	found := query(db, "SELECT * FROM orders WHERE id = $1", id)
	page := query(db, "SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT 2", id)

	check("an id is an int64, and large", id > 1<<53, id)
	same("many ids come back", len(many), 3)
	check("in order", many[0].ID < many[1].ID && many[1].ID < many[2].ID, many)
	same("found by its key", found, []Order{{id, "apples"}})
	same("the page after it", page, many[:2])

	_, err = db.Exec(ctx, "INSERT INTO orders VALUES ($1, 'an old one')", old)
	must(err)
	oldOne := []Order{{old, "an old one"}}
	same("found by a range of time, whole",
		query(db, "SELECT * FROM orders WHERE id >= $1 AND id < $2", firstID(march1), firstID(march2)), oldOne)
	same("also by the server's functions",
		query(db, "SELECT * FROM orders WHERE id >= snowflake_first($1) AND id < snowflake_first($2)", march1, march2), oldOne)

	var createdAt time.Time
	var shard, sequence int64
	must(db.QueryRow(ctx, "SELECT * FROM snowflake_parts($1)", id).Scan(&createdAt, &shard, &sequence))
	hereAt, hereShard, hereSequence := parts(id)
	same("the client sees what the server sees",
		fmt.Sprint(hereAt.UnixMilli(), hereShard, hereSequence), fmt.Sprint(createdAt.UnixMilli(), shard, sequence))
	checkVectors()

	// COPY, whose rows take the default where the column is not named
	copied, err := db.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"item"},
		pgx.CopyFromRows([][]interface{}{{"lemons"}, {"limes"}}))
	must(err)
	same("CopyFrom draws keys, too", copied, 2)

	// done wrong
	var narrow int32
	err = db.QueryRow(ctx, "SELECT id FROM orders WHERE id = $1", old).Scan(&narrow)
	check("an int32 is refused", err != nil, narrow)
	var float float64
	must(db.QueryRow(ctx, "SELECT id::float8 FROM orders WHERE id = $1", old).Scan(&float))
	check("a float64 loses digits", int64(float) != old, float)

	must(db.Close(ctx))
	fmt.Println("end")
}

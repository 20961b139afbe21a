// pq.go: database/sql with lib/pq. LastInsertId does not exist; RETURNING does.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"
)

type Order struct {
	ID   int64  `json:"id,string"` // JavaScript reads numbers as doubles
	Item string `json:"item"`
}

func query(db *sql.DB, text string, values ...interface{}) (orders []Order) {
	rows, err := db.Query(text, values...)
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
	db, err := sql.Open("postgres", "sslmode=disable") // PGHOST, PGDATABASE and so on say where
	must(err)

	_, err = db.Exec(`CREATE TABLE orders (
		id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
		item text NOT NULL)`)
	must(err)
	var id int64
	err = db.QueryRow("INSERT INTO orders (item) VALUES ($1) RETURNING id", "apples").Scan(&id)
	must(err)
	many := query(db, "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id, item",
		pq.Array([]string{"pears", "plums", "figs"}))
	found := query(db, "SELECT * FROM orders WHERE id = $1", id)
	page := query(db, "SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT 2", id)

	check("an id is an int64, and large", id > 1<<53, id)
	same("many ids come back", len(many), 3)
	check("in order", many[0].ID < many[1].ID && many[1].ID < many[2].ID, many)
	same("found by its key", found, []Order{{id, "apples"}})
	same("the page after it", page, many[:2])

	_, err = db.Exec("INSERT INTO orders VALUES ($1, 'an old one')", old)
	must(err)
	oldOne := []Order{{old, "an old one"}}
	same("found by a range of time, whole",
		query(db, "SELECT * FROM orders WHERE id >= $1 AND id < $2", firstID(march1), firstID(march2)), oldOne)
	same("also by the server's functions",
		query(db, "SELECT * FROM orders WHERE id >= snowflake_first($1) AND id < snowflake_first($2)", march1, march2), oldOne)

	var createdAt time.Time
	var shard, sequence int64
	must(db.QueryRow("SELECT * FROM snowflake_parts($1)", id).Scan(&createdAt, &shard, &sequence))
	hereAt, hereShard, hereSequence := parts(id)
	same("the client sees what the server sees",
		fmt.Sprint(hereAt.UnixMilli(), hereShard, hereSequence), fmt.Sprint(createdAt.UnixMilli(), shard, sequence))
	checkVectors()

	// JSON
	text, err := json.Marshal(oldOne[0])
	must(err)
	same("json:\"id,string\" writes a string", string(text), fmt.Sprintf(`{"id":"%d","item":"an old one"}`, old))

	// done wrong
	var anything map[string]interface{}
	must(json.Unmarshal([]byte(fmt.Sprintf(`{"id":%d}`, old)), &anything))
	check("JSON into interface{} is a float64 and loses digits", int64(anything["id"].(float64)) != old, anything)
	result, err := db.Exec("INSERT INTO orders (item) VALUES ('cherries')")
	must(err)
	_, err = result.LastInsertId()
	check("LastInsertId is refused", err != nil, "no error")

	must(db.Close())
	fmt.Println("end")
}

// check.go: what the programs here share: a line for each check, and the vectors.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

// An id that a double cannot hold, and the day it was made.
const old = int64(154173452582932603)

var march1 = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
var march2 = time.Date(2024, 3, 2, 0, 0, 0, 0, time.UTC)

func check(what string, ok bool, seen interface{}) {
	if ok {
		fmt.Println("ok", what)
	} else {
		fmt.Printf("not ok %s: %v\n", what, seen)
	}
}

func same(what string, seen, expected interface{}) {
	check(what, fmt.Sprint(seen) == fmt.Sprint(expected), fmt.Sprint(seen, ", not ", expected))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func vectors(kind string) (rows [][]string) {
	text, err := os.ReadFile("../vectors.tsv")
	must(err)
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Split(line, "\t"); fields[0] == kind {
			rows = append(rows, fields[1:])
		}
	}
	return
}

func vectorTime(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.000000-07", text)
	must(err)
	return t
}

// What the client decodes, of vectors.
func checkVectors() {
	var wrong []string
	for _, v := range vectors("snowflake") {
		var id int64
		fmt.Sscan(v[0], &id)
		createdAt, shard, sequence := parts(id)
		if !createdAt.Equal(vectorTime(v[1])) || fmt.Sprint(shard, sequence) != v[2]+" "+v[3] ||
			firstID(createdAt) != id>>22<<22 {
			wrong = append(wrong, v[0])
		}
	}
	same(fmt.Sprintf("decodes %d vectors", len(vectors("snowflake"))), wrong, []string(nil))
	wrong = nil
	for _, v := range vectors("comb") {
		if !combTime(v[0]).Equal(vectorTime(v[1]).Truncate(time.Millisecond)) {
			wrong = append(wrong, v[0])
		}
	}
	same(fmt.Sprintf("decodes %d COMBs", len(vectors("comb"))), wrong, []string(nil))
}

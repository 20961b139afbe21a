// snowflake.go: keys taken apart, and ranges of time put together.
package main

import (
	"strconv"
	"time"
)

var epoch = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

func parts(id int64) (createdAt time.Time, shard, sequence int64) {
	return time.UnixMilli(id>>22 + epoch), id >> 12 & 1023, id & 4095
}

// The smallest id of a time: rows made in March are those of firstID(1 March) or
// above, and below firstID(1 April).
func firstID(t time.Time) int64 {
	return (t.UnixMilli() - epoch) << 22
}

// When a COMB, or any UUID of version 7, was made.
func combTime(uuid string) time.Time {
	ms, _ := strconv.ParseInt(uuid[:8]+uuid[9:13], 16, 64)
	return time.UnixMilli(ms)
}

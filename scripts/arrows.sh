#!/usr/bin/env bash
# arrows.sh: checks that the rooms of src/ know of those below them only.
#
# Prints each include that goes up, and a line 'N passed, N failed', one for each
# file.  See src/README.md for what the rooms are.
set -euo pipefail

cd "$(dirname "$0")/.."

awk '
	# From the lowest room upwards; what lies in src/ itself is above them all.
	function floor(room) { return index(" bits pg state clock keys intern ", " " room " ") }
	function room_of(path) { return split(path, parts, "/") > 2 ? parts[2] : "top" }

	FNR == 1 {
		files++
		room = room_of(FILENAME)
		height = room == "top" ? 1000 : floor(room)
		if (height == 0) {
			printf "%s: \"%s\" is no room\n", FILENAME, room
			bad[FILENAME] = 1
		}
	}
	/^#include "/ {
		split($2, name, "\"")
		included = name[2]
		target = included
		sub("/.*", "", target)
		# of the files in our rooms; all others are the server'"'"'s
		if ((getline line < ("src/" included)) < 0)
			next
		close("src/" included)
		if (floor(target) == 0 || floor(target) > height) {
			printf "%s: includes %s, which is above it\n", FILENAME, included
			bad[FILENAME] = 1
		}
	}
	END {
		failed = length(bad)
		printf "%d passed, %d failed\n", files - failed, failed
		exit failed > 0
	}' src/*.c src/*/*.[ch]

# plots.sh: the results as tab-separated files, and as pictures of these.  To be
# sourced, by bash, with $out and $work set.
#
# Colours are told apart by lightness too, and lines by dashes and points, so that the
# pictures can be read in black and white.  seqid's kinds come first, then
# PostgreSQL's, then those of peers.

write_results()
{
	sql -c "COPY (SELECT part, subject, metric, rounds, median, smallest, largest FROM median ORDER BY n)
	        TO STDOUT (FORMAT csv, DELIMITER E'\t', HEADER)" >"$out/results.tsv"
	sql -c "COPY (SELECT part, kind, rows, avg(density) AS density, avg(fragmentation) AS fragmentation,
	                     avg(index_size)::bigint AS index_size
	                FROM growth GROUP BY part, kind, rows ORDER BY part, kind, rows)
	        TO STDOUT (FORMAT csv, DELIMITER E'\t', HEADER)" >"$out/growth.tsv"
	printf '%s\n' "$caption" >"$out/machine.txt"
}

# in_order: lines that begin with a subject, in the order in which they are drawn, with
# its origin and place put before: 1 is seqid's, 2 PostgreSQL's, 3 a peer's, 4 what
# keys are compared with.
in_order()
{
	awk -F '\t' -v OFS='\t' '
		function origin(subject)
		{
			if (subject ~ /^(snowflake|comb|uuid_|scatter|horizon)/)
				return 1
			if (subject ~ /^peer /)
				return 3
			return subject ~ /^(the query alone|no reader)$/ ? 4 : 2
		}
		function place(subject)
		{
			for (i = 1; i <= kinds; i++)
				if (index(subject, kind[i]) == 1)
					return i
			return kinds + 1
		}
		BEGIN { kinds = split("snowflake comb uuid_time uuid_sequence", kind, " ") }
		{ print origin($1), place($1), NR, $0 }' |
		sort -t $'\t' -k 1,1n -k 2,2n -k 3,3n | cut -f 1,3-
}

# What all plots have: SVG, black on white, the machine and the command below.
plot()
{
	local name=$1 title=$2

	gnuplot <<-PLOT
		set terminal svg size 800,420 noenhanced font 'sans-serif,12' background 'white'
		set output '$out/$name.svg'
		set title "$title"
		set label 1 "$(sed 's/; /\\n/' "$out/machine.txt")" at screen 0.5,0.055 center font 'sans-serif,9'
		set bmargin 6
		set border 3
		set tics nomirror
		set datafile separator "\t"
		$(cat)
	PLOT
}

# bars NAME TITLE PART METRIC FACTOR FORMAT [log]: a bar for each subject, with its
# figure; the whiskers go from the smallest to the largest round.  The axis begins at
# 0, or is logarithmic.  From dark to light: seqid's, PostgreSQL's, peers'; what they
# are compared with is empty.
bars()
{
	local axis="set yrange [0:*]"

	[ "${7:-}" != log ] || axis="set logscale y; set yrange [1:*]"
	awk -F '\t' -v OFS='\t' -v part="$3" -v metric="$4" -v factor="$5" '
		$1 == part && $3 == metric { print $2, $5 * factor, $6 * factor, $7 * factor }' "$out/results.tsv" |
		in_order >"$work/bars.tsv"
	[ -s "$work/bars.tsv" ] || return 0
	plot "$1" "$2" <<-PLOT
		set style fill solid border lc 'black'
		set boxwidth 0.6
		$axis
		set offsets graph 0.02, graph 0.02, graph 0.12, 0
		set xtics rotate by -20 font 'sans-serif,10'
		set bmargin 7
		set grid ytics lc 'gray'
		set key above right samplen 1.5
		set xtics ($(awk -F '\t' '{ printf "%s\"%s\" %d", (NR > 1 ? ", " : ""), $3, NR - 1 }' "$work/bars.tsv"))
		of(wanted) = int(column(1)) == wanted ? column(4) : NaN
		plot '$work/bars.tsv' using 0:(of(1)) with boxes lc '#08407e' title 'seqid', \
		     '' using 0:(of(2)) with boxes lc '#f0a858' title 'PostgreSQL', \
		     $(awk -F '\t' '$1 == 3 { n = 1 } END { if (n) print "\x27\x27 using 0:(of(3)) with boxes lc \x27#d8d8d8\x27 title \x27others\x27," }' "$work/bars.tsv") \
		     '' using 0:(of(4)) with boxes lc 'white' notitle, \
		     '' using 0:5:(0):(\$6 - \$5) with vectors nohead lc 'white' lw 5 notitle, \
		     '' using 0:5:(0):(\$6 - \$5) with vectors nohead lc 'black' lw 2 notitle, \
		     '' using 0:6:(sprintf('$6', \$4)) with labels offset 0,0.8 font 'sans-serif,10' notitle
	PLOT
}

# style_of KIND N: the same in every picture; of others, the Nth in a picture.  seqid's
# are dark and thick, so that one which lies on the same curve is seen on them.
style_of()
{
	case $1 in
		snowflake) echo "lc '#08407e' dt 1 lw 5 pt 7 ps 0.9" ;;
		comb) echo "lc '#2e86c8' dt 1 lw 5 pt 5 ps 0.9" ;;
		uuid_time) echo "lc '#000000' dt 3 lw 4 pt 9 ps 1" ;;
		uuid_sequence) echo "lc '#2c7a6b' dt 5 lw 4 pt 13 ps 1.1" ;;
		bigserial) echo "lc '#e8a860' dt 1 lw 1.5 pt 6 ps 0.9" ;;
		cached) echo "lc '#b8772e' dt 2 lw 1.5 pt 4 ps 0.9" ;;
		random) echo "lc '#e0603c' dt 4 lw 1.5 pt 8 ps 1" ;;
		'core uuidv7') echo "lc '#f5b040' dt 2 lw 2 pt 12 ps 1.2" ;;
		*) echo "lc '#909090' dt $2 lw 1 pt $((14 + $2 % 2))" ;;
	esac
}

# lines NAME TITLE PART COLUMN LABEL [FACTOR]: an index as its table grows.  COLUMN is
# one of growth.tsv, by number.
lines()
{
	local kind n=0 plots=""

	while IFS= read -r kind; do
		n=$((n + 1))
		awk -F '\t' -v OFS='\t' -v part="$3" -v kind="$kind" -v n="$4" -v factor="${6:-1}" '
			$1 == part && $2 == kind { print $3 / 1e6, $n * factor }' "$out/growth.tsv" >"$work/line$n.tsv"
		plots+="${plots:+, }'$work/line$n.tsv' using 1:2 with linespoints $(style_of "$kind" "$n") title '$kind'"
	done < <(awk -F '\t' -v part="$3" '$1 == part && !seen[$2]++ { print $2 }' "$out/growth.tsv" | in_order | cut -f 3)
	[ -n "$plots" ] || return 0
	plot "$1" "$2" <<-PLOT
		set key outside right samplen 5
		set xlabel 'million rows inserted'
		set ylabel '$5'
		set yrange [0:*]
		set grid ytics lc 'gray'
		plot $plots
	PLOT
}

draw_plots()
{
	bars throughput "Million keys a second, 8 clients, 1,000 keys a transaction, commits flushed" contended keys/s 1e-6 '%.1f'
	bars inserts "Thousand rows a second, INSERT .. SELECT" insert rows/s 1e-3 '%.0f'
	bars wal "Bytes of WAL a row, INSERT .. SELECT" insert 'WAL bytes/row' 1 '%.0f'
	bars order "Keys smaller than the one before, in percent, 8 clients inserting" order misordered 1 '%.2f'
	bars fragmentation "Fragmentation of the index in percent, 8 clients inserting" order fragmentation 1 '%.0f'
	bars outbox "Milliseconds from a commit to when its row is seen, median" outbox p0.5 1 '%.0f' log
	bars outbox_writers "Transactions a second of 8 clients that write an outbox" outbox tps 1 '%.0f'
	lines wrap "Index size: old rows deleted, but for one in twenty" wrap 6 'MB' 1e-6
}

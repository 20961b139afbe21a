# plots.sh: the results as tab-separated files, and as pictures.

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

# What all plots have: SVG, black on white, the machine and the command below.
plot()
{
	local name=$1 title=$2

	gnuplot <<-PLOT
		set terminal svg size 800,420 noenhanced font 'sans-serif,12' background 'white'
		set output '$out/$name.svg'
		set title "$title"
		set label 1 "$caption" at screen 0.5,0.025 center font 'sans-serif,9'
		set bmargin 5
		set border 3
		set tics nomirror
		set datafile separator "\t"
		$(cat)
	PLOT
}

# bars NAME TITLE PART METRIC FACTOR FORMAT [log]: a bar for each subject, with its
# figure; the whiskers go from the smallest to the largest round.  The axis begins at
# 0, or is logarithmic.
bars()
{
	local axis="set yrange [0:*]"

	[ "${7:-}" != log ] || axis="set logscale y; set yrange [1:*]"
	value "SELECT subject || E'\t' || median * $5 || E'\t' || smallest * $5 || E'\t' || largest * $5
	         FROM median WHERE part = '$3' AND metric = '$4' ORDER BY n" >"$work/bars.tsv"
	[ -s "$work/bars.tsv" ] || return 0
	plot "$1" "$2" <<-PLOT
		set style fill pattern 4 border -1
		set boxwidth 0.6
		$axis
		set offsets graph 0.02, graph 0.02, graph 0.12, 0
		set xtics rotate by -20 font 'sans-serif,10'
		set bmargin 6
		set grid ytics lc 'gray'
		unset key
		plot '$work/bars.tsv' using 0:2:xtic(1) with boxes lc 'black' title 'median', \
		     '' using 0:3:(0):(\$4 - \$3) with vectors nohead lc 'black' lw 2, \
		     '' using 0:4:(sprintf('$6', \$2)) with labels offset 0,0.8 font 'sans-serif,10'
	PLOT
}

# lines NAME TITLE PART COLUMN LABEL: an index as its table grows.
lines()
{
	local kind n=0 plots=""

	while IFS= read -r kind; do
		n=$((n + 1))
		value "SELECT rows || E'\t' || avg($4) FROM growth WHERE part = '$3' AND kind = '$kind'
		        GROUP BY rows ORDER BY rows" >"$work/line$n.tsv"
		plots+="${plots:+, }'$work/line$n.tsv' using (\$1 / 1e6):2 with linespoints lc 'black' dt $n pt $n title '$kind'"
	done < <(value "SELECT kind FROM growth WHERE part = '$3' GROUP BY kind ORDER BY max($4) DESC, kind")
	[ -n "$plots" ] || return 0
	plot "$1" "$2" <<-PLOT
		set key outside right
		set xlabel 'million rows inserted'
		set ylabel '$5'
		set yrange [0:*]
		set grid ytics lc 'gray'
		plot $plots
	PLOT
}

draw_plots()
{
	bars throughput "Million keys a second, 8 clients, 1,000 keys a transaction" contended keys/s 1e-6 '%.1f'
	bars inserts "Thousand rows a second, INSERT .. SELECT" insert rows/s 1e-3 '%.0f'
	bars wal "Bytes of WAL a row, INSERT .. SELECT" insert 'WAL bytes/row' 1 '%.0f'
	bars order "Keys smaller than the one before, in per cent, 8 clients inserting" order misordered 1 '%.2f'
	bars outbox "Milliseconds from a commit to when its row is seen, median" outbox p0.5 1 '%.0f' log
	bars outbox_writers "Transactions a second of 8 clients that write an outbox" outbox tps 1 '%.0f'
	lines fragmentation "Fragmentation of the index, 8 clients inserting" order fragmentation 'leaf fragmentation, %'
	lines wrap "Index size: old rows deleted, but for one in twenty" wrap 'index_size / 1e6' 'MB'
}

# wrap: a table whose old rows are deleted, but for some that stay: one in twenty.
# Pages that keys fill in order stay as sparse as the rows that stayed; blocks that
# wrap around fill them again.

part_wrap()
{
	local kind step steps=24 rows=$((size * 1000))

	while IFS= read -r kind; do
		sql -v kind="$kind" -v rows="$rows" <<-'SQL' >/dev/null
			CREATE SEQUENCE sequence_wrap;
			SELECT format('CREATE TABLE wrapped (n bigserial, id %s PRIMARY KEY DEFAULT %s)', type,
			              CASE name WHEN 'uuid_sequence'
			                        THEN format('uuid_sequence_nextval(''sequence_wrap'', %s, 16)', :rows / 4)
			                        ELSE key END)
			  FROM kind WHERE name = :'kind' \gexec
		SQL
		for step in $(seq $steps); do
			progress "wrap: $kind, step $step of $steps"
			# A quarter of the blocks a step: all come again every four steps.
			sql -v kind="$kind" -v rows="$rows" -v step="$step" <<-'SQL'
				INSERT INTO wrapped SELECT FROM generate_series(1, :rows);
				DELETE FROM wrapped WHERE n <= :rows * (:step - 2) AND n > :rows * (:step - 3) AND n % 20 <> 0;
				VACUUM wrapped;
				INSERT INTO growth SELECT 'wrap', :'kind', :rows * :step,
				       avg_leaf_density, leaf_fragmentation, index_size FROM pgstatindex('wrapped_pkey');
			SQL
		done
		sql -c "DROP TABLE wrapped" -c "DROP SEQUENCE sequence_wrap"
	done < <(value "SELECT name FROM kind WHERE name IN ('bigserial', 'snowflake', 'comb', 'uuid_sequence', 'random', 'core uuidv7') ORDER BY n")
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'wrap: index after every eighth step; old rows deleted but for one in twenty'
		SELECT kind, rows, pg_size_pretty(index_size) AS "index size", density AS "leaf density %"
		  FROM (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY rows) AS step FROM growth WHERE part = 'wrap') g
		 WHERE step % 8 = 0 ORDER BY kind, rows;
	SQL
}

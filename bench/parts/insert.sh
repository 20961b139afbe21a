# insert: INSERT ... SELECT into an empty table; rows a second, WAL, and the index.

part_insert()
{
	local round kind rows=$((size * 10000))

	for round in $(seq "$rounds"); do
		while IFS= read -r kind; do
			progress "insert: round $round of $rounds: $kind"
			sql -v kind="$kind" -v rows="$rows" <<-'SQL' >/dev/null
				SELECT fill('insert', :'kind', :rows);
			SQL
		done < <(value "SELECT name FROM kind ORDER BY n")
	done
	progress_end

	sql <<-'SQL'
		\echo
		\echo 'insert: INSERT .. SELECT, primary key and one integer'
		SELECT * FROM filled('insert');
	SQL
}

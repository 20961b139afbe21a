# cache: the same with an index that is larger than shared_buffers (32 MB).  Takes
# long, so that it is done in a third of the rounds.

part_cache()
{
	local round kind rows=$((size * 50000)) times=$(((rounds + 1) / 3))

	stop_server
	start_server 32MB
	for round in $(seq "$times"); do
		while IFS= read -r kind; do
			progress "cache: round $round of $times: $kind"
			sql -v kind="$kind" -v rows="$rows" <<-'SQL' >/dev/null
				SELECT fill('cache', :'kind', :rows);
			SQL
		done < <(value "SELECT name FROM kind WHERE name <> 'cached' ORDER BY n")
	done
	progress_end
	stop_server
	start_server "$shared_buffers"

	sql <<-'SQL'
		\echo
		\echo 'cache: the same with shared_buffers = 32MB'
		SELECT * FROM filled('cache');
	SQL
}

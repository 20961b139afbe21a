# outbox.sh: an outbox that is read by hand, while a writer's transaction is open.
set -eu

sql()
{
	psql -X -q -At -v ON_ERROR_STOP=1 "$@"
}

# same WHAT SEEN EXPECTED
same()
{
	[ "$2" = "$3" ] && echo "ok $1" || echo "not ok $1: '$2', not '$3'"
}

# tell STATEMENT: to the writer, until it has done it.
tell()
{
	echo "$1; SELECT 'done';" >&"${writer[1]}"
	read -r -t 60 answer <&"${writer[0]}"
}

# What poll.sql gives, which the reader has then seen; its topics are in $topics.
poll()
{
	topics=$(sql -F ' ' -f poll.sql)
	topics=$(printf '%s' "$topics" | sed 's/^[0-9]* //' | tr '\n' ' ')
}

sql <<-'SQL'
	CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), topic text NOT NULL);
	CREATE TABLE outbox_reader (name text PRIMARY KEY, last_id bigint NOT NULL DEFAULT 0);
	INSERT INTO outbox_reader (name) VALUES ('by hand');
SQL
coproc writer { sql; }
tell "BEGIN; INSERT INTO outbox (topic) VALUES ('slow')"
sql -c "INSERT INTO outbox (topic) VALUES ('quick')"
# The first poll of this database, and the horizon is one that can be compared.
poll
same "nothing is settled while the transaction of the first key is open" "$topics" ''
last=$(sql -c "SELECT max(id) FROM outbox")
tell "COMMIT"

# Within a millisecond of the last key, the horizon has not passed it.
seen=
for try in $(seq 1000); do
	poll
	seen=$(echo $seen $topics)
	[ "${seen%quick*}" = "$seen" ] || break
done
same "then both come, in the order of their keys" "$seen" 'slow quick'
poll
same "and once" "$topics" ''

# done wrong
same "who goes on from the last key that he saw loses one" \
	"$(sql -c "SELECT topic FROM outbox WHERE id > $last")" ''
same "as that has a smaller key" "$(sql -c "SELECT topic FROM outbox WHERE id < $last")" slow

exec {writer[1]}>&-
wait
echo end

/*
 * libpq.c
 *	  libpq with binary parameters and results: a bigint is 8 bytes in network order.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#define INT8OID		20
#define TEXTOID		25

/* An id that a double cannot hold. */
#define OLD			INT64_C(154173452582932603)

/* 2023-01-01 00:00:00 UTC, in milliseconds since 1970 */
#define EPOCH_MS	INT64_C(1672531200000)

/* The parts of a snowflake; the time is in milliseconds since 1970. */
static int64_t
snowflake_ms(int64_t id)
{
	return (id >> 22) + EPOCH_MS;
}

static int
snowflake_shard(int64_t id)
{
	return id >> 12 & 1023;
}

static int
snowflake_sequence(int64_t id)
{
	return id & 4095;
}

/* The smallest id of a time: half-open ranges of them are ranges of time. */
static int64_t
snowflake_first(int64_t unix_ms)
{
	return (unix_ms - EPOCH_MS) << 22;
}

static void
check(const char *what, bool ok)
{
	printf("%s %s\n", ok ? "ok" : "not ok", what);
}

/* A statement with so many bigints as parameters, and its result in binary. */
static PGresult *
run(PGconn *conn, const char *query, int count, const int64_t *numbers)
{
	Oid			types[2] = {INT8OID, INT8OID};
	int64_t		bytes[2];
	const char *values[2];
	int			lengths[2] = {8, 8};
	int			formats[2] = {1, 1};
	PGresult   *result;

	for (int i = 0; i < count; i++)
	{
		bytes[i] = htobe64(numbers[i]);
		values[i] = (const char *) &bytes[i];
	}
	result = PQexecParams(conn, query, count, types, values, lengths, formats, 1);
	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
	{
		fprintf(stderr, "%s", PQerrorMessage(conn));
		exit(1);
	}
	return result;
}

static int64_t
get_int64(const PGresult *result, int row, int column)
{
	int64_t		bytes;

	memcpy(&bytes, PQgetvalue(result, row, column), 8);
	return be64toh(bytes);
}

static int64_t
insert_one(PGconn *conn, const char *item)
{
	const Oid	type = TEXTOID;
	PGresult   *result = PQexecParams(conn, "INSERT INTO orders (item) VALUES ($1) RETURNING id",
									  1, &type, &item, NULL, NULL, 1);
	int64_t		id = PQntuples(result) == 1 ? get_int64(result, 0, 0) : -1;

	PQclear(result);
	return id;
}

static void
check_vectors(void)
{
	FILE	   *file = fopen("../vectors.tsv", "r");
	char		line[1024];
	int			count = 0;
	int			wrong = 0;

	if (file == NULL)
		exit(1);
	while (fgets(line, sizeof(line), file) != NULL)
	{
		int64_t		id;
		int			year, month, day, hour, minute, second, us, shard, sequence;

		if (sscanf(line, "snowflake\t%" SCNd64 "\t%d-%d-%d %d:%d:%d.%d+00\t%d\t%d", &id,
				   &year, &month, &day, &hour, &minute, &second, &us, &shard, &sequence) != 10)
			continue;

		/* Days since 1970, as years begin in March. */
		int			y = year - (month <= 2);
		int64_t		days = 365 * y + y / 4 - y / 100 + y / 400 +
			(153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1 - 719468;
		int64_t		ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + us / 1000;

		count++;
		if (snowflake_ms(id) != ms || snowflake_shard(id) != shard || snowflake_sequence(id) != sequence ||
			snowflake_first(ms) != id >> 22 << 22)
			wrong++;
	}
	fclose(file);
	check("decodes the vectors", count > 30 && wrong == 0);
}

int
main(void)
{
	PGconn	   *conn = PQconnectdb("");	/* PGHOST, PGDATABASE and so on say where */
	PGresult   *result;
	int64_t		id;
	int64_t		range[2];
	bool		ascending = true;

	if (PQstatus(conn) != CONNECTION_OK)
	{
		fprintf(stderr, "%s", PQerrorMessage(conn));
		return 1;
	}
	PQclear(run(conn, "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), "
				"item text NOT NULL)", 0, NULL));

	id = insert_one(conn, "apples");
	check("an id is an int64_t, and large", id > INT64_C(1) << 53);

	result = run(conn, "INSERT INTO orders (item) SELECT unnest('{pears,plums,figs}'::text[]) RETURNING id", 0, NULL);
	for (int i = 1; i < PQntuples(result); i++)
		ascending = ascending && get_int64(result, i, 0) > get_int64(result, i - 1, 0);
	check("many ids come back, in order", PQntuples(result) == 3 && ascending);
	PQclear(result);

	result = run(conn, "SELECT item FROM orders WHERE id = $1", 1, &id);
	check("found by its key", PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), "apples") == 0);
	PQclear(result);

	result = run(conn, "SELECT item FROM orders WHERE id > $1 ORDER BY id LIMIT 2", 1, &id);
	check("the page after it", PQntuples(result) == 2 && strcmp(PQgetvalue(result, 0, 0), "pears") == 0 &&
		  strcmp(PQgetvalue(result, 1, 0), "plums") == 0);
	PQclear(result);

	PQclear(run(conn, "INSERT INTO orders VALUES ($1, 'an old one')", 1, (int64_t[]) {OLD}));
	range[0] = snowflake_first(INT64_C(1709251200000));	/* 2024-03-01 */
	range[1] = snowflake_first(INT64_C(1709337600000));	/* 2024-03-02 */
	result = run(conn, "SELECT id FROM orders WHERE id >= $1 AND id < $2", 2, range);
	check("found by a range of time, whole", PQntuples(result) == 1 && get_int64(result, 0, 0) == OLD);
	PQclear(result);

	result = run(conn, "SELECT (extract(epoch FROM created_at) * 1000)::bigint, shard::bigint, sequence::bigint "
				 "FROM snowflake_parts($1)", 1, &id);
	check("the client sees what the server sees", get_int64(result, 0, 0) == snowflake_ms(id) &&
		  get_int64(result, 0, 1) == snowflake_shard(id) && get_int64(result, 0, 2) == snowflake_sequence(id));
	PQclear(result);
	check_vectors();

	/* done wrong */
	check("an int loses digits", (int) id != id);
	check("a double loses digits", (int64_t) strtod("154173452582932603", NULL) != OLD);
	result = run(conn, "SELECT id FROM orders WHERE id = $1", 1, (int64_t[]) {(int64_t) htobe64(OLD)});
	check("without the network's order of bytes the row is not found", PQntuples(result) == 0);
	PQclear(result);

	PQfinish(conn);
	puts("end");
	return 0;
}

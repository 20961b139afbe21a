/*
 * pg_epoch.h
 *	  Converts Unix times to those of PostgreSQL, in microseconds since 2000.
 */
#ifndef SEQID_PG_EPOCH_H
#define SEQID_PG_EPOCH_H

#include "utils/timestamp.h"

/* 1970-01-01 00:00:00 UTC as a timestamptz. */
#define UNIX_EPOCH_PG_US \
	(-(int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

static inline TimestampTz
pg_time_of_unix_us(int64 unix_us)
{
	return unix_us + UNIX_EPOCH_PG_US;
}

static inline TimestampTz
pg_time_of_unix_ms(int64 unix_ms)
{
	return pg_time_of_unix_us(unix_ms * 1000);
}

/*
 * Returns a time for messages, such as "2023-01-01 00:00:00 UTC", with milliseconds
 * unless they are 0.  Ignores TimeZone and DateStyle of the session.
 */
static inline char *
seqid_utc_text(int64 unix_ms)
{
	struct pg_tm tm;
	fsec_t		us;

	if (timestamp2tm(pg_time_of_unix_ms(unix_ms), NULL, &tm, &us, NULL, NULL) != 0)
		elog(ERROR, "time is out of range");
	return psprintf("%04d-%02d-%02d %02d:%02d:%02d%s UTC", tm.tm_year, tm.tm_mon, tm.tm_mday,
					tm.tm_hour, tm.tm_min, tm.tm_sec, us == 0 ? "" : psprintf(".%03d", us / 1000));
}

#endif							/* SEQID_PG_EPOCH_H */

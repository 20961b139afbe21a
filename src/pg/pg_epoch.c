/*
 * pg_epoch.c
 *	  Unix times as text.
 */
#include "postgres.h"

#include "pg/pg_epoch.h"
#include "utils/timestamp.h"

#define US_PER_MS	1000

char	   *
seqid_utc_text(int64 unix_ms)
{
	struct pg_tm tm;
	fsec_t		us;
	char	   *text;

	if (timestamp2tm(pg_time_of_unix_ms(unix_ms), NULL, &tm, &us, NULL, NULL) != 0)
		elog(ERROR, "time is out of range");

	text = psprintf("%04d-%02d-%02d %02d:%02d:%02d", tm.tm_year, tm.tm_mon, tm.tm_mday,
					tm.tm_hour, tm.tm_min, tm.tm_sec);

	if (us != 0)
		text = psprintf("%s.%03d", text, us / US_PER_MS);

	return psprintf("%s UTC", text);
}

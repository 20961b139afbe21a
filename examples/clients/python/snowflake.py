"""Keys taken apart, and ranges of time put together."""
from datetime import datetime, timedelta, timezone

EPOCH = datetime(2023, 1, 1, tzinfo=timezone.utc)
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)


def parts(snowflake):
    """Its time, shard and sequence."""
    return (EPOCH + (snowflake >> 22) * MILLISECOND,
            snowflake >> 12 & 1023, snowflake & 4095)


def first_id(time):
    """The smallest id of that time: rows made in March are those of
    first_id(1 March) or above, and below first_id(1 April)."""
    return (time - EPOCH) // MILLISECOND << 22


def comb_time(comb):
    """When a COMB, or any UUID of version 7, was made, to the millisecond."""
    return UNIX_EPOCH + (comb.int >> 80) * MILLISECOND

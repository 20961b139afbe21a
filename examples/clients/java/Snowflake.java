import java.time.Instant;
import java.util.UUID;

/** Keys taken apart, and ranges of time put together. */
final class Snowflake
{
	static final long EPOCH = Instant.parse("2023-01-01T00:00:00Z").toEpochMilli();

	static Instant createdAt(long id)
	{
		return Instant.ofEpochMilli((id >> 22) + EPOCH);
	}

	static int shard(long id)
	{
		return (int) (id >> 12 & 1023);
	}

	static int sequence(long id)
	{
		return (int) (id & 4095);
	}

	/**
	 * The smallest id of a time: rows made in March are those of firstId(1 March) or
	 * above, and below firstId(1 April).
	 */
	static long firstId(Instant time)
	{
		return time.toEpochMilli() - EPOCH << 22;
	}

	/** When a COMB, or any UUID of version 7, was made. */
	static Instant combTime(UUID comb)
	{
		return Instant.ofEpochMilli(comb.getMostSignificantBits() >>> 16);
	}
}

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/** What the programs here share: a line for each check, the server, and the vectors. */
final class Check
{
	/** An id that a double cannot hold, and the day it was made. */
	static final long OLD = 154173452582932603L;
	static final Instant MARCH_1 = Instant.parse("2024-03-01T00:00:00Z");
	static final Instant MARCH_2 = Instant.parse("2024-03-02T00:00:00Z");

	static void check(String what, boolean ok, Object seen)
	{
		System.out.println(ok ? "ok " + what : "not ok " + what + ": " + seen);
	}

	static void same(String what, Object seen, Object expected)
	{
		check(what, Objects.equals(seen, expected), seen + ", not " + expected);
	}

	static void end()
	{
		System.out.println("end");
	}

	static String url()
	{
		return "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
			+ "/" + System.getenv("PGDATABASE");
	}

	static Connection connect() throws Exception
	{
		return DriverManager.getConnection(url(), System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
	}

	static List<String[]> vectors(String kind) throws Exception
	{
		return Files.readAllLines(Path.of("../vectors.tsv")).stream()
			.map(line -> line.split("\t"))
			.filter(fields -> fields[0].equals(kind))
			.toList();
	}

	static Instant vectorTime(String text)
	{
		return Instant.parse(text.replace(' ', 'T').replace("+00", "Z"));
	}
}

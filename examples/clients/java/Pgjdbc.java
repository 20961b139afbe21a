import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** pgjdbc: setLong, getLong, and getGeneratedKeys for the named column. */
final class Pgjdbc
{
	static List<Long> insert(Connection db, String... items) throws SQLException
	{
		try (PreparedStatement insert = db.prepareStatement(
				"INSERT INTO orders (item) VALUES (?)", new String[] {"id"})) {
			for (String item : items) {
				insert.setString(1, item);
				insert.addBatch();
			}
			insert.executeBatch();
			List<Long> ids = new ArrayList<>();
			try (ResultSet keys = insert.getGeneratedKeys()) {
				while (keys.next())
					ids.add(keys.getLong(1));
			}
			return ids;
		}
	}

	static List<String> items(Connection db, String query, Object... values) throws SQLException
	{
		try (PreparedStatement select = db.prepareStatement(query)) {
			for (int i = 0; i < values.length; i++)
				select.setObject(i + 1, values[i]);
			List<String> items = new ArrayList<>();
			try (ResultSet rows = select.executeQuery()) {
				while (rows.next())
					items.add(rows.getLong("id") + " " + rows.getString("item"));
			}
			return items;
		}
	}

	public static void main(String[] arguments) throws Exception
	{
		Connection db = Check.connect();
		try (Statement create = db.createStatement()) {
			create.execute("CREATE TABLE orders ("
				+ "id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text NOT NULL)");
		}

		long id = insert(db, "apples").get(0);
		List<Long> many = insert(db, "pears", "plums", "figs");
		Check.check("an id is a long, and large", id > 1L << 53, id);
		Check.same("many ids come back, in order", many, many.stream().sorted().toList());
		Check.same("all of them", many.size(), 3);

		try (PreparedStatement select = db.prepareStatement("SELECT item FROM orders WHERE id = ?")) {
			select.setLong(1, id);
			ResultSet row = select.executeQuery();
			row.next();
			Check.same("found by its key", row.getString(1), "apples");
		}
		Check.same("the page after it",
			items(db, "SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT 2", id),
			List.of(many.get(0) + " pears", many.get(1) + " plums"));

		try (PreparedStatement insert = db.prepareStatement("INSERT INTO orders VALUES (?, 'an old one')")) {
			insert.setLong(1, Check.OLD);
			insert.executeUpdate();
		}
		List<String> old = List.of(Check.OLD + " an old one");
		Check.same("found by a range of time, whole",
			items(db, "SELECT * FROM orders WHERE id >= ? AND id < ?",
				Snowflake.firstId(Check.MARCH_1), Snowflake.firstId(Check.MARCH_2)), old);
		Check.same("also by the server's functions",
			items(db, "SELECT * FROM orders WHERE id >= snowflake_first(?) AND id < snowflake_first(?)",
				Timestamp.from(Check.MARCH_1), Timestamp.from(Check.MARCH_2)), old);

		decode(db, id);
		doneWrong(db);
		db.close();
		Check.end();
	}

	static void decode(Connection db, long id) throws Exception
	{
		try (PreparedStatement parts = db.prepareStatement("SELECT * FROM snowflake_parts(?)")) {
			parts.setLong(1, id);
			ResultSet row = parts.executeQuery();
			row.next();
			Check.same("the client sees what the server sees",
				List.of(Snowflake.createdAt(id), Snowflake.shard(id), Snowflake.sequence(id)),
				List.of(row.getTimestamp(1).toInstant(), row.getInt(2), row.getInt(3)));
		}
		List<String> wrong = new ArrayList<>();
		for (String[] vector : Check.vectors("snowflake")) {
			long bits = Long.parseLong(vector[1]);
			Instant time = Check.vectorTime(vector[2]);
			if (!Snowflake.createdAt(bits).equals(time) || Snowflake.shard(bits) != Integer.parseInt(vector[3])
				|| Snowflake.sequence(bits) != Integer.parseInt(vector[4]) || Snowflake.firstId(time) != bits >> 22 << 22)
				wrong.add(vector[1]);
		}
		Check.same("decodes " + Check.vectors("snowflake").size() + " vectors", wrong, List.of());
		wrong.clear();
		for (String[] vector : Check.vectors("comb")) {
			long milliseconds = Check.vectorTime(vector[2]).toEpochMilli();
			if (Snowflake.combTime(UUID.fromString(vector[1])).toEpochMilli() != milliseconds)
				wrong.add(vector[1]);
		}
		Check.same("decodes " + Check.vectors("comb").size() + " COMBs", wrong, List.of());
		try (Statement select = db.createStatement();
				ResultSet row = select.executeQuery("SELECT comb_uuid()")) {
			row.next();
			Check.same("a COMB is a UUID", ((UUID) row.getObject(1)).version(), 7);
		}
	}

	static void doneWrong(Connection db) throws Exception
	{
		try (PreparedStatement insert = db.prepareStatement(
				"INSERT INTO orders (item) VALUES ('cherries')", Statement.RETURN_GENERATED_KEYS)) {
			insert.executeUpdate();
			ResultSet keys = insert.getGeneratedKeys();
			Check.same("RETURN_GENERATED_KEYS brings the whole row back", keys.getMetaData().getColumnCount(), 2);
		}
		try (Statement select = db.createStatement();
				ResultSet row = select.executeQuery("SELECT id FROM orders WHERE item = 'an old one'")) {
			row.next();
			SQLException thrown = null;
			try {
				row.getInt(1);
			} catch (SQLException e) {
				thrown = e;
			}
			Check.same("getInt refuses it", thrown == null ? "no error" : thrown.getSQLState(), "22003");
			Check.check("getDouble loses digits", (long) row.getDouble(1) != Check.OLD, row.getDouble(1));
		}
	}
}

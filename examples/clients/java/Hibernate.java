import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.GenerationType;
import javax.persistence.Id;
import javax.persistence.Table;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.GenericGenerator;
import org.hibernate.annotations.Parameter;
import org.hibernate.cfg.Configuration;
import org.hibernate.criterion.Order;
import org.hibernate.criterion.Restrictions;
import org.hibernate.dialect.PostgreSQLDialect;

/**
 * Hibernate 3.6, which is what Debian has. It draws a block of 50 ids with one call,
 * by what the dialect says for a sequence's nextval.
 */
final class Hibernate
{
	/** snowflake_nextblock instead of a sequence. */
	public static class SnowflakeDialect extends PostgreSQLDialect
	{
		@Override
		public String getSequenceNextValString(String sequence)
		{
			return "select snowflake_nextblock(5, 50)";
		}

		@Override
		public String[] getCreateSequenceStrings(String sequence, int initialValue, int incrementSize)
		{
			return new String[0];
		}

		@Override
		public String[] getDropSequenceStrings(String sequence)
		{
			return new String[0];
		}
	}

	/** For a trial: blocks of which another program has drawn the one before. */
	public static class BesideAnother extends SnowflakeDialect
	{
		@Override
		public String getSequenceNextValString(String sequence)
		{
			return "select draw_after_another()";
		}
	}

	@Entity
	@Table(name = "orders")
	public static class Item
	{
		@Id
		@GeneratedValue(generator = "snowflake")
		@GenericGenerator(name = "snowflake", strategy = "org.hibernate.id.enhanced.SequenceStyleGenerator",
			parameters = {
				@Parameter(name = "optimizer", value = "pooled-lo"),
				@Parameter(name = "increment_size", value = "50")})
		Long id;
		String item;

		Item() {}

		Item(String item)
		{
			this.item = item;
		}
	}

	@Entity
	@Table(name = "wrong_orders")
	public static class Wrong
	{
		@Id
		@GeneratedValue(generator = "wrong")
		@GenericGenerator(name = "wrong", strategy = "org.hibernate.id.enhanced.SequenceStyleGenerator",
			parameters = {
				@Parameter(name = "optimizer", value = "pooled"),
				@Parameter(name = "increment_size", value = "50")})
		Long id;
	}

	/** A key that the column's default generates. */
	@Entity
	@Table(name = "plain_orders")
	public static class Plain
	{
		@Id
		@GeneratedValue(strategy = GenerationType.IDENTITY)
		Long id;
		String item = "plums";
	}

	static SessionFactory factory(Class<?> dialect, String schema, Class<?> entity)
	{
		Properties properties = new Properties();
		properties.put("hibernate.connection.driver_class", "org.postgresql.Driver");
		properties.put("hibernate.connection.url", Check.url());
		properties.put("hibernate.connection.username", System.getenv("PGUSER"));
		properties.put("hibernate.connection.password", System.getenv("PGPASSWORD"));
		properties.put("hibernate.dialect", dialect.getName());
		properties.put("hibernate.hbm2ddl.auto", schema);
		return new Configuration().addProperties(properties).addAnnotatedClass(entity).buildSessionFactory();
	}

	public static void main(String[] arguments) throws Exception
	{
		SessionFactory factory = factory(SnowflakeDialect.class, "create", Item.class);
		Session session = factory.openSession();
		session.beginTransaction();
		Item one = new Item("apples");
		session.save(one);
		session.flush();
		List<Item> many = new ArrayList<>();
		for (int i = 0; i < 120; i++) {
			Item item = new Item("item " + i);
			session.save(item);
			many.add(item);
		}
		session.getTransaction().commit();
		session.clear();

		Check.check("an id is a Long, and large", one.id > 1L << 53, one.id);
		Check.same("found by its key", ((Item) session.get(Item.class, one.id)).item, "apples");
		List<?> page = session.createCriteria(Item.class).add(Restrictions.gt("id", one.id))
			.addOrder(Order.asc("id")).setMaxResults(2).list();
		Check.same("the page after it", ((Item) page.get(0)).item + ", " + ((Item) page.get(1)).item, "item 0, item 1");
		Check.same("its block goes on", many.get(0).id, one.id + 1);
		Check.same("120 rows after it are in order",
			many.stream().map(item -> item.id).sorted().toList(), many.stream().map(item -> item.id).toList());
		Check.check("a block serves 50 rows", runs(many, one) <= 3, runs(many, one) + " runs of ids");

		session.beginTransaction();
		session.createSQLQuery("insert into orders values (" + Check.OLD + ", 'an old one')").executeUpdate();
		session.getTransaction().commit();
		Item old = (Item) session.createCriteria(Item.class)
			.add(Restrictions.ge("id", Snowflake.firstId(Check.MARCH_1)))
			.add(Restrictions.lt("id", Snowflake.firstId(Check.MARCH_2))).uniqueResult();
		Check.same("found by a range of time, whole", old.id, Check.OLD);
		session.close();
		factory.close();

		makeAnother();
		Check.same("pooled-lo: of 200 ids, those that are another program's",
			othersIds(BesideAnother.class, Item.class), 0);
		Check.same("pooled: all 200 of them are", othersIds(BesideAnother.class, Wrong.class), 200);
		checkIdentity();
		Check.end();
	}

	static void checkIdentity() throws Exception
	{
		try (Connection db = Check.connect(); Statement create = db.createStatement()) {
			create.execute("CREATE TABLE plain_orders"
				+ " (item varchar(255), id bigint PRIMARY KEY DEFAULT snowflake_nextval(5))");
		}
		SessionFactory factory = factory(PostgreSQLDialect.class, "validate", Plain.class);
		Session session = factory.openSession();
		session.beginTransaction();
		Plain plain = new Plain();
		session.save(plain);
		session.getTransaction().commit();
		session.clear();
		Check.check("IDENTITY: the default generates the id", plain.id > 1L << 53, plain.id);
		Check.same("IDENTITY: found by its key", ((Plain) session.get(Plain.class, plain.id)).item, "plums");
		session.close();
		factory.close();
	}

	/** Two programs in turn; a new millisecond between them would leave a gap. */
	static void makeAnother() throws Exception
	{
		try (Connection db = Check.connect(); Statement create = db.createStatement()) {
			create.execute("CREATE TABLE another (first_id bigint)");
			create.execute("CREATE FUNCTION draw_after_another() RETURNS bigint LANGUAGE plpgsql AS $$"
				+ " DECLARE theirs bigint; ours bigint;"
				+ " BEGIN"
				+ "  LOOP"
				+ "   theirs := snowflake_nextblock(5, 50);"
				+ "   ours := snowflake_nextblock(5, 50);"
				+ "   EXIT WHEN ours = theirs + 50;"
				+ "  END LOOP;"
				+ "  INSERT INTO another VALUES (theirs);"
				+ "  RETURN ours;"
				+ " END $$");
		}
	}

	static int othersIds(Class<?> dialect, Class<?> entity) throws Exception
	{
		SessionFactory factory = factory(dialect, "create", entity);
		Session session = factory.openSession();
		session.beginTransaction();
		List<Long> ids = new ArrayList<>();
		for (int i = 0; i < 200; i++)
			ids.add((Long) session.save(entity.getDeclaredConstructor().newInstance()));
		session.getTransaction().commit();
		int others = 0;
		for (Object first : session.createSQLQuery("select first_id from another").list()) {
			long theirs = ((Number) first).longValue();
			others += ids.stream().filter(id -> id >= theirs && id < theirs + 50).count();
		}
		session.close();
		factory.close();
		return others;
	}

	/** How many runs of ids that follow each other, from the first on. */
	static int runs(List<Item> items, Item first)
	{
		int runs = 1;
		long before = first.id;

		for (Item item : items) {
			if (item.id != before + 1)
				runs++;
			before = item.id;
		}
		return runs;
	}
}

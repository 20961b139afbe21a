# A session remembers the shape of a dictionary while others rename, move, alter, drop
# and create it again: it finds the dictionary that is meant, in limited memory.
#
# This takes a session that stays while others come and go, some of them blocked.  Only
# the kernel knows how much memory a process has taken.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_connections = 30");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

#
# Other sessions rename, move, alter, drop and make the dictionary again, while
# this one keeps its plans.
#
{
	my $session = SeqidSession->new($node);
	my $other = SeqidSession->new($node);

	$other->query("SELECT intern_create('known')");
	$session->query("PREPARE find AS SELECT intern_find('known', \$1)");
	$session->query("PREPARE id AS SELECT intern_id('known', \$1)");
	$session->query(
		"CREATE FUNCTION known_id(text) RETURNS bigint LANGUAGE plpgsql AS
		 \$\$ BEGIN RETURN intern_id('known', \$1); END \$\$");
	my $id = $session->query("EXECUTE id ('a')");
	# all plans are made, and used again
	$session->query("SELECT intern_terms('known', intern_ids('known', '{a,b,c}')) FROM generate_series(1, 10)");
	is($session->query("SELECT known_id('a')"), $id, 'plans: in a function');

	my $all_of_a = sub {
		my ($name) = @_;

		return $session->query(
			"SELECT intern_find('$name', 'a'), intern_id('$name', 'a'), intern_term('$name', $id)");
	};
	$other->query('ALTER TABLE known RENAME TO renamed');
	is($all_of_a->('renamed'), "$id|$id|a", 'plans: renamed');
	$other->query('CREATE SCHEMA one; ALTER TABLE renamed SET SCHEMA one');
	is($all_of_a->('one.renamed'), "$id|$id|a", 'plans: moved');
	$other->query('ALTER SCHEMA one RENAME TO two');
	is($all_of_a->('two.renamed'), "$id|$id|a", 'plans: schema renamed');

	# Another dictionary under the old name.
	$other->query("CREATE SCHEMA one; SELECT intern_create('one.renamed')");
	$other->query("SELECT intern_ids('one.renamed', '{A,B,C,a}')");
	is($session->query("SELECT intern_find('two.renamed', 'a') = $id, intern_find('one.renamed', 'a') = $id"),
		't|f', 'plans: another dictionary under the old name is another');
	is($session->query("SELECT intern_id('two.renamed', 'd'), intern_id('one.renamed', 'd')"),
		'3|4', 'plans: each draws from its sequence');
	$other->query("DROP TABLE one.renamed");

	# Another sequence, which the default names.
	$other->query(
		"CREATE SEQUENCE two.elsewhere START 1001;
		 ALTER TABLE two.renamed ALTER COLUMN id SET DEFAULT scatter_nextval('two.elsewhere', 0)");
	is($session->query("SELECT intern_id('two.renamed', 'e')"),
		'1000', 'plans: another sequence');
	$other->query('ALTER TABLE two.renamed ALTER COLUMN id DROP DEFAULT');
	is($session->query("SELECT intern_id('two.renamed', 'a')"), '', 'plans: no dictionary any more');
	like($session->errors, qr/^ERROR:  42809: "renamed" is not a dictionary$/m, 'plans: it says so');
	$other->query("ALTER TABLE two.renamed ALTER COLUMN id SET DEFAULT scatter_nextval('two.elsewhere', 0)");
	is($session->query("SELECT intern_id('two.renamed', 'f')"), '1001', 'plans: one again');

	# Dropped and made again under a name that prepared statements have.
	$other->query("DROP TABLE two.renamed; SELECT intern_create('known', 5)");
	is($session->query("EXECUTE find ('a')"), '', 'plans: made again, it is empty');
	is($session->query("SELECT scatter_ordinal(intern_id('known', 'b'), 5)"), '0', 'plans: made again, it starts');
	is($session->query("SELECT scatter_ordinal(id, 5) FROM (VALUES (known_id('a')), (intern_id('known', 'b'))) AS v (id)"),
		"1\n0", 'plans: made again, a function finds it');
	is($session->query("EXECUTE id ('b')"), '0', 'plans: made again, so does a prepared statement');
	is($session->errors, '', 'plans: no error');

	# Renamed while this session waits for it, and a stranger takes its name.
	$other->query('BEGIN');
	$other->query('ALTER TABLE known RENAME TO own');
	$other->query("SELECT intern_create('known'); SELECT intern_ids('known', '{x,y,z}')");
	$session->send("SELECT scatter_ordinal(unnest(intern_ids('known', '{b,a,c}')), 5)");
	wait_until_blocked($node, $session);
	$other->query('COMMIT');
	is($session->answer, "0\n1\n2", 'renamed while waited for: it is the one that was meant');
	is($session->query('SELECT count(*) FROM known'), '3', 'renamed while waited for: not the stranger');

	# Dropped while this session waits for it: once rolled back, once not.
	for my $end ('ROLLBACK', 'COMMIT')
	{
		$other->query('BEGIN');
		$other->query("DROP TABLE own");
		$session->send("SELECT scatter_ordinal(intern_id('own', 'c'), 5)");
		wait_until_blocked($node, $session);
		$other->query($end);
		is($session->answer, $end eq 'COMMIT' ? '' : '2', "dropped while waited for, $end: answer");
		like($session->errors,
			$end eq 'COMMIT' ? qr/^ERROR:  42P01: dictionary with OID \d+ does not exist$/m : qr/\A\z/,
			"dropped while waited for, $end: error");
	}
	is($other->errors, '', 'plans: no error in the other session');
	$session->close;
	$other->close;
}

#
# A schema can be renamed although its tables are in use: between looking up and
# inserting, and a stranger takes the name.
#
{
	my ($session, $other, $third) = map { SeqidSession->new($node) } 1 .. 3;

	$other->query("CREATE SCHEMA s; SELECT intern_create('s.words')");
	$session->query("SELECT intern_id('s.words', 'warm')");
	$other->query('BEGIN; ALTER SEQUENCE s.words_id_seq CACHE 5');
	$session->send("SELECT unnest(intern_ids('s.words', '{a,m,z}'))");
	wait_until_blocked($node, $session);
	$third->query("ALTER SCHEMA s RENAME TO t; CREATE SCHEMA s; SELECT intern_create('s.words')");
	$other->query('COMMIT');
	is(join(' ', sort split /\n/, $session->answer), '1 2 3', 'schema renamed meanwhile: ids are assigned');
	is(join('', map { $_->errors } $session, $other, $third), '', 'schema renamed meanwhile: no error');
	is($third->query('SELECT count(*) FROM t.words'), '4', 'schema renamed meanwhile: in the one that was meant');
	is($third->query('SELECT count(*) FROM s.words'), '0', 'schema renamed meanwhile: not in the stranger');
	$_->close for $session, $other, $third;
}

#
# The owner of the extension's schema exchanges the schema while a superuser's intern_create()
# waits: no function of the owner becomes the default of the superuser's table.
#
{
	$node->safe_psql('postgres', 'CREATE ROLE regress_mallory; CREATE DATABASE theirs OWNER regress_mallory');
	$node->safe_psql('theirs', 'SET ROLE regress_mallory; CREATE SCHEMA ids; CREATE EXTENSION seqid SCHEMA ids');
	my ($superuser, $owner, $other) = map { SeqidSession->new($node, 'theirs') } 1 .. 3;

	$_->query('SET ROLE regress_mallory') for $owner, $other;
	$owner->query('BEGIN; CREATE TABLE public.terms ()');
	$superuser->send("SELECT ids.intern_create('public.terms')");
	wait_until_blocked($node, $superuser);
	$other->query(q{ALTER SCHEMA ids RENAME TO other_ids; CREATE SCHEMA ids;
		CREATE FUNCTION ids.scatter_nextval(regclass, int) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'});
	$owner->query('ROLLBACK');
	is($superuser->answer, 'terms', 'schema of the extension exchanged meanwhile: the dictionary is created');
	is($superuser->query("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'public.terms'::regclass"),
		"other_ids.scatter_nextval('terms_id_seq'::regclass, 0)", 'schema of the extension exchanged meanwhile: with the right function');
	is(join('', map { $_->errors } $owner, $other, $superuser), '', 'schema of the extension exchanged meanwhile: no error');
	$_->close for $superuser, $owner, $other;
}

#
# Nor can the owner exchange it while a superuser creates the extension there, whose script
# calls comb_uuid().
#
{
	$node->safe_psql('postgres', 'CREATE DATABASE new OWNER regress_mallory');
	$node->safe_psql('new', 'SET ROLE regress_mallory; CREATE SCHEMA ids');
	my ($superuser, $owner, $other) = map { SeqidSession->new($node, 'new') } 1 .. 3;

	$_->query('SET ROLE regress_mallory') for $owner, $other;
	$owner->query('BEGIN; CREATE SCHEMA seqid');
	$superuser->send('CREATE EXTENSION seqid SCHEMA ids');
	wait_until_blocked($node, $superuser);
	$other->send('ALTER SCHEMA ids RENAME TO other_ids');
	wait_until_blocked($node, $other);
	$owner->query('ROLLBACK');
	$_->answer for $superuser, $other;
	is( $superuser->query("SELECT count(DISTINCT pronamespace), bool_or(pronamespace = extnamespace) FROM pg_extension
			JOIN pg_depend ON refobjid = pg_extension.oid JOIN pg_proc ON pg_proc.oid = objid WHERE extname = 'seqid'"),
		'2|t', 'schema exchanged during CREATE EXTENSION: waits');
	is(join('', map { $_->errors } $owner, $other, $superuser), '', 'schema exchanged during CREATE EXTENSION: no error');
	$_->close for $superuser, $owner, $other;
}

#
# What a session remembers of dictionaries is limited, and so is the memory that
# an array takes which cannot be made.
#
{
	my $session = SeqidSession->new($node);

	$node->safe_psql('postgres',
		"SELECT intern_create('tenant_' || n) FROM generate_series(1, 200) n");
	for my $round (1 .. 2)
	{
		my $terms = "ARRAY['a', 'round $round', n::text]";

		$session->query("CREATE TEMP TABLE round_$round AS
			SELECT n, intern_ids(('tenant_' || n)::regclass, $terms) AS ids FROM generate_series(1, 200) n");
		is( $session->query(
				"SELECT count(*) FROM round_$round
				  WHERE intern_terms(('tenant_' || n)::regclass, ids) = $terms
				    AND intern_ids(('tenant_' || n)::regclass, $terms) = ids"),
			'200', "many dictionaries: round $round");
	}
	is( $session->query(
			"SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlan' AND ident ~ 'tenant_'"),
		'0', 'many dictionaries: no plan is kept');
	is($session->errors, '', 'many dictionaries: no error');

	# 10,000 times 200 kB, in the table and in memory 2 kB, would be 2 GB; and so would be
	# a million times 2 kB, which are not compressed.
	$session->query("SELECT intern_create('long')");
	$session->query("INSERT INTO long (term) VALUES (repeat('y', 200000))");
	is($session->query("SELECT intern_terms('long', array_fill(0, ARRAY[10000]))"),
		'', 'large array: nothing is returned');
	like($session->errors, qr/^ERROR:  54000: array size exceeds the maximum allowed \(1073741823\)$/m,
		'large array: program_limit_exceeded');
	$session->query("SELECT intern_create('incompressible')");
	$session->query("INSERT INTO incompressible (term) SELECT string_agg(md5(n::text), '') FROM generate_series(1, 60) n");
	is($session->query("SELECT intern_terms('incompressible', array_fill(0, ARRAY[1000000]))"),
		'', 'large array of terms that are not compressed: nothing is returned');
	like($session->errors, qr/^ERROR:  54000: array size exceeds/m, 'large array of terms that are not compressed: program_limit_exceeded');
	# The term has the id 0, which a NULL must not be taken for.
	is($session->query("SELECT array_remove(intern_terms('long', array_fill(NULL::bigint, ARRAY[10000])), NULL)"),
		'{}', 'large array: of NULLs');
	my ($peak_kb) = slurp_file("/proc/$session->{pid}/status") =~ /^VmHWM:\s+(\d+) kB$/m;
	note("peak: $peak_kb kB");
	cmp_ok($peak_kb, '<', 400000, 'large array: its memory was not taken first');
	is($session->query("SELECT length(x[1]), length(x[100]) FROM intern_terms('long', array_fill(0, ARRAY[100])) x"),
		'200000|200000', 'large array: a smaller one is made');
	is($session->query("SELECT length(x[1]), length(x[20000]) FROM intern_terms('incompressible', array_fill(0, ARRAY[20000])) x"),
		'1920|1920', 'large array: and one of 38 MB');
	$session->close;
}

$node->stop;
done_testing();

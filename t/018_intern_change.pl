# A session remembers the shape of a dictionary while others rename, drop and create it
# again, and it waits for them: it finds the dictionary that is meant, in limited memory.
#
# Some sessions change schemas while others are blocked twice.  Only the kernel knows how
# much memory a process has taken.  (sql/intern.sql changes dictionaries in one session, and
# specs/intern_change.spec what decides how they are filled.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main');

#
# Other sessions rename and drop the dictionary, while this one keeps its plans.
#
{
	my ($session, $other) = map { SeqidSession->new($node) } 1 .. 2;

	# Dropped and made again under a name that plans have.
	$other->query("SELECT intern_create('known')");
	$session->query($_)
	  for "PREPARE find AS SELECT intern_find('known', \$1)",
	  "PREPARE id AS SELECT intern_id('known', \$1)",
	  "SELECT intern_terms('known', intern_ids('known', '{a,b,c}')) FROM generate_series(1, 10)",
	  "EXECUTE id ('a')";
	$other->query("DROP TABLE known; SELECT intern_create('known', 5)");
	is($session->query("EXECUTE find ('a')"), '', 'plans: made again, it is empty');
	is($session->query("SELECT scatter_ordinal(intern_id('known', 'b'), 5)"), '0', 'plans: made again, it starts');
	is($session->query("EXECUTE id ('b')"), '0', 'plans: made again, a prepared statement finds it');
	$session->query("SELECT intern_id('known', 'a')");
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
		like($session->answer . $session->errors, $end eq 'ROLLBACK' ? qr/\A2\z/ : qr/\A\S*ERROR:  42P01: dictionary with OID \d+ does not exist$/m,
			"dropped while waited for, $end");
	}
	is($other->errors, '', 'dropped while waited for: no error in the other session');
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

	my $wrong = 0;

	# One statement each: together they could take longer than a statement of this session may.
	for my $round (1 .. 2)
	{
		for my $n (1 .. 200)
		{
			$session->query("SELECT intern_create('tenant_$n')") if $round == 1;
			$session->query("SELECT intern_ids('tenant_$n', '{a,b,$n}') AS ids \\gset\nSELECT intern_terms('tenant_$n', :'ids')") eq "{a,b,$n}"
			  or $wrong++;
		}
	}
	is($wrong, 0, 'many dictionaries: each returns its terms');
	is($session->query("SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlan' AND ident ~ 'tenant_'"),
		'0', 'many dictionaries: no plan is kept');
	is($session->errors, '', 'many dictionaries: no error');

	# 10,000 times 200 kB, in the table and in memory 2 kB, would be 2 GB; and so would be
	# a million times 2 kB, which are not compressed.
	$session->query("SELECT intern_create('long')");
	$session->query("INSERT INTO long (term) VALUES (repeat('y', 200000))");
	my $too_large = '54000: array size exceeds the maximum allowed (1073741823)';
	is($session->full_outcome("SELECT intern_terms('long', array_fill(0, ARRAY[10000]))"), $too_large, 'large array: refused');
	$session->query("SELECT intern_create('incompressible')");
	$session->query("INSERT INTO incompressible (term) SELECT string_agg(md5(n::text), '') FROM generate_series(1, 60) n");
	is($session->full_outcome("SELECT intern_terms('incompressible', array_fill(0, ARRAY[1000000]))"), $too_large,
		'large array of terms that are not compressed: refused');
	# The term has the id 0, which a NULL must not be taken for.
	is($session->query("SELECT array_remove(intern_terms('long', array_fill(NULL::bigint, ARRAY[10000])), NULL)"),
		'{}', 'large array: of NULLs');
	my ($peak_kb) = slurp_file("/proc/$session->{pid}/status") =~ /^VmHWM:\s+(\d+) kB$/m;
	cmp_ok($peak_kb, '<', 400000, 'large array: its memory was not taken first');
	is($session->query("SELECT length(x[1]), length(x[100]) FROM intern_terms('long', array_fill(0, ARRAY[100])) x"),
		'200000|200000', 'large array: a smaller one is made');
	is($session->query("SELECT length(x[1]), length(x[20000]) FROM intern_terms('incompressible', array_fill(0, ARRAY[20000])) x"),
		'1920|1920', 'large array: and one of 38 MB');
	$session->close;
}

$node->stop;
done_testing();

# Sessions that intern the same terms wait for each other: eight at once, while the
# dictionary is reindexed, rewritten and renamed, and one whose batch is cancelled while
# it waits.  A term keeps its id, no other term gets that id, and no term of a
# transaction that failed is kept.  A session remembers the shape of a dictionary while
# others rename, drop and create it again, and it waits for them: it finds the dictionary
# that is meant, in limited memory.
#
# A regression test has one session, and an isolation test runs one step at a time.  Only the
# kernel knows how much memory a process has taken.  (sql/intern.sql changes dictionaries in
# one session, and specs/intern_change.spec what decides how they are filled.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main', conf => "max_connections = 30\nmax_prepared_transactions = 10");
my $directory = PostgreSQL::Test::Utils::tempdir;

# The terms of a dictionary with their ids: id|term, in the terms' order.
sub entries ($dictionary)
{
	return $node->safe_psql('postgres', "SELECT id, term FROM $dictionary ORDER BY term");
}

# A transaction that interns a batch, and says at its end whether it is kept.
sub transaction ($name, @terms)
{
	my $array = 'ARRAY[' . join(', ', map { "'$_'" } @terms) . ']';
	my $intern = "SELECT unnest(intern_ids('words', $array)), unnest($array);\n";
	my @kinds = (
		[ 1, $intern ],
		[ 0, "BEGIN;\n${intern}ROLLBACK;\n" ],
		[ 1, "BEGIN;\nSAVEPOINT a;\n$intern\\qecho undone\nROLLBACK TO a;\n${intern}COMMIT;\n" ],
		[ 1, "BEGIN;\n${intern}PREPARE TRANSACTION '$name';\nCOMMIT PREPARED '$name';\n" ],
		[ 0, "BEGIN;\n${intern}PREPARE TRANSACTION '$name';\nROLLBACK PREPARED '$name';\n" ]);
	my ($kept, $script) = @{ $kinds[ rand(2) < 1 ? 0 : rand @kinds ] };

	return $script . ($kept ? "\\qecho done\n" : "\\qecho undone\n");
}

# The rows that a client was given in transactions that were kept, as [id, term].
sub kept_rows ($file)
{
	my (@kept, @open);

	for my $line (split /\n/, slurp_file($file))
	{
		push @kept, @open if $line eq 'done';
		@open = () if $line =~ /^(un)?done$/;
		push @open, [ split /\|/, $line ] if $line =~ /\|/;
	}
	return @kept;
}

#
# Eight clients intern batches that overlap, each in an order of its own and with
# duplicates, and undo some of them.  Their first batches all contain a term that
# another transaction holds until all of them wait.  Meanwhile the dictionary is
# reindexed, rewritten and renamed.
#
{
	my $clients = 8;
	my @terms = map { sprintf 'term %04d', $_ } 1 .. 3000;
	my $gate = SeqidSession->new($node);
	my $owner = SeqidSession->new($node);
	my @sessions;

	$node->safe_psql('postgres', "SELECT intern_create('words')");
	$gate->query('BEGIN');
	$gate->query("SELECT intern_id('words', '$terms[1500]')");
	for my $client (0 .. $clients - 1)
	{
		my $session = SeqidSession->new($node);
		my $seed = 20260301 + $client;
		my $script = '';

		note("client $client: seed $seed");
		srand $seed;
		for my $batch (1 .. 60)
		{
			my @batch = map { $terms[ rand @terms ] } 1 .. 150;

			$batch[ rand @batch ] = $terms[1500] if $batch == 1;
			$script .= transaction("$client-$batch", @batch);
		}
		append_to_file("$directory/$client.sql", $script);
		$session->query($_) for "\\o $directory/$client.out", '\set QUIET on';
		$session->send("\\i $directory/$client.sql");
		push @sessions, $session;
	}
	wait_until_blocked($node, @sessions);
	$gate->query('ROLLBACK');
	$gate->close;
	until (8 == grep { $_->answered } @sessions)
	{
		$owner->query('REINDEX TABLE words');
		$owner->query('BEGIN; ALTER TABLE words RENAME TO other; ALTER TABLE other RENAME TO words; COMMIT');
		$owner->query('VACUUM FULL words');
	}

	my (%id_of, %term_of);
	my ($errors, $changed, $shared) = ($owner->errors, 0, 0);
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->answer;
		$errors .= $sessions[$client]->errors;
		$sessions[$client]->close;
		for my $row (kept_rows("$directory/$client.out"))
		{
			my ($id, $term) = @$row;

			$id_of{$term} //= $id;
			$term_of{$id} //= $term;
			$changed++ if $id_of{$term} ne $id;
			$shared++ if $term_of{$id} ne $term;
		}
	}
	$owner->close;
	is($errors, '', 'concurrently: no error, and no deadlock');
	is($changed, 0, 'concurrently: no term was given two ids');
	is($shared, 0, 'concurrently: no id was given to two terms');
	cmp_ok(scalar(keys %id_of), '>', 2900, 'concurrently: the batches had most of the terms');
	is(join("\n", map { "$id_of{$_}|$_" } sort keys %id_of),
		entries('words'), 'concurrently: the dictionary has what the clients were given');
}

#
# A batch of 100,000 terms is cancelled when it waits for one that another session holds, the
# first one or one in the middle, and a batch in a transaction that goes on.
#
{
	my ($holder, $session) = map { SeqidSession->new($node) } 1 .. 2;

	# Holds a term while the session sends a batch with it, which is then cancelled.
	my $cancel = sub ($held, $batch, $what) {
		$holder->query("BEGIN; SELECT intern_id('large', '$held')");
		$session->send($batch);
		wait_until_blocked($node, $session);
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
		is($session->answer, '', "cancelled $what: nothing is returned");
		like($session->errors, qr/^ERROR:  57014: canceling statement due to user request$/m, "cancelled $what: query_canceled");
		$holder->query('ROLLBACK');
	};

	$node->safe_psql('postgres', "SELECT intern_create('large')");
	my $first = $session->query("SELECT intern_id('large', 'first')");
	for my $held ('000001', '050000')
	{
		$cancel->($held, "SELECT cardinality(intern_ids('large',
			ARRAY(SELECT lpad(n::text, 6, '0') FROM generate_series(1, 100000) n)))", "at $held");
		is(entries('large'), "$first|first", "cancelled at $held: no term was kept");
	}

	$session->query('BEGIN');
	my $kept = $session->query("SELECT intern_id('large', 'kept')");
	$session->query('SAVEPOINT a');
	$cancel->('held', "SELECT intern_ids('large', '{before,held,kept,zero}')", 'in a subtransaction');
	$session->query('ROLLBACK TO a; COMMIT');
	is(entries('large'), "$first|first\n$kept|kept", 'cancelled in a subtransaction: what was interned before it is kept');

	# What the session knows of the dictionary is neither lost nor stuck.
	$node->safe_psql('postgres', 'ALTER TABLE large RENAME TO larger; ALTER TABLE larger ADD COLUMN note text');
	is($session->query("SELECT intern_ids('larger', '{first,kept,kept}')"),
		"{$first,$kept,$kept}", 'cancelled: the session goes on with the dictionary renamed');
	is($session->full_outcome("SELECT intern_id('larger', 'again') = intern_id('larger', 'again')"), 't', 'cancelled: and assigns ids');
	$_->close for $session, $holder;
}

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
		like($session->answer . $session->errors,
			$end eq 'ROLLBACK' ? qr/\A2\z/ : qr/\A\S*ERROR:  42P01: dictionary with OID \d+ does not exist$/m,
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

# Terms are interned by eight clients at once, over a crash, in a restored dump,
# on a standby, by batches that are cancelled, and while others rename and drop
# the dictionary: a term keeps its id, and no other term is given it.
#
# One session at a time cannot be in another's way; and a crash, a dump and a
# standby are out of the reach of SQL.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use FindBin;
use lib $FindBin::RealBin;
use SeqidCollector;
use SeqidSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);

# Nothing but commits flushes WAL.
$node->append_conf('postgresql.conf',
	"wal_writer_delay = 10s\nautovacuum = off\nmax_connections = 30\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');
my $directory = PostgreSQL::Test::Utils::tempdir;

# A session whose errors tell their SQLSTATE, and whose process is known.
sub new_session
{
	my $session = SeqidSession->new($node);

	$session->query('\set VERBOSITY verbose');
	$session->{pid} = $session->query('SELECT pg_backend_pid()');
	return $session;
}

# Starts the server after a crash; what is left of the one before may still hold
# its shared memory.
sub restart
{
	for my $try (1 .. 100)
	{
		return if $node->start(fail_ok => 1);

		$node->{_pid} = undef;
		select undef, undef, undef, 0.1;
	}
	die 'the server does not start';
}

# What a statement returns, or its SQLSTATE and message.
sub outcome
{
	my ($where, $sql) = @_;
	my ($status, $out, $err) = $where->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	return $status == 0 ? $out : $err =~ /ERROR:  (.*)/ ? $1 : $err;
}

# Waits until each session is held up by another.
sub wait_until_blocked
{
	my @pids = map { $_->{pid} } @_;

	$node->poll_query_until('postgres',
		"SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0)
		   FROM unnest(ARRAY[" . join(', ', @pids) . ']) AS pid')
	  or die join("\n", 'the sessions are not blocked', map { $_->answered; $_->errors } @_);
	return;
}

# The terms of a dictionary with their ids: id|term, in the terms' order.
sub entries
{
	my ($dictionary, $database) = @_;

	return $node->safe_psql($database // 'postgres',
		"SELECT id, term FROM $dictionary ORDER BY term");
}

#
# Eight clients intern batches that overlap, each in an order of its own and
# with duplicates.  Their first batches are all under way when any goes on:
# all contain a term that another transaction holds until then.
#
{
	my $clients = 8;
	my @terms = map { sprintf 'term %04d', $_ } 1 .. 3000;
	my $gate = new_session;
	my (@sessions, %sent);

	$node->safe_psql('postgres', "SELECT intern_create('words')");
	$gate->query('BEGIN');
	$gate->query("SELECT intern_id('words', '$terms[1500]')");
	for my $client (0 .. $clients - 1)
	{
		my $session = new_session;
		my $seed = 20260301 + $client;
		my $script = '';

		note("client $client: seed $seed");
		srand $seed;
		for my $batch (1 .. 30)
		{
			my @batch = map { $terms[ rand @terms ] } 1 .. 300;

			$batch[ rand @batch ] = $terms[1500] if $batch == 1;
			$sent{$_}++ for @batch;
			my $array = 'ARRAY[' . join(', ', map { "'$_'" } @batch) . ']';
			$script .= "SELECT unnest(intern_ids('words', $array)), unnest($array);\n";
		}
		append_to_file("$directory/$client.sql", $script);
		push @sessions, $session;
	}
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->query("\\o $directory/$client.out");
		$sessions[$client]->send("\\i $directory/$client.sql");
	}
	wait_until_blocked(@sessions);
	$gate->query('ROLLBACK');
	$gate->close;

	my (%id_of, %term_of, $returned, $changed, $shared);
	my $errors = '';
	for my $client (0 .. $#sessions)
	{
		$sessions[$client]->answer;
		$errors .= $sessions[$client]->errors;
		$sessions[$client]->close;
		for my $row (split /\n/, slurp_file("$directory/$client.out"))
		{
			my ($id, $term) = split /\|/, $row;

			$returned++;
			$id_of{$term} //= $id;
			$term_of{$id} //= $term;
			$changed++ if $id_of{$term} ne $id;
			$shared++ if $term_of{$id} ne $term;
		}
	}
	is($errors, '', 'concurrently: no error, and no deadlock');
	is($returned, $clients * 30 * 300, 'concurrently: all ids were returned');
	is($changed // 0, 0, 'concurrently: no term was given two ids');
	is($shared // 0, 0, 'concurrently: no id was given to two terms');
	cmp_ok(scalar(keys %sent), '>', 2900, 'concurrently: the batches had most of the terms');
	is(join("\n", map { "$id_of{$_}|$_" } sort keys %sent),
		entries('words'), 'concurrently: the dictionary has what the clients were given');
}

#
# A crash.  A session that does not commit draws first, so that the WAL about
# the sequence is its own; then others commit ids that come after it.
#
{
	my $open = new_session;
	my (@lost, $committed);

	$node->safe_psql('postgres', "SELECT intern_create('crashed')");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$open->query('BEGIN');
	push @lost, $open->query("SELECT intern_id('crashed', 'open ' || n) FROM generate_series(1, 10) n");
	$node->safe_psql('postgres', "SELECT intern_id('crashed', 'committed')");
	push @lost, $node->safe_psql('postgres',
		"BEGIN; SELECT intern_id('crashed', 'rolled back'); ROLLBACK");
	$node->safe_psql('postgres',
		"SELECT intern_ids('crashed', ARRAY(SELECT 'batch ' || n FROM generate_series(1, 1000) n))");
	push @lost, $open->query(
		"SELECT unnest(intern_ids('crashed', ARRAY(SELECT 'open ' || n FROM generate_series(5, 500) n)))");
	$node->safe_psql('postgres', "SELECT intern_id('crashed', 'committed last')");
	$committed = entries('crashed');
	is(scalar(split /\n/, $committed), 1002, 'crash: terms were committed');
	is(scalar(split /\n/, join "\n", @lost), 507, 'crash: others were not');

	$node->kill9;
	eval { $open->query('SELECT 1') };
	eval { $open->{run}->kill_kill };
	restart;
	is(entries('crashed'), $committed, 'crash: the committed terms are there, and no others');
	is( $node->safe_psql(
			'postgres',
			"SELECT count(intern_find('crashed', term)), bool_and(intern_find('crashed', term) = id) FROM crashed"),
		'1002|t', 'crash: they are found by their ids');

	# Twice: in one batch and one by one.
	$node->safe_psql('postgres',
		"SELECT intern_ids('crashed', ARRAY(SELECT 'open ' || n FROM generate_series(1, 500) n));
		 SELECT count(intern_id('crashed', 'after ' || n)) FROM generate_series(1, 500) n");
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id), count(DISTINCT term) FROM crashed'),
		'2002|2002|2002', 'crash: new terms have ids of their own');
	is($node->safe_psql('postgres', "SELECT id, term FROM crashed WHERE term ~ 'batch|committed' ORDER BY term"),
		$committed, 'crash: the old ones have kept theirs');
}

#
# A crash under load: what a client has been told is committed.
#
{
	my $collector = SeqidCollector->new;
	my $intern =
	  "SELECT unnest(intern_ids('loaded', terms)), unnest(terms)
	     FROM (SELECT array_agg('term ' || trunc(random() * 100000)) AS terms FROM generate_series(1, 50)) b";
	my (%id_of, $told, $lost);

	$intern =~ s/\s+/ /g;
	$node->safe_psql('postgres', "SELECT intern_create('loaded')");
	for my $round (1 .. 2)
	{
		my @clients = map { $collector->start($node, 'postgres', $intern) } 1 .. 4;

		$collector->wait_for(50000, @clients);
		$node->kill9;
		$collector->finish(@clients);
		restart;
	}
	for my $entry (split /\n/, entries('loaded'))
	{
		my ($id, $term) = split /\|/, $entry;

		$id_of{$term} = $id;
	}
	for my $file (@{ $collector->{files} })
	{
		# A line that the crash cut off is nothing that anybody was told.
		for my $line (slurp_file($file) =~ /^(.*)\n/mg)
		{
			my ($id, $term) = split /\|/, $line;

			$told++;
			$lost++ if ($id_of{$term} // '') ne $id;
		}
	}
	note("$told ids of " . scalar(keys %id_of) . ' terms');
	cmp_ok($told, '>', 8 * 1000, 'crash under load: ids were given');
	is($lost // 0, 0, 'crash under load: they are still those of their terms');
}

#
# A dump: also of a dictionary with a difficult name, other prefix bits and
# values that were drawn for nothing.
#
{
	my $dump = "$directory/dump.sql";
	my $quoted = q{"other S"."It's ""quoted"""};
	(my $literal = $quoted) =~ s/'/''/g;

	$node->safe_psql('postgres', qq{CREATE SCHEMA "other S"; SELECT intern_create('$literal', 3)});
	$node->safe_psql('postgres',
		"SELECT intern_ids('$literal', ARRAY(SELECT 'old ' || n FROM generate_series(1, 100) n));
		 DELETE FROM $quoted WHERE term ~ '[5-9]\$'");
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok([ 'pg_dump', '--file', $dump, $node->connstr('postgres') ], 'dump: made');
	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ],
		'dump: restored');

	for my $case ([ 'words', 'words', 14 ], [ $quoted, $literal, 3 ])
	{
		my ($dictionary, $name, $bits) = @$case;
		my $old = entries($dictionary);
		my $count = () = $old =~ /\|/g;
		my $drawn = $node->safe_psql('postgres', "SELECT max(scatter_ordinal(id, $bits)) FROM $dictionary");

		is(entries($dictionary, 'restored'), $old, "dump: $dictionary has its ids");
		is( $node->safe_psql(
				'restored',
				"SELECT count(*) FROM $dictionary
				  WHERE intern_find('$name', term) = id AND intern_id('$name', term) = id AND intern_term('$name', id) = term"),
			$count, "dump: $dictionary works");
		is( $node->safe_psql(
				'restored',
				"SELECT min(scatter_ordinal(id, $bits)) > $drawn, count(DISTINCT id)
				   FROM unnest(intern_ids('$name', ARRAY(SELECT 'new ' || n FROM generate_series(1, 100) n))) AS id"),
			't|100', "dump: $dictionary gives new terms ids that it had not given");
	}

	# The ids that rows had before they were deleted lie below the last one.
	is($node->safe_psql('restored', "SELECT count(*), count(DISTINCT id) FROM $quoted"),
		'150|150', 'dump: one id a term');
	$node->safe_psql('restored', "SELECT intern_drop('$literal')");
	is($node->safe_psql('restored', q{SELECT count(*) FROM pg_class WHERE relnamespace = '"other S"'::regnamespace}),
		'0', 'dump: a restored dictionary is dropped with its sequence');
}

#
# A batch of a million terms is cancelled when half of them are inserted and it
# waits for one that another session holds.
#
{
	my $holder = new_session;
	my $session = new_session;
	my $million =
	  "SELECT cardinality(intern_ids('large',
	   ARRAY(SELECT lpad(n::text, 7, '0') FROM generate_series(1, 1000000) n)))";

	$node->safe_psql('postgres', "SELECT intern_create('large')");
	my $first = $session->query("SELECT intern_id('large', 'first')");
	for my $held ('0000001', '0500000')
	{
		$holder->query('BEGIN');
		$holder->query("SELECT intern_id('large', '$held')");
		$session->send($million);
		wait_until_blocked($session);
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
		is($session->answer, '', "cancelled at $held: nothing is returned");
		like($session->errors, qr/^ERROR:  57014: canceling statement due to user request$/m,
			"cancelled at $held: query_canceled");
		$holder->query('ROLLBACK');
		is($node->safe_psql('postgres', 'SELECT id, term FROM large'),
			"$first|first", "cancelled at $held: no term was kept");
	}

	# In a transaction that goes on.
	$holder->query('BEGIN');
	$holder->query("SELECT intern_id('large', 'held')");
	$session->query('BEGIN');
	my $kept = $session->query("SELECT intern_id('large', 'kept')");
	$session->query('SAVEPOINT a');
	$session->send("SELECT intern_ids('large', '{before,held,kept,zero}')");
	wait_until_blocked($session);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
	$session->answer;
	like($session->errors, qr/57014/, 'cancelled in a subtransaction: query_canceled');
	$session->query('ROLLBACK TO a');
	$session->query('COMMIT');
	$holder->query('ROLLBACK');
	is(entries('large'), "$first|first\n$kept|kept",
		'cancelled in a subtransaction: what was interned before it is kept');

	# What the session knows of the dictionary is neither lost nor stuck.
	$node->safe_psql('postgres',
		"ALTER TABLE large RENAME TO larger; ALTER TABLE larger ADD COLUMN note text");
	is($session->query("SELECT intern_ids('larger', '{first,kept,kept}')"),
		"{$first,$kept,$kept}", 'cancelled: the session goes on with the dictionary renamed');
	is($session->query("SELECT intern_id('larger', 'again') = intern_id('larger', 'again')"),
		't', 'cancelled: and assigns ids');
	is($session->errors, '', 'cancelled: without an error');
	$session->close;
	$holder->close;
}

#
# Other sessions rename, move, alter, drop and make the dictionary again, while
# this one keeps its plans.
#
{
	my $session = new_session;
	my $other = new_session;

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
	$other->query("SELECT intern_drop('one.renamed')");

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
	$other->query("SELECT intern_drop('two.renamed'); SELECT intern_create('known', 5)");
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
	wait_until_blocked($session);
	$other->query('COMMIT');
	is($session->answer, "0\n1\n2", 'renamed while waited for: it is the one that was meant');
	is($session->query('SELECT count(*) FROM known'), '3', 'renamed while waited for: not the stranger');

	# Dropped while this session waits for it: once rolled back, once not.
	for my $end ('ROLLBACK', 'COMMIT')
	{
		$other->query('BEGIN');
		$other->query("SELECT intern_drop('own')");
		$session->send("SELECT scatter_ordinal(intern_id('own', 'c'), 5)");
		wait_until_blocked($session);
		$other->query($end);
		is($session->answer, $end eq 'COMMIT' ? '' : '2', "dropped while waited for, $end: answer");
		like($session->errors,
			$end eq 'COMMIT' ? qr/^ERROR:  42P01: dictionary with OID \d+ does not exist$/m : qr/\A\z/,
			"dropped while waited for, $end: error");
	}
	# Two drop it at the same moment: neither waits for the other in a circle.
	my $rival = new_session;
	my $errors;

	$other->query('BEGIN');
	$other->query('LOCK TABLE known');
	$_->send("SELECT intern_drop('known')") for $session, $rival;
	wait_until_blocked($session, $rival);
	$other->query('ROLLBACK');
	$_->answer for $session, $rival;
	$errors = $session->errors . $rival->errors;
	my @codes = $errors =~ /ERROR:  (\w+)/g;
	is("@codes", '42P01', 'dropped by two: one of them is told');
	$rival->close;
	is($other->errors, '', 'plans: no error in the other session');
	$session->close;
	$other->close;
}

#
# A schema can be renamed although its tables are in use: between looking up and
# inserting, and a stranger takes the name.
#
{
	my ($session, $other, $third) = map { new_session } 1 .. 3;

	$other->query("CREATE SCHEMA s; SELECT intern_create('s.words')");
	$session->query("SELECT intern_id('s.words', 'warm')");
	$other->query('BEGIN; ALTER SEQUENCE s.words_id_seq CACHE 5');
	$session->send("SELECT unnest(intern_ids('s.words', '{a,m,z}'))");
	wait_until_blocked($session);
	$third->query("ALTER SCHEMA s RENAME TO t; CREATE SCHEMA s; SELECT intern_create('s.words')");
	$other->query('COMMIT');
	is($session->answer, "1\n2\n3", 'schema renamed meanwhile: ids are assigned');
	is(join('', map { $_->errors } $session, $other, $third), '', 'schema renamed meanwhile: no error');
	is($third->query('SELECT count(*) FROM t.words'), '4', 'schema renamed meanwhile: in the one that was meant');
	is($third->query('SELECT count(*) FROM s.words'), '0', 'schema renamed meanwhile: not in the stranger');
	$_->close for $session, $other, $third;
}

#
# What a session remembers of dictionaries is limited, and so is the memory that
# an array takes which cannot be made.
#
{
	my $session = new_session;

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
  SKIP:
	{
		skip 'no pg_backend_memory_contexts', 1
		  if $session->query("SELECT to_regclass('pg_catalog.pg_backend_memory_contexts') IS NULL") eq 't';

		# three of a dictionary
		my $plans = $session->query(
			"SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlan' AND ident ~ 'tenant_'");
		ok($plans >= 3 && $plans <= 3 * 64, 'many dictionaries: plans are kept of some')
		  or diag("$plans plans");
	}
	is($session->errors, '', 'many dictionaries: no error');

	# 10,000 times 200 kB, in the table and in memory 2 kB, would be 2 GB.
	$session->query("SELECT intern_create('long')");
	$session->query("INSERT INTO long (term) VALUES (repeat('y', 200000))");
	is($session->query("SELECT intern_terms('long', array_fill(0, ARRAY[10000]))"),
		'', 'large array: nothing is returned');
	like($session->errors, qr/^ERROR:  54000: array size exceeds the maximum allowed \(1073741823\)$/m,
		'large array: program_limit_exceeded');
	# The term has the id 0, which a NULL must not be taken for.
	is($session->query("SELECT array_remove(intern_terms('long', array_fill(NULL::bigint, ARRAY[10000])), NULL)"),
		'{}', 'large array: of NULLs');
	my ($peak_kb) = slurp_file("/proc/$session->{pid}/status") =~ /^VmHWM:\s+(\d+) kB$/m;
	note("peak: $peak_kb kB");
	cmp_ok($peak_kb, '<', 1000000, 'large array: its memory was not taken first');
	is($session->query("SELECT length(x[1]), length(x[100]) FROM intern_terms('long', array_fill(0, ARRAY[100])) x"),
		'200000|200000', 'large array: a smaller one is made');
	$session->close;
}

#
# A standby knows what is known.
#
{
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	my $session;

	$node->backup('base');
	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$standby->start;
	$node->safe_psql('postgres', "SELECT intern_create('replicated')");
	my $ids = $node->safe_psql('postgres', "SELECT intern_ids('replicated', '{fig,pear,plum}')");
	my ($fig) = $ids =~ /^\{(\d+),/;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));

	is(outcome($standby, "SELECT intern_find('replicated', 'fig'), intern_term('replicated', $fig)"),
		"$fig|fig", 'standby: a term and an id are found');
	is(outcome($standby, "SELECT intern_find('replicated', 'date') IS NULL, intern_term('replicated', 12345) IS NULL"),
		't|t', 'standby: or not');
	is(outcome($standby, "SELECT intern_id('replicated', 'fig')"), $fig, 'standby: a known term has its id');
	is(outcome($standby, "SELECT intern_ids('replicated', '{fig,pear,plum}') = '$ids', intern_terms('replicated', '$ids')"),
		't|{fig,pear,plum}', 'standby: a batch of known ones, too');
	for my $call (
		"intern_id('replicated', 'date')", "intern_ids('replicated', '{fig,date}')",
		"intern_create('no_way')", "intern_drop('replicated')")
	{
		like(outcome($standby, "SELECT $call"), qr/^25006: cannot execute /, "standby: $call is refused");
	}
	is(outcome($standby, 'SELECT last_value FROM replicated_id_seq') >= 3, 1, 'standby: nothing is broken by that');

	# What a session knows is invalidated by what is replayed.
	$session = SeqidSession->new($standby);
	is($session->query("SELECT intern_ids('replicated', '{fig,pear,plum}')"), $ids, 'standby: a session');
	$node->safe_psql('postgres', 'ALTER TABLE replicated RENAME TO copied');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is($session->query("SELECT intern_ids('copied', '{fig,pear,plum}')"), $ids,
		'standby: a session follows when it is renamed');

	$standby->promote;
	is( $standby->safe_psql(
			'postgres',
			"SELECT intern_ids('copied', '{fig,pear,plum}') = '$ids',
			        intern_id('copied', 'date') <> ALL ('$ids'::bigint[])"),
		't|t', 'promoted: old terms keep their ids, a new one gets another');
	is($session->query("SELECT intern_id('copied', 'date') = intern_find('copied', 'date')"),
		't', 'promoted: the session goes on');
	is($session->errors, '', 'standby: no error in the session');
	$session->close;
	$standby->stop;
}

$node->stop;
done_testing();

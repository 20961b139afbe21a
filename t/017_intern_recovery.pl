# A dictionary outlives its server: what was committed is there after a crash, in
# a restored dump and on a standby, and a new term is given no id that is taken.
#
# A crash, a dump and a standby are out of the reach of SQL.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);

# Nothing but commits flushes WAL.
$node->append_conf('postgresql.conf', "wal_writer_delay = 10s\nautovacuum = off\nmax_connections = 30");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

# The terms of a dictionary with their ids: id|term, in the terms' order.
sub entries
{
	my ($dictionary, $database) = @_;

	return $node->safe_psql($database // 'postgres',
		"SELECT id, term FROM $dictionary ORDER BY term");
}

#
# A crash.  A session that does not commit draws first, so that the WAL about
# the sequence is its own; then others commit ids that come after it.
#
{
	my $open = SeqidSession->new($node);
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
	$open->abandon;
	start_again($node);
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
		start_again($node);
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
	my $dump = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
	my $quoted = q{"other S"."It's ""quoted"""};
	(my $literal = $quoted) =~ s/'/''/g;

	$node->safe_psql('postgres', "SELECT intern_create('words')");
	$node->safe_psql('postgres',
		"SELECT intern_ids('words', ARRAY(SELECT 'term ' || n FROM generate_series(1, 3000) n))");
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
	$node->safe_psql('restored', "DROP TABLE $quoted");
	is($node->safe_psql('restored', q{SELECT count(*) FROM pg_class WHERE relnamespace = '"other S"'::regnamespace}),
		'0', 'dump: a restored dictionary is dropped with its sequence');
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

	is(full_outcome($standby, 'postgres', "SELECT intern_find('replicated', 'fig'), intern_term('replicated', $fig)"),
		"$fig|fig", 'standby: a term and an id are found');
	is(full_outcome($standby, 'postgres', "SELECT intern_find('replicated', 'date') IS NULL, intern_term('replicated', 12345) IS NULL"),
		't|t', 'standby: or not');
	is(full_outcome($standby, 'postgres', "SELECT intern_id('replicated', 'fig')"), $fig, 'standby: a known term has its id');
	is(full_outcome($standby, 'postgres', "SELECT intern_ids('replicated', '{fig,pear,plum}') = '$ids', intern_terms('replicated', '$ids')"),
		't|{fig,pear,plum}', 'standby: a batch of known ones, too');
	for my $call (
		"intern_id('replicated', 'date')", "intern_ids('replicated', '{fig,date}')",
		"intern_create('no_way')")
	{
		like(full_outcome($standby, 'postgres', "SELECT $call"), qr/^25006: cannot (execute|assign ids to new terms) /, "standby: $call is refused");
	}
	is(full_outcome($standby, 'postgres', 'SELECT last_value FROM replicated_id_seq') >= 3, 1, 'standby: nothing is broken by that');

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

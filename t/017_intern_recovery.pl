# A dictionary outlives its server: what was committed is there after a crash, in
# a restored dump and on a standby, and a new term is given no id that is taken.
#
# A crash, a dump and a standby are out of the reach of SQL.  (t/hard/crash_points.pl
# crashes after each flush of interning.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Nothing but commits flushes WAL.
my $node = new_server('main', streaming => 1, conf => 'wal_writer_delay = 10s');

# The terms of a dictionary with their ids: id|term, in the terms' order.
sub entries ($dictionary, $database = 'postgres')
{
	return $node->safe_psql($database, "SELECT id, term FROM $dictionary ORDER BY term");
}

#
# A crash.  A session that does not commit draws first, so that the WAL about
# the sequence is its own; then others commit ids that come after it.
#
{
	my $open = SeqidSession->new($node);

	$node->safe_psql('postgres', "SELECT intern_create('crashed')");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$open->query("BEGIN; SELECT intern_id('crashed', 'open ' || n) FROM generate_series(1, 10) n");
	$node->safe_psql('postgres', $_)
	  for "SELECT intern_id('crashed', 'committed')",
	  "BEGIN; SELECT intern_id('crashed', 'rolled back'); ROLLBACK",
	  "SELECT intern_ids('crashed', ARRAY(SELECT 'batch ' || n FROM generate_series(1, 1000) n))";
	$open->query("SELECT intern_ids('crashed', ARRAY(SELECT 'open ' || n FROM generate_series(5, 500) n))");
	$node->safe_psql('postgres', "SELECT intern_id('crashed', 'committed last')");
	my $committed = entries('crashed');

	crash($node);
	$open->abandon;
	is(entries('crashed'), $committed, 'crash: the committed terms are there, and no others');
	is(outcome($node, "SELECT count(*) FROM crashed WHERE intern_find('crashed', term) = id"), '1002', 'crash: they are found');

	# Twice: in one batch and one by one.
	$node->safe_psql('postgres',
		"SELECT intern_ids('crashed', ARRAY(SELECT 'open ' || n FROM generate_series(1, 500) n));
		 SELECT count(intern_id('crashed', 'after ' || n)) FROM generate_series(1, 500) n");
	is(outcome($node, 'SELECT count(*), count(DISTINCT id), count(DISTINCT term) FROM crashed'),
		'2002|2002|2002', 'crash: new terms have ids of their own');
	is(outcome($node, "SELECT id, term FROM crashed WHERE term ~ 'batch|committed' ORDER BY term"),
		$committed, 'crash: the old ones have kept theirs');
}

#
# A dump, also of values that were generated for nothing.
#
{
	my $dump = PostgreSQL::Test::Utils::tempdir . '/dump.sql';

	$node->safe_psql('postgres', $_)
	  for "SELECT intern_create('words', 3); CREATE DATABASE restored",
	  "SELECT intern_ids('words', ARRAY(SELECT 'term ' || n FROM generate_series(1, 3000) n));
		DELETE FROM words WHERE term ~ '[5-9]\$'";
	$node->command_ok([ 'pg_dump', '--file', $dump, $node->connstr('postgres') ], 'dump: made');
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'dump: restored');
	is(entries('words', 'restored'), entries('words'), 'dump: the dictionary has its ids');
	is( outcome($node, 'restored',
			"SELECT count(*) FROM words
			  WHERE intern_find('words', term) = id AND intern_id('words', term) = id AND intern_term('words', id) = term"),
		'1500', 'dump: it works');
	is( outcome($node, 'restored',
			"SELECT min(scatter_ordinal(id, 3)) >= 3000, count(DISTINCT id)
			   FROM unnest(intern_ids('words', ARRAY(SELECT 'new ' || n FROM generate_series(1, 100) n))) AS id"),
		't|100', 'dump: it gives new terms ids that it had not given');
	$node->safe_psql('restored', 'DROP TABLE words');
	is(outcome($node, 'restored', q{SELECT to_regclass('words_id_seq') IS NULL}), 't', 'dump: it is dropped with its sequence');
}

#
# A standby knows what is known.
#
{
	my $standby = new_standby($node, 'standby');
	my $known = "'{fig,pear,plum}'";

	$node->safe_psql('postgres', "SELECT intern_create('replicated')");
	my $ids = $node->safe_psql('postgres', "SELECT intern_ids('replicated', $known)");
	my ($fig) = $ids =~ /^\{(\d+),/;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));

	is( outcome($standby, "SELECT intern_find('replicated', 'fig'), intern_term('replicated', $fig),
		intern_id('replicated', 'fig'), intern_find('replicated', 'date') IS NULL, intern_term('replicated', 12345) IS NULL"),
		"$fig|fig|$fig|t|t", 'standby: known terms and ids are found, and no others');
	is(outcome($standby, "SELECT intern_ids('replicated', $known) = '$ids', intern_terms('replicated', '$ids')"),
		't|{fig,pear,plum}', 'standby: a batch of known ones, too');
	like(full_outcome($standby, "SELECT $_"), qr/^25006: cannot (execute intern_create\(\)|assign ids to new terms) during recovery/, "standby: $_ is refused")
	  for "intern_id('replicated', 'date')", "intern_ids('replicated', '{fig,date}')", "intern_create('no_way')";

	# What a session knows is invalidated by what is replayed.
	my $session = SeqidSession->new($standby);
	is($session->query("SELECT intern_ids('replicated', $known)"), $ids, 'standby: a session');
	$node->safe_psql('postgres', 'ALTER TABLE replicated RENAME TO copied');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is($session->query("SELECT intern_ids('copied', $known)"), $ids, 'standby: a session follows when it is renamed');

	$standby->promote;
	is(outcome($standby, "SELECT intern_ids('copied', $known) = '$ids', intern_id('copied', 'date') <> ALL ('$ids'::bigint[])"),
		't|t', 'promoted: old terms keep their ids, a new one gets another');
	is($session->full_outcome("SELECT intern_id('copied', 'date') = intern_find('copied', 'date')"), 't', 'promoted: the session goes on');
	$session->close;
	$standby->stop;
}

$node->stop;
done_testing();

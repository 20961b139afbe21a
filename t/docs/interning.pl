# The recipes of docs/interning.md, varied as readers vary them: repeated, rolled back, on a
# server that has the terms of others, on a copy of the schema, on a subscriber that is
# asked for new terms.  No id belongs to two terms, and no subscription stops.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('main', init => [ allows_streaming => 'logical' ]);
my $page = SeqidPage->new('docs/interning.md');
my ($parts, $subscriber, $take_over, $advance, $more_bits) =
  map { ($page->recipe($_))[0]{text} } 'several servers', 'subscriber', 'take over', 'advance', 'more bits';

# A database that is a server of its own.
sub new_database ($name)
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION seqid');
	return $name;
}

sub value ($database, $sql)
{
	return $node->safe_psql($database, $sql);
}

# Interns new terms of that name.
sub intern ($database, $name, $count)
{
	return outcome($node, $database,
		"SELECT cardinality(intern_ids('uris', ARRAY(SELECT '$name ' || n FROM generate_series(1, $count) n)))");
}

# Inserts terms of one database into the dictionary of another.
sub copy_terms ($from, $to, $condition)
{
	my $rows = value($from, "COPY (SELECT id, term FROM uris WHERE $condition) TO STDOUT");

	$node->safe_psql($to, "COPY uris (id, term) FROM STDIN;\n$rows\n\\.\n");
}

# The servers whose ids the dictionary of a database issues.
sub issued_by ($database)
{
	return value($database, "SELECT DISTINCT intern_id('uris', 'by ' || current_database() || clock_timestamp() || n) % 16
		FROM generate_series(1, 20) n");
}

#
# Several servers: a further one gets terms of the others, and keeps its remainder.
#
{
	my $dump = PostgreSQL::Test::Utils::tempdir . '/schema.sql';

	new_database("server$_") for 0 .. 2;
	# The page makes server 2.  Its other recipes name the dictionary uris.
	$node->safe_psql("server$_", $parts . 'ALTER TABLE parts RENAME TO uris; ALTER SEQUENCE parts_id_seq RENAME TO uris_id_seq') for 0 .. 2;
	$node->safe_psql("server$_", 'ALTER SEQUENCE uris_id_seq START WITH ' . ($_ + 1) . ' RESTART') for 0, 1;
	intern("server$_", "server $_", 100) for 0, 1;
	copy_terms('server0', 'server2', 'true');
	copy_terms('server1', 'server2', 'id > 500');
	is(issued_by('server2'), '2', 'several servers: terms of others were copied');
	$node->safe_psql('server2', $advance) for 1, 2;
	is(issued_by('server2'), '2', 'several servers: and the sequence was advanced without need, twice');

	# Its own terms are copied to a new server that takes its place.
	$node->command_ok([ 'pg_dump', '--schema-only', '--file', $dump, $node->connstr('server2') ], 'several servers: schema dumped');
	$node->safe_psql('postgres', 'CREATE DATABASE successor');
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('successor') ],
		'several servers: schema restored');
	copy_terms('server2', 'successor', 'true');
	is(intern('successor', 'new', 50), '23505', 'a copy: the sequence is behind');
	$node->safe_psql('successor', $advance);
	is(intern('successor', 'new', 50), '50', 'a copy: its sequence is advanced');
	is(issued_by('successor'), '2', 'a copy: it has the remainder of the old server');
	$node->safe_psql('successor', 'TRUNCATE uris RESTART IDENTITY');
	is(issued_by('successor'), '2', 'a copy: also when it starts from the first id');
}

#
# Advancing never sets a sequence back, whatever was deleted.
#
new_database('advanced');
$node->safe_psql('advanced', "SELECT intern_create('uris')");
intern('advanced', 'term', 10);
for my $case (
	[ 'ids of deleted terms do not come again', 'DELETE FROM uris WHERE id > 5', 10 ],
	[ 'an empty dictionary', 'TRUNCATE uris RESTART IDENTITY', 0 ],
	[ 'a single term', "TRUNCATE uris RESTART IDENTITY; INSERT INTO uris (id, term) VALUES (0, 'a')", 1 ])
{
	my ($what, $change, $next) = @$case;

	$node->safe_psql('advanced', "$change; $advance");
	is(value('advanced', "SELECT intern_id('uris', 'new')"), $next, "advanced: $what");
}

#
# More bits: with too many ids, repeated, with cached values.
#
{
	my $state = "SELECT pg_get_expr(adbin, adrelid), (SELECT last_value FROM uris_id_seq) FROM pg_attrdef WHERE adrelid = 'uris'::regclass";

	new_database('bits');
	$node->safe_psql('bits', "SELECT intern_create('uris'); ALTER SEQUENCE uris_id_seq CACHE 5");
	intern('bits', 'old', 1000);
	$node->safe_psql('bits', "CREATE TABLE kept AS TABLE uris; SELECT setval('uris_id_seq', 1::bigint << 52)");
	my $before = value('bits', $state);
	is(outcome($node, 'bits', $more_bits), '22003', 'more bits: too many ids');
	is(value('bits', $state), $before, 'more bits: too many ids, nothing has changed');
	$node->safe_psql('bits', "SELECT setval('uris_id_seq', 1005)");

	my $session = SeqidSession->new($node, 'bits');
	$session->query("SELECT intern_id('uris', 'cached')");
	$node->safe_psql('bits', $more_bits);
	my $lowest = value('bits', "SELECT max(scatter_ordinal(id, 14)) FROM kept");
	is($session->outcome("SELECT scatter_ordinal(intern_id('uris', 'after'), 14) > $lowest"),
		't', 'more bits: ids continue beyond the old ones, also in a session that has cached values');
	is(outcome($node, 'bits', $more_bits), '42P07', 'more bits: repeated');
	is(intern('bits', 'new', 40000), '40000', 'more bits: no id comes again');
	$session->close;
}

#
# A subscriber that is asked for new terms refuses them, also for a superuser, and the
# subscription goes on.
#
{
	my $connection = $node->connstr('publisher') =~ s/'/''/gr;
	my $arrived = sub {
		$node->poll_query_until('subscriber', "SELECT EXISTS (SELECT FROM uris WHERE term = '$_[0]')") or die "'$_[0]' does not arrive";
	};

	new_database($_) for 'publisher', 'subscriber';
	$node->safe_psql($_, "SELECT intern_create('uris')") for 'publisher', 'subscriber';
	intern('publisher', 'old', 100);
	$node->safe_psql('publisher', "CREATE PUBLICATION terms FOR TABLE uris; SELECT pg_create_logical_replication_slot('terms', 'pgoutput')");
	$node->safe_psql('subscriber', $subscriber);
	$node->safe_psql('subscriber', "CREATE SUBSCRIPTION terms CONNECTION '$connection' PUBLICATION terms WITH (create_slot = false)");
	$arrived->('old 100');
	is(outcome($node, 'subscriber', "SELECT intern_id('uris', 'own')"), '25006', 'subscriber: a new term is refused');
	is(outcome($node, 'subscriber', "SELECT intern_ids('uris', '{old 7,own}')"), '25006', 'subscriber: also beside a known one');
	is(outcome($node, 'subscriber', "INSERT INTO uris (term) VALUES ('own')"), '25006', 'subscriber: also by INSERT');
	is(outcome($node, 'subscriber', "SELECT intern_find('uris', 'old 7') = intern_id('uris', 'old 7')"), 't', 'subscriber: a known term has its id');
	intern('publisher', 'next', 100);
	$arrived->('next 100');
	is(value('subscriber', 'SELECT count(*) FROM uris'), '200', 'subscriber: the next terms of the publisher arrive');

	$node->safe_psql('subscriber', 'ALTER SUBSCRIPTION terms DISABLE; ALTER SUBSCRIPTION terms SET (slot_name = NONE); DROP SUBSCRIPTION terms');
	$node->safe_psql('subscriber', $take_over);
	is(outcome($node, 'subscriber', "SELECT intern_id('uris', 'own')"), '23505', 'taken over: the sequence is behind');
	$node->safe_psql('subscriber', $advance);
	is(outcome($node, 'subscriber', "SELECT intern_id('uris', 'own') > (SELECT max(id) FROM uris)"), 't', 'taken over: its sequence is advanced');
}

$node->stop;
done_testing();

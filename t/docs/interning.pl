# The recipes of docs/interning.md on a server that has the terms of others, on a copy of the
# schema, on a subscriber that is asked for new terms, and repeated.  No id belongs to two terms,
# and no subscription stops.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('main', init => [ allows_streaming => 'logical' ]);
my $page = SeqidPage->new('docs/interning.md');
my ($parts, $subscriber, $take_over, $advance) =
  map { ($page->recipe($_))[0]{text} } 'several servers', 'subscriber', 'take over', 'advance';

# Interns new terms of that name.
sub intern ($database, $name, $count)
{
	return outcome($node, $database,
		"SELECT cardinality(intern_ids('uris', ARRAY(SELECT '$name ' || n FROM generate_series(1, $count) n)))");
}

# Inserts the terms of one database into the dictionary of another.
sub copy_terms ($from, $to)
{
	my $rows = $node->safe_psql($from, 'COPY uris (id, term) TO STDOUT');

	$node->safe_psql($to, "COPY uris (id, term) FROM STDIN;\n$rows\n\\.\n");
}

# all_are($recipe, [ what, expected answer, statement, database ], ...)
sub all_are ($recipe, @checks)
{
	is(outcome($node, $_->[3], $_->[2]), $_->[1], "$recipe: $_->[0]") for @checks;
}

# The servers whose ids a dictionary issues
my $issued_by = "SELECT DISTINCT intern_id('uris', 'by ' || current_database() || clock_timestamp() || n) % 16
	FROM generate_series(1, 20) n";
my $own = "SELECT intern_id('uris', 'own')";
add_database($node, $_) for 'server0', 'server2', 'advanced', 'bits', 'publisher', 'subscriber';
$node->safe_psql($_, "SELECT intern_create('uris')") for 'advanced', 'bits', 'publisher', 'subscriber';

#
# Several servers: a further one gets terms of the others, and keeps its remainder.
# The page makes server 2.  Its other recipes name the dictionary uris.
#
$node->safe_psql("server$_", "$parts ALTER TABLE parts RENAME TO uris; ALTER SEQUENCE parts_id_seq RENAME TO uris_id_seq;
	ALTER SEQUENCE uris_id_seq START WITH ${\($_ + 1)} RESTART") for 0, 2;
intern('server0', 'other', 100);
copy_terms('server0', 'server2');
$node->safe_psql('server2', $advance) for 1, 2;
all_are('several servers', [ 'terms of others were copied, and the sequence was advanced without need', '2', $issued_by, 'server2' ]);

my $dump = PostgreSQL::Test::Utils::tempdir . '/schema.sql';
$node->command_ok([ 'pg_dump', '--schema-only', '--file', $dump, $node->connstr('server2') ], 'several servers: dumped');
$node->safe_psql('postgres', 'CREATE DATABASE successor');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('successor') ], 'several servers: restored');
copy_terms('server2', 'successor');
is(intern('successor', 'new', 50), '23505', 'a copy: the sequence is behind');
$node->safe_psql('successor', $advance);
all_are('a copy', [ 'is advanced', '2', $issued_by, 'successor' ],
	[ 'starts from the first id', '2', "TRUNCATE uris RESTART IDENTITY; $issued_by", 'successor' ]);

#
# Advancing never sets a sequence back, whatever was deleted.
#
intern('advanced', 'term', 10);
for my $case ([ 'DELETE FROM uris WHERE id > 5', 10 ], [ 'TRUNCATE uris RESTART IDENTITY', 0 ])
{
	my ($change, $next) = @$case;

	$node->safe_psql('advanced', "$change; $advance");
	all_are('advanced', [ "after $change", $next, $own, 'advanced' ]);
}

#
# Fewer bits: the sequence goes on, and no id comes again.
#
$node->safe_psql('bits', "DROP TABLE uris; SELECT intern_create('uris', 14)");
intern('bits', 'old', 1000);
$node->safe_psql('bits', "ALTER TABLE uris ALTER id SET DEFAULT scatter_nextval('uris_id_seq', 0)");
is(intern('bits', 'new', 40000), '40000', 'fewer bits: no id comes again');

#
# A subscriber that is asked for new terms refuses them, also for a superuser, and the
# subscription goes on.
#
my $connection = $node->connstr('publisher') =~ s/'/''/gr;

sub wait_for_term ($term)
{
	$node->poll_query_until('subscriber', "SELECT EXISTS (SELECT FROM uris WHERE term = '$term')") or die "'$term' does not arrive";
}

intern('publisher', 'old', 100);
$node->safe_psql('publisher', "CREATE PUBLICATION terms FOR TABLE uris; SELECT pg_create_logical_replication_slot('terms', 'pgoutput')");
$node->safe_psql('subscriber', $subscriber);
$node->safe_psql('subscriber', "CREATE SUBSCRIPTION terms CONNECTION '$connection' PUBLICATION terms WITH (create_slot = false)");
wait_for_term('old 100');
all_are('subscriber',
	[ 'a new term is refused', '25006', $own, 'subscriber' ],
	[ 'also beside a known one', '25006', "SELECT intern_ids('uris', '{old 7,own}')", 'subscriber' ],
	[ 'a known term has its id', 't', "SELECT intern_find('uris', 'old 7') = intern_id('uris', 'old 7')", 'subscriber' ]);
intern('publisher', 'next', 100);
wait_for_term('next 100');
$node->safe_psql('subscriber', 'ALTER SUBSCRIPTION terms DISABLE; ALTER SUBSCRIPTION terms SET (slot_name = NONE); DROP SUBSCRIPTION terms');
$node->safe_psql('subscriber', $take_over);
all_are('taken over', [ 'the sequence is behind', '23505', $own, 'subscriber' ]);
$node->safe_psql('subscriber', $advance);
all_are('taken over', [ 'is advanced', 't', "SELECT intern_id('uris', 'own') > (SELECT max(id) FROM uris)", 'subscriber' ]);

$node->stop;
done_testing();

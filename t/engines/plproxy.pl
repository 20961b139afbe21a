# Rows and terms on several servers, by PL/Proxy, as docs/sharding.md says.
#
# The router maps a key to a server by jump_hash, so a new server takes its share of the
# keys and no other key moves.  The sequences of a dictionary's parts have a step, so
# that the parts have different ids: server n has n, n + 16, n + 32, ...

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../../docs/sharding.md");
my $directory = PostgreSQL::Test::Utils::tempdir;
$ENV{PGSERVICEFILE} = "$directory/services";
my @server = map { new_server("server$_", conf => "seqid.shards = '4$_'") } 0 .. 3;
my $router = new_server('router');

append_to_file("$directory/services", "[$_->{_name}]\nhost=$_->{_host}\nport=$_->{_port}\ndbname=postgres\n")
  for @server;
$server[$_]->safe_psql('postgres', '\set start ' . ($_ + 1) . q{
	CREATE TABLE customer (key bigint PRIMARY KEY, id bigint DEFAULT snowflake_nextval(), name text);
	CREATE FUNCTION customer_put(key bigint, name text) RETURNS bigint LANGUAGE sql AS
	    'INSERT INTO customer (key, name) VALUES ($1, $2) RETURNING id';
	SELECT intern_create('uris');
	ALTER SEQUENCE uris_id_seq START WITH :start INCREMENT BY 16 RESTART;
	CREATE FUNCTION uri_ids(terms text[]) RETURNS TABLE (term text, id bigint) LANGUAGE sql AS
	    'SELECT * FROM unnest($1, intern_ids(''uris'', $1))';
	CREATE FUNCTION uri_term(id bigint) RETURNS text LANGUAGE sql AS 'SELECT intern_term(''uris'', $1)';}) for 0 .. 3;

# Without modular_mapping PL/Proxy requires a power of two of servers.  SPLIT sends each
# server its own terms, all servers at once.
$router->safe_psql('postgres', 'CREATE EXTENSION plproxy;' . $page->sql('plproxy') . q{
	CREATE FUNCTION uri_server(term text) RETURNS int STABLE LANGUAGE sql AS $$
	    SELECT jump_hash_text($1, count(*)::int) FROM pg_foreign_server, unnest(srvoptions) option
	     WHERE srvname = 'shop' AND option ~ '^p[0-9]+='
	$$;
	CREATE FUNCTION uri_ids(terms text[]) RETURNS TABLE (term text, id bigint) LANGUAGE plproxy AS
	    $$ CLUSTER 'shop'; SPLIT terms; RUN ON uri_server(terms); $$;
	CREATE FUNCTION uri_term(id bigint) RETURNS text LANGUAGE plproxy AS
	    $$ CLUSTER 'shop'; RUN ON mod(id, 16); $$;});

# every_server($sql): the answers of all four.
sub every_server ($sql)
{
	return map { $_->safe_psql('postgres', $sql) } @server;
}

my $terms = "(SELECT array_agg('at://did:plc:' || t) FROM generate_series(1, 3000) t)";

sub check_terms ($when)
{
	is(outcome($router, "SELECT count(*) FROM uri_ids($terms) JOIN known USING (term, id)"),
		3000, "$when: each term keeps its id");
	is(outcome($router, 'SELECT count(*) FROM known WHERE uri_term(id) = term'),
		3000, "$when: each id keeps its term");
}

$router->safe_psql('postgres', "SELECT customer_put(key, 'customer ' || key) FROM generate_series(1, 3000) key");
my @rows = every_server('SELECT count(*) FROM customer');
is(grep({ $_ > 900 } @rows[ 0 .. 2 ]), 3, "each of three servers has a third of the rows (@rows)");
is(join(' ', every_server('SELECT DISTINCT snowflake_shard(id) FROM customer')),
	'40 41 42 ', 'the server that stores a row evaluates the default');

$router->safe_psql('postgres', "CREATE TABLE known AS SELECT * FROM uri_ids($terms)");
is(outcome($router, 'SELECT count(DISTINCT id) FROM known'), 3000, 'each term has an id');
check_terms('three servers');
$router->safe_psql('postgres', "BEGIN; SELECT * FROM uri_ids('{rolled back}'); ROLLBACK");
is(grep({ $_ } every_server("SELECT count(*) FROM uris WHERE term = 'rolled back'")),
	1, 'a term remains if the caller rolls back');

# A fourth server.  Terms are copied, because the server that assigned an id is still asked
# for its term.
for my $from (@server[ 0 .. 2 ])
{
	my $moved = $from->safe_psql('postgres', 'COPY (SELECT id, term FROM uris WHERE jump_hash_text(term, 4) = 3) TO STDOUT');

	$server[3]->safe_psql('postgres', "COPY uris (id, term) FROM STDIN;\n$moved\n\\.\n");
}
$router->safe_psql('postgres', "ALTER SERVER shop OPTIONS (ADD p3 'service=server3')");
check_terms('four servers');
is(outcome($router, "SELECT count(DISTINCT id) FROM uri_ids(
		(SELECT array_agg('at://did:plc:new' || t) FROM generate_series(1, 1000) t))"),
	1000, 'four servers: new terms have different ids');

done_testing();

# Rows and terms on several servers, by PL/Proxy.
#
# The router maps a key to a server by jump_hash, so a new server takes its share of the
# keys and no other key moves.  The sequences of a dictionary's parts have a step, so
# that the parts have different ids: server n has n, n + 16, n + 32, ...

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my @server = map { new_server("server$_", conf => "seqid.shards = '4$_'") } 0 .. 3;
my $router = new_server('router');
my @part = map { "p$_ 'dbname=postgres host=" . $server[$_]->host . ' port=' . $server[$_]->port . "'" } 0 .. 3;

$server[$_]->safe_psql('postgres', '\set start ' . ($_ + 1) . q{
	CREATE TABLE customer (key bigint PRIMARY KEY, id bigint DEFAULT snowflake_nextval(), name text);
	CREATE FUNCTION customer_put(key bigint, name text) RETURNS bigint LANGUAGE sql AS
	    'INSERT INTO customer (key, name) VALUES ($1, $2) RETURNING id';
	CREATE FUNCTION customer_get(key bigint) RETURNS text LANGUAGE sql AS
	    'SELECT name FROM customer WHERE customer.key = $1';
	SELECT intern_create('uris');
	ALTER SEQUENCE uris_id_seq START WITH :start INCREMENT BY 16 RESTART;
	CREATE FUNCTION uri_ids(terms text[]) RETURNS TABLE (term text, id bigint) LANGUAGE sql AS
	    'SELECT * FROM unnest($1, intern_ids(''uris'', $1))';
	CREATE FUNCTION uri_term(id bigint) RETURNS text LANGUAGE sql AS 'SELECT intern_term(''uris'', $1)';}) for 0 .. 3;

# Without modular_mapping PL/Proxy requires a power of two of servers.  SPLIT sends each
# server its own terms, all servers at once.
$router->safe_psql('postgres', qq{
	CREATE EXTENSION plproxy;
	CREATE SERVER shop FOREIGN DATA WRAPPER plproxy OPTIONS (modular_mapping '1', $part[0], $part[1], $part[2]);
	CREATE USER MAPPING FOR CURRENT_USER SERVER shop;} . q{
	CREATE FUNCTION servers() RETURNS int STABLE LANGUAGE sql AS $$
	    SELECT count(*)::int FROM pg_foreign_server, unnest(srvoptions) option
	     WHERE srvname = 'shop' AND option ~ '^p[0-9]+='
	$$;
	CREATE FUNCTION customer_put(key bigint, name text) RETURNS bigint LANGUAGE plproxy AS
	    $$ CLUSTER 'shop'; RUN ON jump_hash(key, servers()); $$;
	CREATE FUNCTION customer_get(key bigint) RETURNS text LANGUAGE plproxy AS
	    $$ CLUSTER 'shop'; RUN ON jump_hash(key, servers()); $$;
	CREATE FUNCTION uri_server(term text) RETURNS int STABLE LANGUAGE sql AS 'SELECT jump_hash_text($1, servers())';
	CREATE FUNCTION uri_ids(terms text[]) RETURNS TABLE (term text, id bigint) LANGUAGE plproxy AS
	    $$ CLUSTER 'shop'; SPLIT terms; RUN ON uri_server(terms); $$;
	CREATE FUNCTION uri_term(id bigint) RETURNS text LANGUAGE plproxy AS
	    $$ CLUSTER 'shop'; RUN ON mod(id, 16); $$;});

# every_server($sql): the answers of all four.
sub every_server ($sql)
{
	return map { $_->safe_psql('postgres', $sql) } @server;
}

# move($from, $query, $table): inserts the result of a query on the new server.
sub move ($from, $query, $table)
{
	my $rows = $from->safe_psql('postgres', "COPY ($query) TO STDOUT");

	$server[3]->safe_psql('postgres', "COPY $table FROM STDIN;\n$rows\n\\.\n");
}

my $terms = "(SELECT array_agg('at://did:plc:' || t) FROM generate_series(1, 3000) t)";

sub check_rows_and_terms ($when)
{
	is(outcome($router, "SELECT count(*) FROM generate_series(1, 3000) key WHERE customer_get(key) = 'customer ' || key"),
		3000, "$when: each row is found");
	is(outcome($router, "SELECT count(*) FROM uri_ids($terms) JOIN known0 USING (term, id)"),
		3000, "$when: each term keeps its id");
	is(outcome($router, 'SELECT count(*) FROM known0 WHERE uri_term(id) = term'),
		3000, "$when: each id keeps its term");
}

$router->safe_psql('postgres', "SELECT customer_put(key, 'customer ' || key) FROM generate_series(1, 3000) key");
my @rows = every_server('SELECT count(*) FROM customer');
is(grep({ $_ > 900 } @rows[ 0 .. 2 ]), 3, "each of three servers has a third of the rows (@rows)");
is(join(' ', every_server('SELECT DISTINCT snowflake_shard(id) FROM customer')),
	'40 41 42 ', 'the server that stores a row evaluates the default');

my @session = map { SeqidSession->new($router) } 0, 1;
$session[$_]->send("CREATE TABLE known$_ AS SELECT * FROM uri_ids($terms)") for 0, 1;
$_->answer for @session;
$_->close for @session;
is(outcome($router, 'SELECT count(*), count(DISTINCT id) FROM known0 JOIN known1 USING (term, id)'),
	'3000|3000', 'two sessions get the same ids for the same terms, and one for each');
is(join(' ', every_server("SELECT string_agg(DISTINCT (id % 16)::text, ',') FROM uris")),
	'0 1 2 ', 'an id contains its server');
is(join(' ', every_server('SELECT max(id) < 48 * count(*) FROM uris')),
	't t t ', 'the ids of a server are dense but for the step');
check_rows_and_terms('three servers');
$router->safe_psql('postgres', "BEGIN; SELECT * FROM uri_ids('{rolled back}'); ROLLBACK");
is(grep({ $_ } every_server("SELECT count(*) FROM uris WHERE term = 'rolled back'")),
	1, 'a term remains if the caller rolls back');

like(full_outcome($router, "CREATE SERVER three FOREIGN DATA WRAPPER plproxy OPTIONS ($part[0], $part[1], $part[2])"),
	qr/invalid number of partitions/, 'three servers need modular_mapping');

# A fourth server: rows are moved.  Terms are copied, because the server that assigned an
# id is still asked for its term.
my ($moved, $astray) = (0, 0);
for my $from (@server[ 0 .. 2 ])
{
	$moved += $from->safe_psql('postgres', 'SELECT count(*) FROM customer WHERE jump_hash(key, 4) <> jump_hash(key, 3)');
	$astray += $from->safe_psql('postgres',
		'SELECT count(*) FROM customer WHERE jump_hash(key, 4) NOT IN (jump_hash(key, 3), 3)');
	move($from, 'DELETE FROM customer WHERE jump_hash(key, 4) = 3 RETURNING *', 'customer');
	move($from, 'SELECT id, term FROM uris WHERE jump_hash_text(term, 4) = 3', 'uris (id, term)');
}
$router->safe_psql('postgres', "ALTER SERVER shop OPTIONS (ADD $part[3])");
ok($moved > 675 && $moved < 825, "a fourth server takes a quarter of 3000 rows ($moved)");
is($astray, 0, 'no row moves between the other servers');
check_rows_and_terms('four servers');
is(outcome($router, "SELECT snowflake_shard(customer_put((SELECT min(key) FROM generate_series(3001, 4000) key
		WHERE jump_hash(key, 4) = 3), 'new'))"), 43, 'a new row on the new server has its shard');
is(outcome($router, "SELECT count(DISTINCT id) FROM uri_ids(
		(SELECT array_agg('at://did:plc:new' || t) FROM generate_series(1, 1000) t))"),
	1000, 'four servers: new terms have different ids');
my %servers;
$servers{$_}++ for split ' ', join ' ', every_server('SELECT id FROM uris');
is(grep({ $_ > 1 } values %servers), outcome($server[3], 'SELECT count(*) FROM uris WHERE id % 16 <> 3'),
	'only the ids of copied terms are on two servers');

done_testing();

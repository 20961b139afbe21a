# Partitions on two servers, by postgres_fdw, as docs/clusters.md says.
#
# The router has foreign tables as partitions.  The server that plans an INSERT
# evaluates the default, so its shard is in the key, wherever the row is stored.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../../docs/clusters.md");
my $old = new_server('old', conf => "seqid.shards = '20'");
my $new = new_server('new', conf => "seqid.shards = '21'");
my $router = new_server('router', conf => "seqid.shards = '30'");

# recipe($name): the statements of a recipe, for the servers of this test.
sub recipe ($name)
{
	my %server = (old => $old, new => $new);
	my $sql = join '', map { $_->{text} } grep { ($_->{recipe} // '') eq $name } @{ $page->{blocks} };

	die "the page has no recipe '$name'" if $sql eq '';
	return $sql =~ s/host '(\w+)', dbname 'shop'/sprintf "host '%s', port '%s', dbname 'postgres'", $server{$1}->host, $server{$1}->port/ger;
}

for my $node ($old, $new)
{
	$node->safe_psql('postgres', q{
		CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), note text NOT NULL);
		CREATE TABLE carts (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), customer bigint);});
}

# is_plan($tables, $query, $name): the foreign tables that a plan of the router scans.
sub is_plan ($tables, $query, $name)
{
	my $plan = $router->safe_psql('postgres', "EXPLAIN (COSTS off) $query");

	is(join(' ', $plan =~ /Foreign Scan on (\w+)/g), $tables, $name);
}

# By time: rows of before 2026 on one server, later rows on the other
$router->safe_psql('postgres', recipe('fdw-by-time'));
$router->safe_psql('postgres', q{
	CREATE FOREIGN TABLE no_default (id bigint, note text) SERVER new OPTIONS (table_name 'events');
	CREATE FOREIGN TABLE no_column (note text) SERVER new OPTIONS (table_name 'events');
	INSERT INTO events (note) SELECT 'today' FROM generate_series(1, 1000);
	INSERT INTO events SELECT snowflake_make('2025-06-01 00:00+00', 30, n), 'backfilled' FROM generate_series(1, 500) n;});
is(outcome($new, "SELECT count(*) FROM events WHERE note = 'today'"),
	1000, 'rows of today are on the new server');
is(outcome($old, "SELECT count(*) FROM events WHERE note = 'backfilled'"),
	500, 'rows of last year are on the old server');
is(outcome($new, 'SELECT DISTINCT snowflake_shard(id) FROM events'), 30,
	'the router evaluates its default');

is(outcome($router, "INSERT INTO no_default (note) VALUES ('refused')"),
	23502, 'a foreign table without a default sends NULL');
$router->safe_psql('postgres', "INSERT INTO no_column VALUES ('by the server')");
$new->safe_psql('postgres', "INSERT INTO events (note) VALUES ('directly')");
is(outcome($router, "SELECT snowflake_shard(id) FROM events WHERE note = 'by the server'"),
	21, 'the server evaluates its default for a foreign table without the column');
is(outcome($router, "SELECT snowflake_shard(id) FROM events WHERE note = 'directly'"),
	21, 'a row that is inserted on the server has its shard');

my $one = "FROM events WHERE id = snowflake_make('2025-06-01 00:00+00', 30, 7)";
is_plan('events_new', "SELECT * FROM events WHERE id >= snowflake_first('2026-03-01 00:00+00')
	AND id < snowflake_first('2026-04-01 00:00+00')", 'a range of time reads one server');
is_plan('events_old', "SELECT * $one", 'a key reads one server');
is(outcome($router, "SELECT note $one"), 'backfilled', 'a key finds its row');
like(outcome($router, 'EXPLAIN (VERBOSE) SELECT * FROM events_new WHERE snowflake_shard(id) = 30'),
	qr/Remote SQL: .* WHERE \(\(public\.snowflake_shard\(id\) = 30\)\)$/m,
	'the server evaluates the condition on the shard');

# By shard: the INSERT chooses the server.  The servers must not issue the shards that
# the router issues for them.
for my $node ($old, $new)
{
	$node->append_conf('postgresql.conf', "seqid.allowed_shards = '0-19, 22-1023'");
	$node->restart;
}
is(outcome($old, 'INSERT INTO carts (customer) VALUES (1)'),
	55000, 'a server does not issue a shard of the router');
$router->safe_psql('postgres', recipe('fdw-by-shard'));
is(outcome($router, 'INSERT INTO carts VALUES (snowflake_nextval(), 1)'),
	23514, 'no partition has the shard of the router');
is(outcome($router, 'SELECT bool_and(snowflake_shard(id) = 20 + jump_hash(customer, 2)) AND count(*) = 1000 FROM carts'),
	't', 'jump_hash chooses the server of a row');
is(outcome($old, 'SELECT DISTINCT snowflake_shard(id) FROM carts'), 20, 'a server has the rows of its shard');

my $id = $router->safe_psql('postgres', 'SELECT max(id) FROM carts_21');
is_plan('carts_20 carts_21', "SELECT * FROM carts WHERE id = $id", 'a key alone reads both servers');
is_plan('carts_21', "SELECT * FROM carts WHERE id = $id AND snowflake_shard(id) = snowflake_shard($id)",
	'a key with its shard reads one server');

# The horizon of the router: the second read in one transaction uses the remote snapshot
# of the first, although the transaction is READ COMMITTED.
my $reader = SeqidSession->new($router);
my $read = recipe('fdw-read') =~ s/^(BEGIN|COMMIT);\n//mgr;
my $late = sub { $reader->query($read) =~ /late/ ? 'found' : 'missed' };
$reader->query("BEGIN;\n$read");
$router->safe_psql('postgres', "INSERT INTO events (note) VALUES ('late')");
poll_until
{
	outcome($router, 'CALL seqid.horizon() \gset
		SELECT :snowflake > (SELECT max(id) FROM events)') eq 't'
} or die 'the horizon stands still';
is($late->() . $reader->errors, 'missed', 'a second read in a transaction misses a row below the horizon');
$reader->query('COMMIT');
is($reader->query(recipe('fdw-read')) =~ /late/ ? 'found' : 'missed', 'found', 'one read in a transaction finds it');
is($reader->errors, '', 'no read fails');
$reader->close;

done_testing();

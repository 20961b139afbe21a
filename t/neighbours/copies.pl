# copies.pl
#	  Extensions that copy a table of snowflakes to another database.
#
# mimeo fetches, and Londiste and Slony send, the rows whose keys triggers logged, and
# pgl_ddl_deploy sends the table's definition through pglogical.  Both databases have seqid.
# What is not installed is skipped.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..", $FindBin::RealBin;
use SeqidNeighbours;
use SeqidTest;

my ($directory) = run_command([ 'pg_config', '--pkglibdir' ]);
my $preload = -f "$directory/pglogical.so" ? "shared_preload_libraries = 'pglogical'\n" : '';
my $node = new_server('main', extension => 0, init => [ allows_streaming => 'logical' ], conf => "max_connections = 100\nmax_worker_processes = 20\n$preload");
reconfigure($node, output_plugin_libraries => 'pglogical_output')
  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
my $table = 'CREATE TABLE public.orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), item text)';
my $rows = q{INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 50) n};
my $files = PostgreSQL::Test::Utils::tempdir;
my $user = getpwuid $>;

# Two of them are programs, which bring what they need of extensions.
my %installed = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');
my %program = (londiste => 'londiste', slony => 'slonik');
for my $name (keys %program)
{
	$installed{$name} = grep { -x "$_/$program{$name}" } split /:/, $ENV{PATH};
}

# For libpq, and for programs that write it to a file.
sub connection ($database)
{
	return "host=@{[$node->host]} port=@{[$node->port]} dbname=$database user=$user";
}

sub file ($name, @lines)
{
	append_to_file("$files/$name", join "\n", @lines, '');
	return "$files/$name";
}

# program(@command): runs it; what it prints is of interest if it fails.
sub program (@command)
{
	my ($out, $err) = run_command(\@command);

	$? == 0 or die "@command:\n$out\n$err";
}

# copied_by($name => sub ($from, $to) { ... }): begins to copy the table from one
# database to the other, and can return a function that copies what is new.  Asserts that the
# other database gets the rows.
sub copied_by ($name, $begin)
{
	my ($from, $to) = map { "${name}_$_" } 'from', 'to';
	my $query = 'SELECT id, item FROM orders ORDER BY id';

	SKIP:
	{
		skip "$name is not installed", 1 unless $installed{$name};
		$node->safe_psql('postgres', "CREATE DATABASE $_") for $from, $to;
		$node->safe_psql($_, 'CREATE EXTENSION seqid') for $from, $to;
		my $refresh = $begin->($from, $to);
		$node->safe_psql($from, $rows);
		my $same = poll_until
		{
			$refresh->() if $refresh;
			$node->safe_psql($from, $query) eq $node->safe_psql($to, $query);
		};
		ok($same, "$name: the copy has the keys")
		  or diag($node->safe_psql($from, $query), "\n", $node->safe_psql($to, $query));
		is($node->safe_psql($to, 'SELECT min(snowflake_shard(id)), max(snowflake_shard(id)) FROM orders'), '5|5', "$name: they are snowflakes");
	}
}

# Its way that finds new rows by a number takes no bigint beyond the range of integer, so this
# is the one that logs keys in a queue.
copied_by(mimeo => sub ($from, $to) {
	$node->safe_psql($from, "$table; $rows; CREATE SCHEMA mimeo");
	$node->safe_psql($to, "SET client_min_messages = error; CREATE SCHEMA mimeo; CREATE EXTENSION mimeo SCHEMA mimeo CASCADE;
		INSERT INTO mimeo.dblink_mapping_mimeo (data_source, username, pwd) VALUES ('" . connection($from) . "', '$user', 'none');
		SELECT mimeo.dml_maker('public.orders', data_source_id) FROM mimeo.dblink_mapping_mimeo");
	return sub { $node->safe_psql($to, "SELECT mimeo.refresh_dml('public.orders')") };
});

copied_by(londiste => sub ($from, $to) {
	my ($source, $copy) = map { file("$_.ini", '[londiste]', "job_name = $_", 'db = ' . connection($_), 'queue_name = orders',
		"logfile = $files/$_.log", "pidfile = $files/$_.pid", 'loop_delay = 0.1') } $from, $to;
	my $ticker = file('pgqd.ini', '[pgqd]', 'base_connstr = ' . connection('postgres') =~ s/ dbname=\S+//r, "initial_database = $from",
		"database_list = $from,$to", "logfile = $files/pgqd.log", "pidfile = $files/pgqd.pid");

	$node->safe_psql($_, $table) for $from, $to;
	$node->safe_psql($from, $rows);
	program('londiste', $source, 'create-root', 'source', connection($from));
	program('londiste', $copy, 'create-leaf', 'copy', connection($to), '--provider=' . connection($from));
	spawn("$files/ticker", 'pgqd', $ticker);
	spawn("$files/worker", 'londiste', $_, 'worker') for $source, $copy;
	program('londiste', $_, 'add-table', 'public.orders') for $source, $copy;
	return undef;
});

copied_by(slony => sub ($from, $to) {
	my $cluster = join "\n", 'cluster name = orders;', map { "node $_->[0] admin conninfo = '" . connection($_->[1]) . "';" } [ 1, $from ], [ 2, $to ];

	$node->safe_psql($_, $table) for $from, $to;
	$node->safe_psql($from, $rows);
	program('slonik', file('begin', $cluster, "init cluster (id = 1, comment = 'source');", 'create set (id = 1, origin = 1);',
		"set add table (set id = 1, origin = 1, id = 1, fully qualified name = 'public.orders');",
		"store node (id = 2, comment = 'copy', event node = 1);",
		"store path (server = 1, client = 2, conninfo = '" . connection($from) . "');",
		"store path (server = 2, client = 1, conninfo = '" . connection($to) . "');"));
	spawn("$files/slon", 'slon', 'orders', connection($_)) for $from, $to;
	program('slonik', file('subscribe', $cluster, 'subscribe set (id = 1, provider = 1, receiver = 2, forward = no);'));
	return undef;
});

copied_by(pgl_ddl_deploy => sub ($from, $to) {
	$node->safe_psql($_, "SET client_min_messages = error; CREATE EXTENSION pglogical; CREATE EXTENSION pgl_ddl_deploy;
		SELECT pgl_ddl_deploy.add_role(oid) FROM pg_roles WHERE rolname = current_user;
		SELECT pglogical.create_node('$_', '" . connection($_) . "')") for $from, $to;
	$node->safe_psql($to, "SELECT pglogical.create_subscription('orders', '" . connection($from) . "')");
	$node->poll_query_until($to, "SELECT status = 'replicating' FROM pglogical.show_subscription_status()") or die 'no subscription';
	$node->safe_psql($from, "INSERT INTO pgl_ddl_deploy.set_configs (set_name, include_schema_regex, lock_safe_deployment, allow_multi_statements)
		VALUES ('default', '.*', true, true); SELECT pgl_ddl_deploy.deploy('default')");
	$node->safe_psql($from, $table);
	$node->poll_query_until($to, "SELECT to_regclass('public.orders') IS NOT NULL") or die 'no table';
	return undef;
});

done_testing();

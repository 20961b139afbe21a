# Settings behind PgBouncer's transaction pooling.
#
# A shard that is set for a database or role belongs to the session of the server, so
# every client to which the pool lends that session gets it.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $server = new_server('server');
$server->safe_psql('postgres', q{
	CREATE ROLE regress_app LOGIN;
	CREATE ROLE regress_batch LOGIN;
	CREATE DATABASE shop;
	ALTER DATABASE shop SET seqid.shards = 5;
	ALTER ROLE regress_batch IN DATABASE shop SET seqid.shards = 9;});
$server->safe_psql('shop', 'CREATE EXTENSION seqid');

my ($directory, $host, $port) = (PostgreSQL::Test::Utils::tempdir_short, $server->host, $server->port);
append_to_file("$directory/users", qq{"$_" ""\n}) for qw(admin regress_app regress_batch);
append_to_file("$directory/pgbouncer.ini", qq{
[databases]
shop = host=$host port=$port
[pgbouncer]
listen_addr =
unix_socket_dir = $directory
auth_type = trust
auth_file = $directory/users
admin_users = admin
pool_mode = transaction
default_pool_size = 1
});
spawn("$directory/log", '/usr/sbin/pgbouncer', "$directory/pgbouncer.ini");

# pooled($role, $sql, $options): the answer through the pooler, or the error.
my $shard = 'SELECT snowflake_shard(snowflake_nextval())';

sub pooled ($role, $sql, $options = 'dbname=shop')
{
	# psql() dies if the pooler refuses the connection before psql has read the statement.
	my ($out, $err) = run_command([ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-c', $sql, "host=$directory port=6432 user=$role $options" ]);

	return $out ne '' ? $out : $err =~ s/.*ERROR:\s+//sr;
}

poll_until { eval { pooled('regress_app', 'SELECT 1') } eq '1' } or die slurp_file("$directory/log");
is(pooled('regress_app', $shard), 5, 'ALTER DATABASE ... SET seqid.shards reaches a session');
is(pooled('regress_batch', $shard), 9, 'ALTER ROLE ... SET seqid.shards reaches a session');

$server->safe_psql('postgres', 'ALTER DATABASE shop SET seqid.shards = 6');
is(pooled('regress_app', $shard), 5, 'a session that exists keeps its shard');
pooled('admin', 'RECONNECT shop', 'dbname=pgbouncer');
is(pooled('regress_app', $shard), 6, 'RECONNECT brings the new shard');

is(pooled('regress_app', 'SET seqid.shards = 7'), 42501, 'a client must not set the shard');
like(pooled('regress_app', $shard, "dbname=shop options='-c seqid.shards=7'"),
	qr/unsupported startup parameter/, 'options of a connection string do not reach the server');
$server->safe_psql('postgres', 'GRANT SET ON PARAMETER seqid.shards TO regress_app');
is(pooled('regress_app', "BEGIN; SET LOCAL seqid.shards = 7; $shard; COMMIT"),
	7, 'SET LOCAL holds in its transaction');
is(pooled('regress_app', $shard), 6, 'SET LOCAL does not hold for the next client');
pooled('regress_app', 'SET seqid.shards = 8');
is(pooled('regress_app', $shard), 8, 'SET holds for the next client too');

done_testing();

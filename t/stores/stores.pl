# Event stores from npm, and a program that can only send one SELECT: each as it is, and
# with examples/stores/NAME.sql, in two databases of one server at the same time.  And two
# programs that make JSON of an id.
#
# STORES="emmett dcb" chooses programs.  SEQID_MINUTES sets the length of each run that is
# measured; with it, programs run one after the other.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use IPC::Run ();
use SeqidTest;
use SeqidNode;

my $directory = PostgreSQL::Test::Utils::tempdir;
my $node = new_server('stores', extension => 0, conf => "listen_addresses = '127.0.0.1'\nwal_level = logical\n");

append_to_file($node->data_dir . '/pg_hba.conf', "host all all 127.0.0.1/32 trust\n");
$node->reload;
# Newer minor versions allow only libraries that this setting names.
reconfigure($node, output_plugin_libraries => 'wal2json')
  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN; CREATE TABLE another (n int)');

# Without the extension, the policies cannot be created.  psql continues after the error.
$node->safe_psql('postgres', 'CREATE TABLE events (id bigserial); CREATE TABLE messages (global_position bigint);
	CREATE SEQUENCE emt_global_message_position');
for my $file ('loader_policy', 'kysely')
{
	$node->psql('postgres', slurp_file("examples/stores/$file.sql"), on_error_stop => 0);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_class WHERE relrowsecurity'),
		0, "$file: without its policy, row security is not enabled");
}

# The programs find their packages above them.
system_or_bail('cp', '-R', '--parents', 't/stores', 'examples/stores', $directory);
symlink SeqidNode::modules('examples/stores'), "$directory/node_modules";

# Programs mostly wait: for their own pauses between two reads, and for open transactions.
my @running;
for my $store (split ' ', $ENV{STORES} // 'loader_view loader_policy emmett dcb kysely bigints')
{
	my ($program, @argument) = split /_/, $store;
	local @ENV{qw(PGPORT PGUSER)} = ($node->port, scalar getpwuid $<);

	push @running, SeqidNode::start($store, [ 'node', "$directory/t/stores/$program.mjs", @argument ]);
	SeqidNode::finish(shift @running) if $ENV{SEQID_MINUTES};
}
SeqidNode::finish($_) for @running;

$node->stop;
done_testing();

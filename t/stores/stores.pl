# Event stores from npm, and a program that can only send one SELECT: each as it is, and
# with examples/stores/NAME.sql, in two databases of one server at the same time.  And
# PostGraphile.
#
# A program prints "ok ..." or "not ok ..." for each check, its figures as comments, and
# "end" at its end.  STORES="emmett dcb" chooses programs, SEQID_MINUTES sets the length
# of each run that is measured.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidNode;

use IPC::Run ();

my $directory = PostgreSQL::Test::Utils::tempdir;
my $node = new_server('stores', extension => 0, conf => "listen_addresses = '127.0.0.1'\n");

append_to_file($node->data_dir . '/pg_hba.conf', "host all all 127.0.0.1/32 trust\n");
$node->reload;
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN; CREATE TABLE another (n int)');

# The programs find their packages above them.
system_or_bail('cp', '-R', '--parents', 't/stores', 'examples/stores', $directory);
symlink SeqidNode::modules('t/stores'), "$directory/node_modules";

my %programs = (
	loader_view => [ 'loader.mjs', 'view' ],
	loader_policy => [ 'loader.mjs', 'policy' ],
	map { $_ => ["$_.mjs"] } qw(emmett dcb kysely postgraphile));
for my $store (split ' ', $ENV{STORES} // 'loader_view loader_policy emmett dcb kysely postgraphile')
{
	my ($program, @arguments) = @{ $programs{$store} // die "no such store: $store" };
	local @ENV{qw(PGPORT PGUSER)} = ($node->port, scalar getpwuid $<);

	my $succeeded = IPC::Run::run([ 'timeout', 1800, 'node', "$directory/t/stores/$program", @arguments ], '<', \'', '>', \my $out, '2>', \my $err);
	my @checks = $out =~ /^ok .*/mg;
	note($out);
	ok($succeeded && @checks && $out !~ /^not ok /m && $out =~ /^end\n\z/m, "$store: " . @checks . ' checks')
	  or diag($out, $err);
}

$node->stop;
done_testing();

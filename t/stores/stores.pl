# Event stores from npm, and a program that can only send one SELECT: each as it is, and
# with examples/stores/NAME.sql, in two databases of one server at the same time.  And
# PostGraphile.
#
# A program prints "ok ..." or "not ok ..." for each check, its figures as comments, and
# "end" at its end.  STORES="emmett dcb" chooses programs.  SEQID_MINUTES sets the length
# of each run that is measured; with it, programs run one after the other.

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

# Programs mostly wait: for their own pauses between two reads, and for open transactions.
my @running;

sub finish
{
	my ($run) = @_;
	my $succeeded = $run->{harness}->finish;
	my @checks = $run->{out} =~ /^ok .*/mg;

	note($run->{out});
	ok($succeeded && @checks && $run->{out} !~ /^not ok /m && $run->{out} =~ /^end\n\z/m, "$run->{store}: " . @checks . ' checks')
	  or diag($run->{out}, $run->{err});
	return;
}

my %programs = (
	loader_view => [ 'loader.mjs', 'view' ],
	loader_policy => [ 'loader.mjs', 'policy' ],
	map { $_ => ["$_.mjs"] } qw(emmett dcb kysely postgraphile));
for my $store (split ' ', $ENV{STORES} // 'loader_view loader_policy emmett dcb kysely postgraphile')
{
	my ($program, @arguments) = @{ $programs{$store} // die "no such store: $store" };
	local @ENV{qw(PGPORT PGUSER)} = ($node->port, scalar getpwuid $<);
	my %run = (store => $store);

	$run{harness} = IPC::Run::start([ 'timeout', 1800, 'node', "$directory/t/stores/$program", @arguments ],
		'<', \'', '>', \$run{out}, '2>', \$run{err});
	push @running, \%run;
	finish(shift @running) if $ENV{SEQID_MINUTES};
}
finish($_) for @running;

$node->stop;
done_testing();

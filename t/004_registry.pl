# Servers of a cluster check in at the registry of examples/registry.
#
# Only real servers have a copied configuration file, promotions, restarts and clones; only
# sessions at once find the same free shards.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../examples/registry/README.md");
my $registry = new_server('registry', extension => 0);
$registry->safe_psql('postgres', slurp_file("$FindBin::RealBin/../examples/registry/registry.sql"));

# What a node sends to the registry.
sub call_of ($server, $node, $address = undef)
{
	my ($recipe) = $page->recipe('check-in');
	my $dsn = $server->connstr('postgres') . (defined $address ? " host=$address" : '');

	return $server->safe_psql('postgres', $recipe->{text} =~ s/'one'/'$node'/r, connstr => $dsn);
}

# What the registry prints for it, to the last byte, because cron mails each: nothing, or what
# matches $expected.
sub check_in ($what, $call, $expected = qr/^$/)
{
	my ($out, $err);

	IPC::Run::run([ 'psql', '-XAtq', '-d', $registry->connstr('postgres') ], '<', \$call, '>', \$out, '2>', \$err);
	like("$out$err", qr/\A$expected\z/m, $what);
}

my $one = new_server('one', streaming => 1, conf => "seqid.allowed_shards = '0-3'\n");
is(outcome($registry, "SELECT shard_registry.claim('shop', 8)"), '0-7', 'the cluster claims shards');
check_in('the primary', call_of($one, 'one'));

my $two = new_standby($one, 'two', conf => "listen_addresses = '127.0.0.1'");
check_in('a standby with a copied list', call_of($two, 'two'), qr/Node "one" of "shop" can issue shards 0-3 too\.\n/);
reconfigure($two, 'seqid.allowed_shards' => '4-7');
check_in('a standby with a list of its own', call_of($two, 'two'));
$two->promote;
check_in('the promoted standby, by TCP', my $late = call_of($two, 'two', '127.0.0.1'));
$two->restart;
check_in('it restarts', call_of($two, 'two'));
check_in('a check-in from before the restart', $late);
check_in('the old primary continues, with a list of its own', call_of($one, 'one'));

# A clone of the machine: the same node name, files and timeline
$one->backup('clone');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($one, 'clone');
$clone->start;
check_in('the clone is later', call_of($clone, 'one'));
check_in('the original, beside its clone', call_of($one, 'one'),
	qr/Another server, which started later, has the name of this node\.\n/);
$registry->safe_psql('postgres', "DELETE FROM shard_registry.nodes WHERE owner = 'shop' AND node = 'one'");
check_in('the original is accepted', call_of($one, 'one'));
$_->stop for $one, $two, $clone;

# Sessions at once.  The k-th check-in with one list has k conflicts, of which one is that the
# owner has claimed nothing.
$registry->safe_psql('postgres', 'TRUNCATE shard_registry.shards, shard_registry.nodes, shard_registry.conflicts;
	CREATE SEQUENCE n; CREATE TABLE claims (list text); CREATE TABLE conflicts (count int)');
$registry->pgbench('--no-vacuum --client=8 --transactions=20',
	0, [qr{processed: 160/160}], [qr/^$/], 'sessions at once', { at_once => <<'SQL' });
SELECT nextval('n') AS n \gset
INSERT INTO claims SELECT shard_registry.claim('owner ' || :n, 4);
INSERT INTO conflicts SELECT count(*) FROM shard_registry.check_in('o', 'node ' || :n, '5', now(), now());
SQL
is(outcome($registry, 'SELECT count(*), count(DISTINCT list) FROM claims'), '160|160', 'each shard is claimed once');
is(outcome($registry, 'SELECT array_agg(count ORDER BY count) = ARRAY(SELECT generate_series(1, 160)) FROM conflicts'),
	't', 'each check-in sees those before it');
is(outcome($registry, "BEGIN ISOLATION LEVEL $_; SELECT shard_registry.check_in('o', 'one', '5', now(), now())"),
	'25001', "a check-in under $_ is refused, because it could miss those before it")
  for 'REPEATABLE READ', 'SERIALIZABLE';
$registry->stop;

done_testing();

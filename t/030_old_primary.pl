# An old primary that continues beside a promoted standby, both with one fixed shard.
#
# The registry must notice it, and a clone of the old primary, but not a restart or a
# change of the address.  A reader that has used the old primary keeps a position outside
# of the database, which is ahead of rows of the new one.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../docs/clusters.md");
my $conf = "seqid.shards = '0-3'\nseqid.allowed_shards = '0-3'\n";
my $registry = new_server('registry');
$registry->safe_psql('postgres', slurp_file("$FindBin::RealBin/../examples/registry/registry.sql"));
my $old = new_server('old', streaming => 1, conf => $conf);

my ($where) = $page->recipe('where');
like(outcome($old, $where->{text}), qr/^1\|0\|configuration file$/, 'the shard is from the configuration file');

# check_in($server, $node, $address): NULL, or the conflict.  A server that cannot read its
# own list would have no conflict, so the list must be in the call.
sub check_in ($server, $node, $address = undef)
{
	my ($recipe) = $page->recipe('check-in');
	my $dsn = $server->connstr('postgres') . (defined $address ? " host=$address" : '');
	my $call = $server->safe_psql('postgres', $recipe->{text} =~ s/'one'/'$node'/r, connstr => $dsn);

	like($call, qr/'$node', '0-3', /, "$node: the call has the list");
	return outcome($registry, $call);
}

is(outcome($registry, "SELECT shard_registry.claim('shop', 4)"), '0-3', 'the cluster claims shards');
is(check_in($old, 'one'), '', 'the primary');

$old->safe_psql('postgres', q{
	CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(2), note text);
	CREATE TABLE positions (reader text PRIMARY KEY, position bigint);
	INSERT INTO events (note) VALUES ('before');
	CALL seqid.horizon() \gset
	INSERT INTO positions VALUES ('inside', :snowflake);});
my $new = new_standby($old, 'new', conf => "listen_addresses = '127.0.0.1'");
is(check_in($new, 'two'), '', 'a standby');
$old->wait_for_catchup($new);
$new->promote;
is(check_in($new, 'two'), '', 'the promoted standby');
is(check_in($new, 'two', '127.0.0.1'), '', 'the same by TCP');
$new->restart;
is(check_in($new, 'two'), '', 'it restarts');
like(check_in($old, 'one'), qr/"two" on timeline 2, .* shard 0/, 'the old primary continues');
is(check_in($new, 'two'), '', 'the new primary is the latest');

#
# Positions
#

# read_events($node, $position): the notes from there up to the horizon.
sub read_events ($node, $position)
{
	return $node->safe_psql('postgres', "CALL seqid.horizon() \\gset
		SELECT note FROM events WHERE id >= $position AND id < :snowflake ORDER BY id");
}

my $added = $new->safe_psql('postgres', "INSERT INTO events (note) VALUES ('after') RETURNING id");
my $outside;
poll_until
{
	($outside) = $old->safe_psql('postgres', 'CALL seqid.horizon()') =~ /\|1\|(\d+)\|/;
	$outside > $added;
} or die 'the horizon of the old primary stands still';
my ($inside) = $new->safe_psql('postgres', "SELECT position FROM positions WHERE reader = 'inside'");
wait_until($new, "CALL seqid.horizon() \\gset\nSELECT :snowflake > $added") or die 'the horizon stands still';
# The position can be before the first row, which has the time of the horizon then.
like(read_events($new, $inside), qr/^(before\n)?after$/, 'a position in the database: no row is missing');
is(read_events($new, $outside), '', 'a position outside: a row is missing after reads on the old primary');

#
# A clone of the machine: the same node name, files and timeline
#

$registry->safe_psql('postgres', 'UPDATE shard_registry.shards SET timeline = NULL');
is(check_in($old, 'one'), '', 'the old primary is accepted again');
$old->backup('clone');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($old, 'clone');
$clone->start;
is(outcome($clone, 'SELECT timeline FROM seqid.stat_server'), 1, 'the clone has the timeline of its original');
is(check_in($clone, 'one'), '', 'the clone is later');
like(check_in($old, 'one'), qr/"one" on timeline 1/, 'the original, beside its clone');
is(outcome($registry, 'SELECT count(*) FROM shard_registry.conflicts'), 2, 'the registry keeps two conflicts');

done_testing();

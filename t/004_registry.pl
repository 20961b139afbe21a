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

# What the registry prints for it, to the last byte: cron mails each.
sub answer_to ($call)
{
	my ($out, $err);

	IPC::Run::run([ 'psql', '-XAtq', '-d', $registry->connstr('postgres') ], '<', \$call, '>', \$out, '2>', \$err);
	return "$out$err";
}

sub check_in (@arguments)
{
	return answer_to(call_of(@arguments));
}

my $one = new_server('one', streaming => 1, conf => "seqid.allowed_shards = '0-3'\n");
is(outcome($registry, "SELECT shard_registry.claim('shop', 8)"), '0-7', 'the cluster claims shards');
like(call_of($one, 'one'), qr/'one', '0-3', /, 'the call has the list');
is(check_in($one, 'one'), '', 'the primary');

my $two = new_standby($one, 'two', conf => "listen_addresses = '127.0.0.1'");
like(check_in($two, 'two'), qr/^Node "one" of "shop" can issue shards 0-3 too\.\n$/, 'a standby with a copied list');
like(check_in($one, 'one'), qr/^Node "two" /, 'so does its primary');
reconfigure($two, 'seqid.allowed_shards' => '4-7');
is(check_in($two, 'two'), '', 'a standby with a list of its own');
is(check_in($one, 'one'), '', 'and its primary');

$one->wait_for_catchup($two);
$two->promote;
is(check_in($two, 'two'), '', 'the promoted standby');
is(check_in($two, 'two', '127.0.0.1'), '', 'the same by TCP');
my $late = call_of($two, 'two');
$two->restart;
is(check_in($two, 'two'), '', 'it restarts');
is(answer_to($late), '', 'a check-in from before the restart');
is(check_in($one, 'one'), '', 'the old primary continues, with a list of its own');

# A clone of the machine: the same node name, files and timeline
$one->backup('clone');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($one, 'clone');
$clone->start;
is(outcome($clone, 'SELECT timeline FROM seqid.stat_server'), 1, 'the clone has the timeline of its original');
is(check_in($clone, 'one'), '', 'the clone is later');
my $another = qr/^Another server, which started later, has the name of this node\.\n$/;
like(check_in($one, 'one'), $another, 'the original, beside its clone');
is(check_in($clone, 'one'), '', 'the clone');
$clone->stop;
like(check_in($one, 'one'), $another, 'the original, after its clone');
is(outcome($registry, 'SELECT count(*) FROM shard_registry.conflicts'), 3, 'the registry keeps three conflicts');
$registry->safe_psql('postgres', "DELETE FROM shard_registry.nodes WHERE owner = 'shop' AND node = 'one'");
is(check_in($one, 'one'), '', 'the original is accepted');
$_->stop for $one, $two;

# Sessions at once.  The k-th check-in with one list has k - 1 conflicts.
for my $level ('read committed', 'serializable')
{
	my @sessions = map { SeqidSession->new($registry) } 0 .. 7;

	$registry->safe_psql('postgres', 'TRUNCATE shard_registry.shards, shard_registry.nodes, shard_registry.conflicts');
	$_->query("SET default_transaction_isolation = '$level'") for @sessions;
	for my $k (keys @sessions)
	{
		$sessions[$k]->send(join '', map {
			"SELECT shard_registry.claim('owner $k/$_', 4);\n"
			  . "SELECT 'conflicts', count(c) FROM shard_registry.check_in('o', 'node $k/$_', '5', now(), now()) c;\n"
		} 1 .. 20);
	}
	my @answers = map { split /\n/, $_->answer } @sessions;
	$_->close for @sessions;
	my @states = map { $_->errors =~ /ERROR:  (\w{5}):/g } @sessions;

	# One conflict is that the owner has claimed nothing.
	my @counts = sort { $a <=> $b } map { /^conflicts\|(\d+)$/ } @answers;
	my @lists = grep { !/^conflicts/ } @answers;
	is_deeply(\@counts, [ 1 .. @counts ], "$level: each check-in sees those before it");
	is_deeply([ sort { $a <=> $b } map { /^(\d+)-(\d+)$/ ? $1 .. $2 : 'none' } @lists ],
		[ 0 .. 4 * @lists - 1 ], "$level: each shard is claimed once");
	is(scalar @answers + @states, 320, "$level: each call has an answer or an error");
	is(join(' ', grep { $level eq 'read committed' || !/^(40001|23505)$/ } @states), '', "$level: no error but of concurrency");
	cmp_ok(scalar @counts, '>', 0, "$level: there are check-ins");
}
$registry->stop;

done_testing();

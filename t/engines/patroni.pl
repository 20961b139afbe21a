# Failovers of three servers under Patroni, with etcd.
#
# Clients ask every node for ids all the time, and write down those that they get.  Where
# a failover loses WAL, or the old primary continues, one fixed shard must repeat ids:
# otherwise the fault did not happen.  A list of shards or a synchronous standby must not
# repeat any.  Two promotions that do not know of each other take the same timeline, and
# so the same shard of a common list, but not of lists that differ by node.
#
# Each trial has nodes of its own, which reach each other through cables.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use File::Basename qw(basename);
use HTTP::Tiny;

# {shards} has one list for all nodes or one for each; {faults} are names of %fault below.
# Where {slow} is set, the clocks of nodes 2 and 3 are behind by more than a failover takes.  A
# new primary then begins at its mark, and the ids of lost WAL are above that.
my ($one, $common, $own) = (['5'], ['16-31'], [ '16-19', '20-23', '24-27' ]);
my $split_twice = 'hide stop promote run stop find promote run';
my @trials = (
	{ name => 'WAL lost, one shard', shards => $one, slow => 1, repeats => 1, faults => 'cut run lose promote pass' },
	{ name => 'two primaries, one shard', shards => $one, repeats => 1, faults => 'stop promote run' },
	{ name => 'synchronous, node frozen', shards => $one, slow => 1, synchronous => 1,
		faults => 'stop freeze promote thaw silent run demote' },
	{ name => 'WAL lost twice, list per node', shards => $own, slow => 1,
		faults => 'hide cut run lose promote run lose find promote pass' },
	{ name => 'three primaries, common list', shards => $common, repeats => 1, faults => $split_twice },
	{ name => 'three primaries, list per node', shards => $own, faults => $split_twice });

my $user = getpwuid $<;
chomp(my $bindir = `pg_config --bindir`);

*free_port = \&PostgreSQL::Test::Cluster::get_free_port;

# Version 2 of the interface: with version 3, a leader of Patroni 3.0 that hung takes the
# lock back.
my ($etcd, $peer) = map { 'http://127.0.0.1:' . free_port() } 1, 2;
spawn("$PostgreSQL::Test::Utils::log_path/etcd.log", 'etcd', '--enable-v2', '--name', 'only',
	'--data-dir', PostgreSQL::Test::Utils::tempdir,
	'--listen-client-urls', $etcd, '--advertise-client-urls', $etcd, '--listen-peer-urls', $peer,
	'--initial-advertise-peer-urls', $peer, '--initial-cluster', "only=$peer");

sub etcd_has ($key)
{
	return HTTP::Tiny->new(timeout => 2)->get("$etcd/v2/keys/$key")->{success};
}

poll_until { etcd_has('') } or die 'etcd does not answer';

#
# Nodes: {server} is the server, {ids} the file of its client, {patroni}, {cable} and
# {client} are process groups.
#

my ($trial, $scope, @node);
my %clock = map { $_ => SeqidClock->new } 2, 3;

# @primaries are all so far, @left those that still issue ids, $lost is one that is gone.
my (@primaries, @left, $lost);

sub new_node ($number)
{
	my $server = PostgreSQL::Test::Cluster->new("${scope}_node$number");
	my ($base, $host, $port) = ($server->basedir, $server->host, $server->port);
	my ($far_port, $rest_port) = (free_port(), free_port());
	my $shards = $trial->{shards}[ ($number - 1) % @{ $trial->{shards} } ];
	my $synchronous = $trial->{synchronous} ? 'true' : 'false';
	my $node = { server => $server, ids => "$base/ids" };

	# Patroni starts the server with an empty environment, so a script sets the clock.
	$node->{clock} = $clock{$number} if $trial->{slow};
	$node->{clock}->set('-60s') if $node->{clock};
	my %environment = $node->{clock} ? $node->{clock}->environment : ();
	mkdir $_ for $base, "$base/bin";
	symlink $_, "$base/bin/" . basename($_) for grep { !m{/postgres$} } glob("$bindir/*");
	append_to_file("$base/bin/postgres", join "\n", '#!/bin/sh',
		(map { "export $_='$environment{$_}'" } keys %environment), "exec $bindir/postgres \"\$@\"");
	chmod 0755, "$base/bin/postgres";

	append_to_file("$base/patroni.yml", <<"YAML");
scope: $scope
name: node$number
restapi: {listen: '127.0.0.1:$rest_port', connect_address: '127.0.0.1:$rest_port'}
etcd: {url: '$etcd'}
bootstrap:
  dcs:
    ttl: 8
    loop_wait: 1
    retry_timeout: 3
    maximum_lag_on_failover: 1000000000
    synchronous_mode: $synchronous
    synchronous_mode_strict: $synchronous
    postgresql: {use_pg_rewind: true}
  initdb: [auth: trust, encoding: UTF8, no-locale, no-sync]
postgresql:
  listen: '127.0.0.1:$port'
  connect_address: '127.0.0.1:$far_port'
  data_dir: $base/pgdata
  bin_dir: $base/bin
  pgpass: $base/pgpass
  authentication: {superuser: {username: $user}, replication: {username: replicator}}
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters:
    unix_socket_directories: $host
    dynamic_shared_memory_type: mmap
    timezone: UTC
    fsync: 'off'
    seqid.shards: '$shards'
    seqid.allowed_shards: '$shards'
    seqid.max_lead: 5min
YAML
	$node->{cable} = spawn("$base/cable.log", 'socat',
		"TCP-LISTEN:$far_port,bind=127.0.0.1,reuseaddr,fork", "TCP:127.0.0.1:$port");
	return $node;
}

sub wait_until_true ($node, $query)
{
	wait_until($node->{server}, $query) or die "never true: $query";
}

sub is_primary ($node)
{
	return (eval { outcome($node->{server}, 'SELECT NOT pg_is_in_recovery()') } // '') eq 't';
}

# last_ms($node): milliseconds since 2023 in the last id that it issued.
sub last_ms ($node)
{
	open my $file, '<', $node->{ids} or return 0;
	seek $file, -100, 2;
	return join('', <$file>) =~ /(\d{15,})\s+\d*\z/ ? $1 >> 22 : 0;
}

sub wait_past ($node, $ms)
{
	poll_until { last_ms($node) > $ms } or die 'a node issues too few ids';
}

sub signal_server ($signal, $node)
{
	my ($postmaster) = slurp_file($node->{server}->data_dir . '/postmaster.pid') =~ /^(\d+)/;

	kill $signal, $postmaster;
	kill $signal, split ' ', `pgrep -P $postmaster`;
}

sub kill_groups (@pids)
{
	kill 'KILL', map { -$_ } grep { defined } @pids;
}

# Nothing of it is left that others could see.
sub lose ($node)
{
	kill_groups(@$node{qw(patroni cable)});
	return unless -e $node->{server}->data_dir . '/postmaster.pid';
	signal_server('CONT', $node);
	system('pg_ctl', '-s', '-m', 'immediate', '-D', $node->{server}->data_dir, 'stop');
}

# The client of a node takes a hundred ids and ten blocks at a time, with a short pause, and
# tries again while the node issues none.  A block of 4096 ids begins at the first id of a
# millisecond, so that two primaries with one shard repeat some blocks also if they are slow.
# A commit would wait for a standby; a SELECT does not.
my $client = 'while :; do echo "$0" | psql -XAtq -v ON_ERROR_STOP=1 -d "$1" 2>/dev/null; sleep 0.2; done';
my $query = 'SELECT snowflake_nextval() FROM generate_series(1, 100)
	UNION ALL SELECT snowflake_nextblock(4096) FROM generate_series(1, 10) \watch 0.005';

sub start_cluster
{
	@node = map { new_node($_) } 1 .. 3;
	@primaries = @left = ($node[0]);
	for my $node (@node)
	{
		my $server = $node->{server};

		$node->{patroni} = spawn($server->logfile, 'patroni', $server->basedir . '/patroni.yml');
		wait_until_true($node[0], 'SELECT NOT pg_is_in_recovery()');
	}
	# A base backup streams too, under another name.
	wait_until_true($node[0], q{SELECT count(*) = 2 FROM pg_stat_replication
		WHERE state = 'streaming' AND application_name ~ 'node'});
	wait_until_true($node[0], q{SELECT count(*) = 1 FROM pg_stat_replication
		WHERE sync_state = 'sync' AND current_setting('synchronous_standby_names') ~ application_name})
	  if $trial->{synchronous};
	$node[0]{server}->safe_psql('postgres', 'CREATE EXTENSION seqid');
	$_->{client} = spawn($_->{ids}, 'sh', '-c', $client, $query, $_->{server}->connstr('postgres')) for @node;
	wait_past($node[0], 0);
}

sub stop_cluster
{
	kill_groups(map { $_->{client} } @node);
	lose($_) for @node;
	$_->{server}->clean_node for @node;
	@node = ();
}

END
{
	local $?;

	stop_cluster();
}

# Unless a comment says otherwise, a fault happens to the current primary.
my %fault = (
	# Other nodes get no WAL of it any more.
	cut => sub {
		kill_groups($primaries[-1]{cable});
		wait_until_true($primaries[-1], 'SELECT count(*) = 0 FROM pg_stat_replication');
	},
	# All primaries that are left issue ids for three seconds.
	run => sub {
		my @until = map { last_ms($_) + 3000 } @left;

		wait_past($left[$_], $until[$_]) for 0 .. $#left;
		is(grep({ is_primary($_) } @left), @left, "$trial->{name}: " . @left . ' at once');
	},
	lose => sub { lose($lost = pop @left) },
	# Without its Patroni it continues beside the next primary.
	stop => sub { kill 'STOP', $primaries[-1]{patroni} },
	freeze => sub { signal_server('STOP', $primaries[-1]) },
	# The first primary.
	thaw => sub { signal_server('CONT', $primaries[0]) },
	demote => sub {
		kill 'CONT', $primaries[0]{patroni};
		wait_until_true($primaries[0], 'SELECT pg_is_in_recovery()');
	},
	# The first primary waits for its standby, and its ids are below those of the next.
	silent => sub {
		my ($old, $new) = (shift @left, $primaries[-1]);
		my ($first) = slurp_file($new->{ids}) =~ /^(\d+)\n/m;

		wait_until_true($old, q{SELECT count(*) > 0 FROM pg_stat_activity
			WHERE wait_event = 'SyncRep' AND query ~ 'snowflake_nextval'});
		ok(is_primary($old), "$trial->{name}: the old primary issues no ids");
		cmp_ok(last_ms($old), '<', $first >> 22, "$trial->{name}: its last id is below the mark");
	},
	# Node 3 does not hear of the next promotion, and again when there is no primary.
	hide => sub { kill 'STOP', $node[2]{patroni} },
	find => sub {
		poll_until { !etcd_has("service/$scope/leader") } or die 'the leader keeps its lock';
		kill 'CONT', $node[2]{patroni};
	},
	# Another node becomes the primary.  Its clock, if slow, has done its part once the
	# first ids are there: it is set to what they contain.
	promote => sub {
		my ($new, %known) = (undef, map { $_->{ids} => 1 } @primaries);

		poll_until { ($new) = grep { !$known{ $_->{ids} } && is_primary($_) } @node } or die 'no promotion';
		wait_past($new, 0);
		push @$_, $new for \@primaries, \@left;
		is(outcome($new->{server}, 'SELECT timeline FROM seqid.stat_server'), 2, "$trial->{name}: timeline");
		$new->{clock}->set(int(last_ms($new) / 1000 + 1672531200 - time) . 's') if $new->{clock};
	},
	# It comes past the last id of the one that was lost.
	pass => sub { wait_past($primaries[-1], last_ms($lost)) });

for my $number (0 .. $#trials)
{
	my %count;

	($trial, $scope) = ($trials[$number], "trial$number");
	start_cluster();
	$fault{$_}->() for split ' ', $trial->{faults};
	kill_groups(map { $_->{client} } @node);
	$count{$_}++ for map { slurp_file($_->{ids}) =~ /^(\d+)\n/gm } @node;
	my $repeated = grep { $_ > 1 } values %count;
	cmp_ok($repeated, $trial->{repeats} ? '>' : '==', 0,
		"$trial->{name}: $repeated of " . keys(%count) . ' ids repeated');
	stop_cluster();
}

done_testing();

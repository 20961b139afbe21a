# torture.pl
#	  What scripts/torture.sh runs; see there.
#
# What the servers promise, and so what may be searched for duplicates: an id
# that was given is not given again, by its server after whatever happened to
# it, or by a synchronous standby that took over; whatever synchronous_commit
# the session has, as the mark waits for the standby in any case. The promise
# over a crash is one for each database: two databases draw from the same
# shards, and may repeat each other's ids after a restart with the clock behind,
# so duplicates are searched for in each of them.
#
# With asynchronous standbys, ids are drawn from the shard in effect, of which each
# timeline has another one; and so none is given twice by any two servers, be WAL
# lost in a promotion, or the old primary alive after it.
#
# Beside those who draw, others write an outbox and poll it by the settled horizon:
# see TortureOutbox.pm.

use strict;
use warnings;

use File::Path ();
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use FindBin;
use lib "$FindBin::RealBin/../t", $FindBin::RealBin;
use SeqidTest;
use TortureOutbox;

my $minutes = $ENV{TORTURE_MINUTES} // 1;
my $seed = $ENV{TORTURE_SEED} // 1;
my $asynchronous = $ENV{TORTURE_ASYNCHRONOUS} // 0;
my $fixed_shard = $ENV{TORTURE_FIXED_SHARD} // 0;
srand($seed);

my $directory = PostgreSQL::Test::Utils::tempdir;
my %faults = map { $_ => 0 }
  ('postmaster kills', 'backend kills', 'immediate restarts', 'clean restarts',
	'clock steps', 'standby kills', 'standby stalls', 'promotions',
	'promotions that lose WAL');

#
# Clients
#

my @levels = ('on', 'local', 'off', 'remote_write', 'remote_apply');

# A literal one is for one server, and for its synchronous standbys.
my $shard = $asynchronous ? '(SELECT shard FROM seqid.stat_server)' : '1';

# What is drawn in transactions is drawn under one level after the other.
my $in_transactions = join ";\n", map {
	"BEGIN; SET LOCAL synchronous_commit = $_; SELECT snowflake_nextvals($shard, 200); "
	  . ($_ eq 'remote_write' ? 'ROLLBACK' : 'COMMIT')
} map { ($_, 'on') } @levels;

# Each client repeats one of these, in a database, and connects under a level
# that chance gives it.
my @databases = ('postgres', 'other');
my @statements = (
	'SELECT snowflake_nextval(' . ($asynchronous ? '' : 'n % 3 + 1') . ') FROM generate_series(1, 100) n',
	"SELECT first + i FROM (SELECT snowflake_nextblock($shard, 50) AS first OFFSET 0) b, generate_series(0, 49) i",
	'SELECT comb_uuid() FROM generate_series(1, 100)',
	'SELECT snowflake53_nextval(' . ($asynchronous ? '' : 'n % 3 + 1') . ') FROM generate_series(1, 100) n',
	$in_transactions);
my (@children, @readers);
my ($primary, $standby, %clock);

# Where clients connect to, read by them whenever they have come to an end or lost
# their server: the primary, its standby if there is one, and maybe one that was
# overtaken by its promotion.
sub publish
{
	my ($overtaken) = @_;
	my %published = (primary => $primary);

	$published{standby} = $standby if $standby != $primary;
	$published{overtaken} = $overtaken if $overtaken;
	open my $file, '>', "$directory/servers.new" or die $!;
	print $file join(' ', $published{$_}->host, $published{$_}->port, $_), "\n"
	  for sort keys %published;
	close $file;
	rename "$directory/servers.new", "$directory/servers" or die $!;
	return;
}

sub run_client
{
	my ($number, $database, $statement) = @_;

	my $level;

	srand($seed + $number);
	append_to_file("$directory/$number.sql", "$statement;\n" x 200);
	until (-e "$directory/stop")
	{
		my @servers = grep { !/standby/ } split /\n/, slurp_file("$directory/servers");
		my ($host, $port, $role) = split ' ', $servers[ rand @servers ];
		my $started = time;

		# It keeps its level for some time: if each soon came to one that waits,
		# nobody would go on while the standby stalls.
		$level = $levels[ rand @levels ] if !defined $level || rand() < 0.05;

		# psql prints a result when it is complete: a key that is printed was
		# given, and one that was given is printed. While the standby is away it
		# waits with its server, and goes on, or loses it, as that does.
		system("PGOPTIONS='-c synchronous_commit=$level'"
			  . " psql -X -q -A -t -h $host -p $port -d $database -f $directory/$number.sql"
			  . " >>$directory/$database.$number.$role.keys 2>>$directory/$number.errors");
		sleep 0.2 if time - $started < 0.2;
	}
	return;
}

# Runs something in a process of its own.
sub start_process
{
	my ($run) = @_;
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		eval { $run->(); 1 } or append_to_file("$directory/died", $@);
		POSIX::_exit(0);
	}
	return $pid;
}

sub start_clients
{
	my @clients = map { my $database = $_; map { [ $database, $_ ] } @statements } @databases;

	for my $number (0 .. $#clients)
	{
		push @children, start_process(sub { run_client($number, @{ $clients[$number] }) });
	}
	return;
}

my $outbox = TortureOutbox->new(
	directory => $directory, levels => \@levels, seed => $seed, anew => $asynchronous);

sub start_outbox
{
	$outbox->create($primary);
	push @children, map { start_process($_) } $outbox->writers;
	push @readers, map { start_process($_) } $outbox->readers;
	return;
}

# Should the run break off, clients must not go on without it.
END
{
	kill 9, @children, @readers if @children || @readers;
}

#
# Servers
#
my $common_conf = "
restart_after_crash = on
log_statement = none
wal_retrieve_retry_interval = '200ms'
wal_receiver_status_interval = 1
max_connections = 40
max_prepared_transactions = 40
checkpoint_timeout = 30s
";
$common_conf .= $asynchronous
  ? "seqid.shards = '" . ($fixed_shard ? '16' : '16-31') . "'\n"
  : "synchronous_standby_names = '*'\n";

# What tells in pg_stat_replication that the standby is there, as it should be.
my $attached = $asynchronous ? "state = 'streaming'" : "sync_state = 'sync'";
my $generation = 0;

sub start
{
	my ($node) = @_;

	$clock{ $node->name }->start($node);
	return;
}

sub make_standby
{
	$generation++;
	$primary->backup("backup$generation");
	$standby = PostgreSQL::Test::Cluster->new("node$generation");
	$clock{ $standby->name } = SeqidClock->new;
	$clock{ $standby->name }->set(random_offset());
	$standby->init_from_backup($primary, "backup$generation", has_streaming => 1);
	remove($primary->backup_dir . "/backup$generation");
	start($standby);
	return;
}

# What a server that was killed has left may still be of use to some process of it;
# that much goes with the temporary directory.
sub remove
{
	my ($path) = @_;

	File::Path::remove_tree($path, { error => \my $errors });
	return;
}

# Waits for a primary that answers and has its standby.
sub settle
{
	SeqidSession::wait_until($primary,
		"SELECT count(*) = 1 FROM pg_stat_replication WHERE $attached")
	  or die 'no standby';
	return;
}

#
# Faults
#
sub random_offset
{
	my @offsets = ('-6s', '-5s', '-2s', '-1s', '+0s', '+0s', '+1s', '+2s');

	return $offsets[ rand @offsets ];
}

# Stops what sends WAL to the standby, so that the primary's disk has what the
# standby's has not; returns its process, if the server was up to tell. (To stop
# what receives it would not do: that reads what was sent when it goes on.)
sub stall_standby
{
	my ($status, $sender) = eval { $primary->psql('postgres',
		"SELECT pid FROM pg_stat_replication WHERE $attached") };

	return undef unless defined $status && $status == 0 && $sender;
	kill 'STOP', $sender;
	return $sender;
}

# What the standby will not have heard of, when it is promoted, is repeated only if
# its clock is behind.
sub lose_wal
{
	my $moment = 0.5 + rand 2;
	my $sender = rand() < 0.7 ? stall_standby() : undef;

	return undef unless $sender;
	sleep $moment;
	$clock{ $standby->name }->set('-6s');
	$faults{'promotions that lose WAL'}++;
	return $sender;
}

# Size of what was drawn from servers that were overtaken.
sub drawn_from_overtaken
{
	my $size = 0;

	$size += -s $_ for glob "$directory/*.overtaken.keys";
	return $size;
}

# Lets clients draw from both, for a moment at least, while either is killed or its
# clock set; and until some have drawn from the one that was overtaken.
sub split_brain
{
	my ($overtaken) = @_;
	my $drawn = drawn_from_overtaken();

	publish($overtaken);
	for my $moment (1 .. 1 + int rand 3)
	{
		my $node = rand() < 0.5 ? $primary : $overtaken;

		sleep 0.3 + rand;
		if (rand() < 0.3)
		{
			$node->kill9;
			start($node);
			$faults{'postmaster kills'}++;
		}
		elsif (rand() < 0.5)
		{
			$clock{ $node->name }->set(random_offset());
			$faults{'clock steps'}++;
		}
	}
	for my $try (1 .. 1800)
	{
		last if drawn_from_overtaken() > $drawn;
		sleep 0.1;
	}
	drawn_from_overtaken() > $drawn or die 'nobody draws from a server that was overtaken';
	publish();
	return;
}

my %inject = (
	'postmaster kills' => sub {
		$primary->kill9;
		start($primary);
	},
	'backend kills' => sub {
		# The server may still be busy with the crash before: then it is spared.
		my ($status, $pid) = eval { $primary->psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
			 AND pid <> pg_backend_pid() ORDER BY backend_start LIMIT 1") };
		kill 9, $pid if defined $status && $status == 0 && $pid;
		SeqidSession::wait_until($primary, 'SELECT true') or die 'no restart after a crash';
	},
	'immediate restarts' => sub {
		$primary->stop('immediate');
		start($primary);
	},
	'clean restarts' => sub {
		$primary->stop('fast');
		start($primary);
	},
	'clock steps' => sub {
		my $clock = $clock{ $primary->name };

		# Now and then so far that ids are refused, for a moment.
		if (rand() < 0.1)
		{
			$clock->set('-1h');
			sleep 0.5;
		}
		$clock->set(random_offset());
	},
	'standby kills' => sub {
		$standby->kill9;
		start($standby);
	},
	'standby stalls' => sub {
		my $moment = 0.2 + rand 1.5;
		my $sender = stall_standby();

		sleep $moment;
		kill 'CONT', $sender if $sender;
	},
	'promotions' => sub {
		my $old = $primary;
		my $sender = lose_wal();

		if ($asynchronous)
		{
			$standby->promote;
			kill 'CONT', $sender if $sender;
			$primary = $standby;
			split_brain($old);
			$old->kill9;
		}
		else
		{
			$old->kill9;
			# What is stopped does not notice that its server is gone.
			kill 9, $sender if $sender;
			$standby->promote;
			$primary = $standby;
			publish();
		}
		remove($old->data_dir);
		make_standby();
		publish();
	});

# How often each comes, of 23; of 32 with asynchronous standbys.
my @lot = (
	('postmaster kills') x 5, ('backend kills') x 3, ('clock steps') x 8,
	('promotions') x ($asynchronous ? 12 : 3),
	'immediate restarts', 'clean restarts', 'standby kills', 'standby stalls');

#
# The run
#
$primary = PostgreSQL::Test::Cluster->new('node0');
$clock{ $primary->name } = SeqidClock->new;
$primary->init(allows_streaming => 1);
start($primary);
$primary->safe_psql('postgres', 'CREATE DATABASE other');
$primary->safe_psql($_, 'CREATE EXTENSION seqid') for @databases;
$primary->append_conf('postgresql.conf', $common_conf);
make_standby();
$primary->stop;
start($primary);
publish();
settle();
start_clients();
start_outbox();

# What promotions do is to be seen on a slow machine, too, which comes to few faults.
my $end = time + 60 * $minutes;
while (time < $end || $asynchronous && $faults{promotions} < 3)
{
	my $fault = $lot[ rand @lot ];

	sleep 0.3 + rand 1.5;
	$inject{$fault}->();
	$faults{$fault}++;
	settle();
}

append_to_file("$directory/stop", '');
waitpid $_, 0 for splice @children;
# No key tells a time beyond that, so readers come to all of them.
$outbox->end_all_prepared;
$clock{ $primary->name }->set('+1min');
append_to_file("$directory/stop.readers", '');
waitpid $_, 0 for splice @readers;
my $read = $outbox->verdict($primary);
my ($horizons, $went_back) = $outbox->horizons;
ok(!-e "$directory/died", 'clients, writers and readers went on to the end');
diag(slurp_file("$directory/died")) if -e "$directory/died";
$standby->stop('immediate');
$primary->stop('immediate');

# What tells the kinds of keys apart: a snowflake of these years has more digits than
# a snowflake53 ever has.
my %kinds = (snowflake => '^[0-9]{17,}$', snowflake53 => '^[0-9]{1,16}$', COMB => '-');
my ($keys, $twice) = (0, 0);
for my $database (@databases)
{
	for my $kind (sort keys %kinds)
	{
		my $of_kind = "cat $directory/$database.*.keys | grep -E -e '$kinds{$kind}'";
		my $given = `$of_kind | wc -l`;
		my @repeated = `$of_kind | LC_ALL=C sort -T $directory | uniq -d`;

		chomp $given;
		note("torture: $given ${kind}s in $database, " . @repeated . ' duplicates'
			. (@repeated ? ", the first $repeated[0]" : ''));
		cmp_ok($given, '>', 1000, "$database: ${kind}s were given");
		is(scalar(@repeated), 0, "$database: no $kind was given twice");
		$keys += $given;
		$twice += @repeated;
	}
}
cmp_ok($keys, '>', 10000 * @databases, 'keys were given');
if ($asynchronous)
{
	my $overtaken = `cat $directory/*.overtaken.keys | wc -l`;

	chomp $overtaken;
	cmp_ok($overtaken, '>', 1000, 'keys were given by servers that were overtaken');
	note("torture: $overtaken ids from old primaries, after the promotion");
}

# Rows of the outbox.
cmp_ok($read->{rows}, '>', 50 * $minutes, 'rows were written');
cmp_ok($read->{prepared}, '>', 0, 'transactions were prepared');
cmp_ok($horizons, '>', 50 * $minutes, 'readers polled');
is($went_back, 0, 'the horizon never went back');
for my $reader ('primary', 'replica')
{
	is($read->{missed}{$reader}, 0, "no row was missed on the $reader");
	is($read->{'out of order'}{$reader}, 0, "all rows came in order, and once, on the $reader");
	is($read->{lost}{$reader}, 0, "no row was lost after it was seen on the $reader");
}
# Else nobody could have missed any.
cmp_ok($read->{missed}{max}, '>', 0, 'rows are missed by max(id)') if $minutes >= 2;

my $refused = `cat $directory/*.errors | grep -c 'ERROR:  clock is'`;
chomp $refused;

my $kills = $faults{'postmaster kills'} + $faults{'backend kills'} + $faults{'standby kills'};
note("torture: seed $seed, $minutes minutes, "
	  . ($asynchronous ? 'asynchronous standbys, ' . ($fixed_shard ? 'one shard' : '16 shards') : 'synchronous standbys'));
note("torture: $faults{$_} $_") for sort keys %faults;
note("torture: $refused calls refused as the clock was behind");
note("torture: $read->{prepared} transactions were prepared and ended by another session");
note("torture: $horizons horizons, $went_back went back; "
	  . "$read->{'lost below on'}{primary} rows of levels below on were lost after they were seen on the primary");
note("torture: $read->{rows} rows in the outbox; missed by horizon $read->{missed}{primary} on the primary, "
	  . "$read->{missed}{replica} on the replica; missed by max(id) $read->{missed}{max}");
note("torture: $keys ids, $kills kills, $faults{'clock steps'} clock steps, $faults{promotions} promotions, $twice duplicates");

done_testing();

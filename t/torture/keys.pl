# keys.pl
#	  Keys and outboxes while servers crash, clocks step and standbys are promoted.
#
# Clients of two databases, under every synchronous_commit, record each key that they
# are given. A server never issues a key again, whatever happens to it, nor does a
# synchronous standby that is promoted: the mark waits for the standby under every
# synchronous_commit. Databases can repeat each other's ids, so each is searched alone.
#
# Outbox.pm describes what happens to rows.

use v5.36;
use File::Path ();
use Time::HiRes qw(sleep);
use FindBin;
use lib "$FindBin::RealBin/..", $FindBin::RealBin;
use Outbox;
use SeqidTest;
use Torture;

my @databases = ('postgres', 'other');
my @levels = ('on', 'local', 'off', 'remote_write', 'remote_apply');
my ($primary, $standby, %clock);
my $generation = 0;

# In transactions, one level follows the other.
my $in_transactions = join ";\n", map {
	"BEGIN; SET LOCAL synchronous_commit = $_; SELECT snowflake_nextvals(1, 200); "
	  . ($_ eq 'remote_write' ? 'ROLLBACK' : 'COMMIT')
} map { ($_, 'on') } @levels;
my @statements = (
	"SELECT snowflake_nextval(n % 3 + 1) FROM generate_series(1, 100) n",
	"SELECT first + i FROM (SELECT snowflake_nextblock(1, 50) AS first OFFSET 0) b, generate_series(0, 49) i",
	'SELECT comb_uuid() FROM generate_series(1, 100)',
	"SELECT snowflake53_nextval(n % 3 + 1) FROM generate_series(1, 100) n",
	$in_transactions);

# Returns a client that repeats a statement in a database.
sub client ($database, $number)
{
	my $level;

	return sub {
		my %server = servers();

		# It keeps its level for a while. Otherwise, each client would soon come to a
		# level that waits, and all would stop while the standby is away.
		$level = $levels[ rand @levels ] if !defined $level || rand() < 0.05;
		run_script("$database.$number", "$server{primary} dbname=$database",
			"SET synchronous_commit = $level;\n" . "$statements[$number];\n" x 200,
			"$database.$number.keys");
	};
}

sub random_offset { return (qw(-6s -5s -2s -1s +0s +0s +1s +2s))[ rand 8 ] }
sub start ($node) { $clock{ $node->name }->start($node); return 1 }

# Processes of a killed server can still use its files. What cannot be removed goes
# with the temporary directory.
sub remove ($path) { return File::Path::remove_tree($path, { error => \my $errors }) }

sub make_standby
{
	my $name = 'node' . ++$generation;

	$clock{$name} = SeqidClock->new;
	$clock{$name}->set(random_offset());
	$standby = new_standby($primary, $name, clock => $clock{$name});
	remove($primary->backup_dir . "/for_$name");
	publish(primary => $primary, standby => $standby);
}

sub settle
{
	wait_until($primary, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'") or die 'no standby';
}

# Stops the WAL sender, so that the primary's disk has WAL that the standby does not
# have, and returns its process. A stopped receiver would read later what was sent.
sub stall_standby
{
	my $sender = ask($primary, 'postgres', "SELECT pid FROM pg_stat_replication WHERE sync_state = 'sync'");

	kill 'STOP', $sender if $sender;
	sleep 0.2 + rand 2;
	return $sender;
}

sub promote
{
	my $old = $primary;
	my $sender = rand() < 0.7 ? stall_standby() : undef;

	# A server whose clock is behind would repeat the keys that it has not heard of.
	if ($sender)
	{
		$clock{ $standby->name }->set('-6s');
		$count{'promotions that lose WAL'}++;
	}
	cut_power($old);
	$standby->promote;
	$primary = $standby;
	publish(primary => $primary);
	remove($old->data_dir);
	make_standby();
	return 1;
}

my %faults = (
	server_faults(sub { $primary }, sub { start($primary) }),
	'clock steps' => [ 7, sub { $clock{ $primary->name }->set(random_offset()); 1 } ],
	'standby kills' => [ 1, sub { kill_server($standby); start($standby); } ],
	'standby stalls' => [ 1, sub { kill 'CONT', stall_standby() // () } ],
	'promotions' => [ 3, \&promote ]);

$clock{node0} = SeqidClock->new;
$primary = new_server('node0', clock => $clock{node0}, streaming => 1, conf => "
restart_after_crash = on
log_statement = none
wal_retrieve_retry_interval = '200ms'
wal_receiver_status_interval = 1
max_connections = 40
max_prepared_transactions = 40
checkpoint_timeout = 30s
");
$primary->safe_psql('postgres', 'CREATE DATABASE other');
$primary->safe_psql('other', 'CREATE EXTENSION seqid');
create_outbox($primary);
$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
make_standby();
$primary->stop;
start($primary);
settle();

for my $database (@databases)
{
	repeatedly(client($database, $_)) for 0 .. $#statements;
}
for my $number (1 .. 6) { repeatedly(sub { run_writer($number, @levels) }) }
for my $reader (@readers) { repeatedly(sub { poll($reader) }) }

torture(\&settle, sub { $count{'promotions that lose WAL'} }, %faults);
finish();

# All keys are older than this clock, so that readers come to all rows.
$clock{ $primary->name }->set('+1m');
judge_outbox($primary);
$standby->stop('immediate');
$primary->stop('immediate');
keys_are_unique();
done_testing();

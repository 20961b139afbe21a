# torture_databases.pl
#	  What scripts/torture.sh --databases runs; see there.
#
# Each database keeps the rows that it generated keys for, under primary keys, and
# what a reader by the settled horizon has counted of them.  A copy of a database has
# both from its template: so it may repeat no key of the template's rows either, its
# horizon may not be behind the template's, and no row may appear below it.

use strict;
use warnings;

use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use FindBin;
use lib "$FindBin::RealBin/../t";
use SeqidTest;

my $minutes = $ENV{TORTURE_MINUTES} // 1;
my $seed = $ENV{TORTURE_SEED} // 1;
srand($seed);

# Those that stay; those that come and go, which share fewer OIDs.
my @lasting = map { "lasting_$_" } 1 .. 70;
my @passing = map { "passing_$_" } 1 .. 8;
my @oids = 50001 .. 50005;

my $directory = PostgreSQL::Test::Utils::tempdir;
my $shim = SeqidShim->new;
my $node = PostgreSQL::Test::Cluster->new('main');
my %faults = map { $_ => 0 } ('postmaster kills', 'backend kills', 'immediate restarts',
	'clean restarts', 'clock steps', 'clock steps within a call');
my @children;

sub start_process
{
	my ($number, $run) = @_;
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		srand($seed + $number);
		until (-e "$directory/stop")
		{
			my $started = time;

			eval { $run->($number); 1 } or append_to_file("$directory/died", $@);
			sleep 0.1 if time - $started < 0.1;
		}
		POSIX::_exit(0);
	}
	push @children, $pid;
	return;
}

# Should the run break off, clients must not go on without it.
END
{
	kill 9, @children if @children;
}

#
# Clients
#
my $model = <<'SQL';
CREATE EXTENSION seqid;
CREATE TABLE kept (id bigint PRIMARY KEY, id53 bigint UNIQUE, comb uuid UNIQUE);
CREATE TABLE reader (polls bigint, bound bigint, seen bigint, horizon timestamptz, went_back bigint);
INSERT INTO reader VALUES (0, 0, 0, '-infinity', 0);

-- Counts the rows between the last horizon and a new one.
CREATE PROCEDURE poll() LANGUAGE plpgsql AS $$
DECLARE
	before reader;
	settled record;
	rows bigint;
BEGIN
	SELECT * INTO before FROM reader FOR UPDATE;
	EXECUTE 'CALL seqid.horizon()' INTO settled;
	SELECT count(*) INTO rows FROM kept WHERE id >= before.bound AND id < settled.snowflake;
	UPDATE reader SET polls = polls + 1, bound = greatest(bound, settled.snowflake), seen = seen + rows,
		horizon = greatest(horizon, settled.horizon), went_back = went_back + (settled.horizon < horizon)::int;
END
$$;

-- Rows that appeared below a horizon after it was read, or were lost there.
CREATE VIEW verdict AS
	SELECT (SELECT count(*) FROM kept) AS rows, polls, went_back,
	       abs((SELECT count(*) FROM kept WHERE id < bound) - seen) AS missed
	  FROM reader;
SQL

my $insert = 'INSERT INTO kept SELECT snowflake_nextval(1 + n % 3), snowflake53_nextval(1 + n % 3), comb_uuid()'
  . ' FROM generate_series(1, 10) n RETURNING id, id53, comb';

# As fast as the clock allows, so that calls queue.
my @fast = ('SELECT count(snowflake_nextblock(1, 4096)) FROM generate_series(1, 5)',
	'SELECT count(snowflake53_nextblock(1, 128)) FROM generate_series(1, 20)',
	'SELECT count(*) FROM comb_uuids(30000)');

sub statements
{
	my $kind = rand;

	return 'CALL poll()' if $kind < 0.25;
	return $fast[ rand @fast ] if $kind < 0.6;
	return join ";\n", 'BEGIN', $insert, (rand() < 0.5 ? 'SELECT pg_sleep(' . rand(0.03) . ')' : ()),
	  rand() < 0.1 ? 'ROLLBACK' : 'COMMIT';
}

# Some databases are visited often, so that sessions meet in them.  psql prints the keys
# that were returned, whether or not their rows stay.
sub visit
{
	my ($number) = @_;
	my $place = rand;
	my $database = $place < 0.3 ? $lasting[ rand 3 ]
	  : $place < 0.6 ? $lasting[ rand @lasting ]
	  : $passing[ rand @passing ];
	my $script = "$directory/$number.sql";

	open my $file, '>', $script or die $!;
	print $file "SET synchronous_commit = ", (rand() < 0.5 ? 'on' : 'off'), ";\n";
	print $file statements(), ";\n" for 1 .. 50;
	close $file;
	my $keys = $database =~ /lasting/ ? "$directory/$database.$number.keys" : '/dev/null';
	system('psql -X -q -A -t -v VERBOSITY=verbose -h ' . $node->host . ' -p ' . $node->port
		  . " -d $database -f $script >>$keys 2>>$directory/$number.errors");
	return;
}

#
# Databases that come and go
#

# What a statement returns, or undef.
sub ask
{
	my ($database, @statements) = @_;
	my ($status, $out) = eval {
		$node->psql($database, $_) for @statements[ 0 .. $#statements - 1 ];
		$node->psql($database, $statements[-1]);
	};

	return defined $status && $status == 0 ? $out : undef;
}

# Keeps the verdict on a database, as that may be gone at the end.
sub judge
{
	my ($database) = @_;
	my $verdict = ask($database, 'SELECT * FROM verdict');

	append_to_file("$directory/verdicts", "$database|$verdict\n") if $verdict;
	return $verdict;
}

sub come_and_go
{
	my $database = $passing[ rand @passing ];
	my $oid = $oids[ rand @oids ];
	my @there = split /\n/, ask('postgres', "SELECT datname FROM pg_database WHERE datname ~ 'passing'") // '';
	my $template = rand() < 0.2 || !@there ? 'model' : $there[ rand @there ];

	# A crash may have left them so.
	ask('postgres', map { "ALTER DATABASE $_ ALLOW_CONNECTIONS true" } @there, 'model');

	if (grep { $_ eq $database } @there)
	{
		judge($database);
		ask('postgres', "DROP DATABASE $database WITH (FORCE)");
		return;
	}
	my $created = ask('postgres', "ALTER DATABASE $template ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = '$template'",
		"CREATE DATABASE $database TEMPLATE $template OID $oid");
	ask('postgres', "ALTER DATABASE $template ALLOW_CONNECTIONS true");
	append_to_file("$directory/created", "$oid $template\n") if defined $created;
	return;
}

#
# Faults
#
sub set_clock
{
	my @seconds = (-8, -5, -2, -1, 0, 0, 1, 2);

	$shim->set(offset_ns => $seconds[ rand @seconds ] * 1_000_000_000);
	return 1;
}

sub start
{
	set_clock();
	$shim->start($node);
	return 1;
}

# The process of a client, if the server can say it.
sub some_client
{
	return ask('postgres', "SELECT pid FROM pg_stat_activity
		WHERE datname ~ 'ing_' AND backend_type = 'client backend' ORDER BY backend_start DESC LIMIT 1");
}

# Each returns whether the fault happened.
my %inject = (
	'postmaster kills' => sub {
		$node->kill9;
		start();
	},
	'backend kills' => sub {
		my $pid = some_client();

		return $pid && kill 9, $pid;
	},
	'immediate restarts' => sub {
		$node->stop('immediate');
		start();
	},
	'clean restarts' => sub {
		$node->stop('fast');
		start();
	},
	'clock steps' => \&set_clock,

	# At a reading of one process, and for all of them from then on; not if that
	# process does not read so often.
	'clock steps within a call' => sub {
		my @seconds = (-20, -20, -20, -3, 3, 20);
		my $pid = some_client();

		$shim->watch($pid || 0, 1 + int rand 50, $seconds[ rand @seconds ] * 1_000_000_000);
		for my $try (1 .. 20)
		{
			last if $shim->get('steps');
			sleep 0.05;
		}
		my $happened = $shim->get('steps');
		$shim->watch(0);
		sleep 0.3 if $happened;
		set_clock();
		return $happened;
	});
my @lot = (('clock steps within a call') x 12, ('clock steps') x 4, 'postmaster kills',
	('backend kills') x 2, 'immediate restarts', 'clean restarts');

#
# The run
#
$node->init;
$node->append_conf('postgresql.conf', "restart_after_crash = on
log_statement = none
max_connections = 60
");
start();
ask('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', $model);
$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE model") for @lasting;

# Half of them go on where others refuse keys.
$node->safe_psql('postgres', "ALTER DATABASE $_ SET seqid.max_clock_regression = '1h'")
  for grep { /[02468]$/ } @lasting;

start_process($_, \&visit) for 1 .. 6;
start_process(7, \&come_and_go);

# One goes through all of them, so that all have keys in each lifetime of the server.
my $visit_all = sub { ask($_, $insert) for @lasting };
$visit_all->();
start_process(8, $visit_all);

my $end = time + 60 * $minutes;
while (time < $end)
{
	my $fault = $lot[ rand @lot ];

	sleep 0.2 + rand;
	$faults{$fault}++ if $inject{$fault}->();
	SeqidSession::wait_until($node, 'SELECT true') or die 'the server does not come back';
}

append_to_file("$directory/stop", '');
waitpid $_, 0 for splice @children;
$shim->watch(0);
$shim->set(offset_ns => 0);

#
# The verdict
#
my %sum = map { $_ => 0 } qw(rows polls went_back missed);
my $without_keys = 0;
for my $database (@lasting, grep { ask($_, 'SELECT 1') } @passing)
{
	my ($rows) = split /\|/, judge($database) // die "no verdict on $database";

	$without_keys++ if $rows == 0 && $database =~ /lasting/;
}
for my $verdict (split /\n/, slurp_file("$directory/verdicts"))
{
	my ($database, $rows, $polls, $went_back, $missed) = split /\|/, $verdict;

	# Copies have the counts of their template as well.
	$sum{rows} += $rows, $sum{polls} += $polls if $database =~ /lasting/;
	$sum{went_back} += $went_back;
	$sum{missed} += $missed;
	note("torture: $database: $went_back horizons went back, $missed rows were missed") if $went_back || $missed;
}
$node->stop('immediate');

my ($keys, $twice) = (0, 0);
for my $database (@lasting)
{
	my $given = "cat $directory/$database.*.keys | grep '|'";

	$keys += 3 * `$given | wc -l`;
	$twice += () = `$given | cut -d '|' -f $_ | LC_ALL=C sort -T $directory | uniq -d` for 1 .. 3;
}
my $refused = `cat $directory/*.errors | grep -c '55000: clock is'` + 0;
my $duplicates = `cat $directory/*.errors | grep -c 'ERROR:  23505'` + 0;
my @created = split /\n/, -e "$directory/created" ? slurp_file("$directory/created") : '';
my %oids_used;
$oids_used{ (split ' ')[0] }++ for @created;

# Servers and databases that are gone are no failure, nor is what that leads to.
my @unexpected = `cat $directory/*.errors | grep -E '(ERROR|FATAL):  [0-9A-Z]{5}:' | grep -vE ':  (55000: clock is|23505|25P02|57P0[1-3])'`;
my $longest_ms = $shim->get('longest_ns') / 1_000_000;

ok(!-e "$directory/died", 'clients went on to the end');
diag(slurp_file("$directory/died")) if -e "$directory/died";
is($twice, 0, 'no key was given twice');
is($duplicates, 0, 'no key was that of a row');
is(scalar(@unexpected), 0, 'nothing else failed');
diag($unexpected[0]) if @unexpected;
is($sum{missed}, 0, 'no row was missed');
is($sum{went_back}, 0, 'no horizon went back');
is($without_keys, 0, 'all databases have keys');
cmp_ok($longest_ms, '<', 2000, 'nobody slept for the length of a step');
cmp_ok($keys, '>', 1000 * $minutes, 'keys were given');
cmp_ok($sum{polls}, '>', 50 * $minutes, 'readers polled');
cmp_ok($faults{'clock steps within a call'}, '>', 2 * $minutes, 'the clock stepped within calls');
cmp_ok(scalar(@created), '>', keys %oids_used, 'databases came with an OID that there had been');

note("torture: seed $seed, $minutes minutes, " . @lasting . ' databases that stay');
note('torture: ' . @created . ' databases came, under ' . keys(%oids_used) . ' OIDs, '
	  . scalar(grep { /passing/ } @created) . ' as copies of others that did');
note("torture: $faults{$_} $_") for sort keys %faults;
note("torture: $refused calls refused as the clock was behind; the longest nap was of $longest_ms ms");
note("torture: $sum{polls} horizons, $sum{went_back} went back; $sum{rows} rows, $sum{missed} missed");
note("torture: $keys keys, $twice duplicates; $duplicates duplicates of rows");

done_testing();

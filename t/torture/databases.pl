# databases.pl
#	  Keys of many databases, which come and go, while the clock steps within calls.
#
# One server has 70 databases that generate keys, and others that are created as copies
# of each other and dropped. (t/stops/database_state.pl has OIDs that come back.) The clock
# also steps between two readings of one process. No call sleeps for the length of a step.
#
# Each database contains the rows that its keys were generated for, and a count of
# the rows that a reader found up to the settled horizon. A copy has both from its template.
# So a copy must not generate a key of the template's rows, its horizon must not be
# earlier than the template's, and no row can appear before that.

use v5.36;
use Time::HiRes qw(sleep);
use FindBin;
use lib "$FindBin::RealBin/..", $FindBin::RealBin;
use SeqidTest;
use Torture;

my @lasting = map { "lasting_$_" } 1 .. 70;
my @passing = map { "passing_$_" } 1 .. 8;

my $shim = SeqidShim->new;
my $node;

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

-- missed: rows that appeared before a horizon after it was returned, or were lost there.
CREATE VIEW verdict AS
	SELECT current_database(), (SELECT count(*) FROM kept), polls, went_back,
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

	return 'CALL poll();' if $kind < 0.25;
	return "$fast[ rand @fast ];" if $kind < 0.6;
	return "BEGIN;\n$insert;\n" . (rand() < 0.5 ? '\! sleep ' . sprintf("%.3f\n", rand 0.03) : '')
	  . (rand() < 0.1 ? 'ROLLBACK;' : 'COMMIT;');
}

# Sessions meet in the first databases. Keys of copies are not recorded: copies of one
# template can repeat each other's keys.
sub visit ($number)
{
	my $place = rand;
	my $database = $place < 0.3 ? $lasting[ rand 3 ]
	  : $place < 0.6 ? $lasting[ rand @lasting ]
	  : $passing[ rand @passing ];

	return run_script("client$number", $node->connstr($database),
		join("\n", 'SET synchronous_commit = ' . (rand() < 0.5 ? 'on;' : 'off;'), map { statements() } 1 .. 50),
		$database =~ /lasting/ ? "$database.$number.keys" : 'copies');
}

# Keeps the verdict on a database, which can be dropped later.
sub judge ($database)
{
	my $verdict = ask($node, $database, 'SELECT * FROM verdict');

	append_to_file("$directory/verdicts", "$verdict\n") if $verdict;
	return $verdict;
}

sub come_and_go
{
	my $database = $passing[ rand @passing ];
	my @exist = split /\n/, ask($node, 'postgres', "SELECT datname FROM pg_database WHERE datname ~ 'passing'") // '';
	my $template = rand() < 0.2 || !@exist ? 'model' : $exist[ rand @exist ];

	# A crash can have left them without.
	ask($node, 'postgres', join ';', map { "ALTER DATABASE $_ ALLOW_CONNECTIONS true" } @exist, 'model');
	if (grep { $_ eq $database } @exist)
	{
		judge($database);
		return ask($node, 'postgres', "DROP DATABASE $database WITH (FORCE)");
	}
	ask($node, 'postgres', "ALTER DATABASE $template ALLOW_CONNECTIONS false;
		SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = '$template'");
	append_to_file("$directory/created", "$template\n")
	  if defined ask($node, 'postgres', "CREATE DATABASE $database TEMPLATE $template");
	return ask($node, 'postgres', "ALTER DATABASE $template ALLOW_CONNECTIONS true");
}

# How many databases are copies of copies.
sub copies_of_copies
{
	return -e "$directory/created" ? scalar(() = slurp_file("$directory/created") =~ /passing/g) : 0;
}

sub set_clock
{
	$shim->set(offset_ns => (-8, -5, -2, -1, 0, 0, 1, 2)[ rand 8 ] * 1_000_000_000);
	return 1;
}

sub start { set_clock(); $shim->start($node); return 1 }

# At a reading of one process, and for all processes from then on. False if the process
# does not read so often.
sub step_within_call
{
	my @seconds = (-20, -20, -20, -3, 3, 20);
	my $pid = ask($node, 'postgres', "SELECT pid FROM pg_stat_activity
		WHERE datname ~ 'ing_' AND backend_type = 'client backend' ORDER BY backend_start DESC LIMIT 1");

	$shim->watch($pid || 0, 1 + int rand 50, $seconds[ rand @seconds ] * 1_000_000_000);
	my $happened = poll_until { $shim->get('steps') } 1;
	$shim->watch(0);
	sleep 0.3 if $happened;
	set_clock();
	return $happened;
}

set_clock();
$node = new_server('main', clock => $shim, extension => 0,
	conf => "restart_after_crash = on\nlog_statement = none\nmax_connections = 60\n");
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', $model);
$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE model") for @lasting;

# Half of them go on where others refuse keys.
$node->safe_psql('postgres', "ALTER DATABASE $_ SET seqid.max_lead = '1h'")
  for grep { /[02468]$/ } @lasting;

# One client goes through all of them, so that all have keys in each server lifetime.
my $visit_all = sub { ask($node, $_, $insert) for @lasting };
$visit_all->();
repeatedly($visit_all);
repeatedly(\&come_and_go);
for my $number (1 .. 6) { repeatedly(sub { visit($number) }) }

torture(
	sub { wait_until($node, 'SELECT true') or die 'the server does not come back' },
	sub { $count{'clock steps within a call'} > 2 && copies_of_copies() },
	server_faults(sub { $node }, \&start),
	'clock steps' => [ 8, \&set_clock ],
	'clock steps within a call' => [ 24, \&step_within_call ]);
finish();
$shim->set(offset_ns => 0);

my $read = 0;

judge($_) // die "no verdict on $_" for @lasting, grep { ask($node, $_, 'SELECT 1') } @passing;
for my $verdict (split /\n/, slurp_file("$directory/verdicts"))
{
	my ($database, $rows, $polls, $went_back, $missed) = split /\|/, $verdict;

	is("$went_back $missed", '0 0', "$database: horizons that went back, and rows that were missed");
	# Copies have the counts of their template as well.
	$read += $polls if $database =~ /lasting/ && $rows > 0;
}
$node->stop('immediate');

# Servers and databases that are gone are no failure, nor is what follows from that.
my @unexpected = grep { !/:  (?:55000: clock is|23505|25P02|57P0[1-3])/ } errors_like('(?:ERROR|FATAL):  \w{5}:');

keys_are_unique();
is(scalar(errors_like('ERROR:  23505')), 0, 'no key was that of a row');
is(scalar(@unexpected), 0, 'nothing else failed') or diag($unexpected[0]);
cmp_ok($read, '>', 50, 'readers polled');
cmp_ok($shim->get('longest_ns'), '<', 2_000_000_000, 'no call slept for the length of a step');
done_testing();

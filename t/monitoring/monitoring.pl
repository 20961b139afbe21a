# monitoring.pl
#	  examples/monitoring/ with Debian's exporters and promtool.
#
# promtool checks the rules and runs their tests, in which each alert is raised, and not too
# early.  Two exporters query a server as a role with the documented privileges and nothing
# else.  They must have the same metrics, all that rules and dashboard name, with values that
# show each trouble: the clock, a standby and a lost mark are what SQL alone cannot set.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use HTTP::Tiny;
use SeqidTest;

my $examples = "$FindBin::RealBin/../../examples/monitoring";
my $directory = PostgreSQL::Test::Utils::tempdir;
my $tests = slurp_file("$examples/alerts_test.yaml");

command_ok([ 'promtool', 'check', 'config', "$examples/prometheus.yml" ], 'configuration and rules are well formed');
command_ok([ 'promtool', 'test', 'rules', "$examples/alerts_test.yaml" ], 'each alert is raised, and not too early');
like($tests, qr/ALERTS\{alertname="$_"/, "$_ has a test")
  for slurp_file("$examples/alerts.yaml") =~ /^ *- alert: (\w+)/mg;

my $shim = SeqidShim->new;
my $node = new_server('main', clock => $shim, streaming => 1, extension => 0, conf => "restart_after_crash = off\n");

# How many seconds the server's clock is ahead.
sub set_clock { $shim->set(offset_ns => int($_[0]) * 1_000_000_000) }
sub restart { $node->stop; $shim->start($node) }
# In a session each, which knows the settings.
sub sql { map { $node->safe_psql('shop', "LOAD 'seqid'; $_") } @_ }

$node->safe_psql('postgres', "
	CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
	ALTER ROLE regress_monitor SET search_path = public, ids;
	CREATE DATABASE shop; CREATE DATABASE office;
	ALTER DATABASE shop SET seqid.shards = 5;");
sql('CREATE EXTENSION seqid; GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO regress_monitor');
$node->safe_psql('office',
	'CREATE SCHEMA ids; CREATE EXTENSION seqid SCHEMA ids; GRANT USAGE ON SCHEMA ids TO regress_monitor');

my ($exporter, $sql_exporter) = map { '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port() } 1 .. 2;
my ($host, $port) = ($node->host, $node->port);
$ENV{DATA_SOURCE_NAME} = 'user=regress_monitor sslmode=disable ' . $node->connstr('shop');
spawn("$directory/exporter.log", 'prometheus-postgres-exporter', "--web.listen-address=$exporter",
	"--extend.query-path=$examples/queries.yaml", '--auto-discover-databases', '--include-databases=office');
# The file as it is, with another address and at a shorter interval
my $jobs = slurp_file("$examples/sql_exporter.yml") =~ s/interval: \K15s/1s/gr;
$jobs =~ s{^( *- postgres://)prometheus@/shop\?host=/run/postgresql}{$1regress_monitor@/shop?host=$host&port=$port}mg;
$jobs =~ s{^( *- postgres:.*)/shop(.*)\n\K}{$1/office$2\n}m;
append_to_file("$directory/sql_exporter.yml", $jobs);
spawn("$directory/sql_exporter.log", 'prometheus-sql-exporter', "-web.listen-address=$sql_exporter",
	"-config.file=$directory/sql_exporter.yml");

my $metrics;

# The metrics of an exporter.  A key is a name, and the database or layout of which it is.
# Those of sql_exporter get the names that examples/monitoring/prometheus.yml gives them.
sub scrape ($address)
{
	my $answer = HTTP::Tiny->new(timeout => 20)->get("http://$address/metrics")->{content};
	my %value;

	$answer =~ s/^sql_(seqid_\w+)(\{.*?)col="(\w+)",?/$1_$3$2/mg;
	for (split /\n/, $answer)
	{
		my ($name, $labels, $value) = /^(\w+)(.*) (\S+)$/ or next;

		$value{ join ' ', $name, $labels =~ /(?:datname|layout)="(\w+)"/ } = $value;
	}
	return \%value;
}

# shows($what, $lines, @statements): asserts that both exporters come to have these values
# after the statements.  A line has the least value, the greatest one, and the metrics; "none"
# are those that must not exist.
sub shows ($what, $lines, @statements)
{
	sql(@statements);
	for my $address ($exporter, $sql_exporter)
	{
		my @wrong;

		poll_until
		{
			$metrics = scrape($address);
			@wrong = ();
			for my $line (grep { /\S/ } split /\n/, $lines)
			{
				my ($least, $greatest, $names) = $line =~ /(\S+) (\S+) (.*)/;

				push @wrong, map { "$_ " . ($metrics->{$_} // 'none') } grep {
					my $value = $metrics->{$_} // 'none';

					$least eq 'none' || $value eq 'none' ? $value ne $least : $value < $least || $value > $greatest;
				} split /, /, $names;
			}
			return !@wrong;
		};
		is(join(', ', @wrong), '', $address eq $exporter ? $what : "$what: sql_exporter");
	}
}

my $generate = 'SELECT snowflake_nextval(), comb_uuid()';
my $horizon = 'CALL seqid.horizon()';
my $reload = 'SELECT pg_reload_conf()';

# office has no shard, and no reader.
shows('no trouble', <<'METRICS', 'SELECT snowflake53_nextval(7)', $generate, $horizon);
0 0 seqid_file_settings_unreadable, seqid_server_preloaded, seqid_shard_refused shop
0 0 seqid_database_floor_ahead_seconds shop, seqid_database_waiting_for_standby shop
0 0 seqid_horizon_holders_oldest_seconds shop, seqid_horizon_holders_transactions shop
0 0 seqid_shards_clock_regressions_total snowflake
1 1 seqid_extension_installed shop, seqid_server_timeline, seqid_shard_allowed shop, seqid_shard_listed shop
1 1 seqid_shards_issuing snowflake, seqid_shards_issuing snowflake53, seqid_extension_installed office
5 5 seqid_shard_number shop
10 10 seqid_server_max_lead_seconds
50 69 seqid_database_years_left shop
0 2 seqid_database_comb_uuid_lead_seconds shop, seqid_shards_lead_seconds snowflake
-2 60 seqid_database_mark_age_seconds shop, seqid_horizon_age_seconds shop
0 1000 seqid_shards_waits_total snowflake
1 100 seqid_database_marks_written_total shop
1.7e9 4e9 seqid_horizon_timestamp_seconds shop, seqid_server_start_time_seconds
none none seqid_shard_number office, seqid_horizon_age_seconds office
METRICS
my %exists = map { s/ .*//r => 1 } keys %$metrics;
my @named = map { slurp_file("$examples/$_") =~ /\b(seqid_\w+)/g } 'alerts.yaml', 'dashboard.json';
is(join(' ', grep { !$exists{$_} } @named), '', 'the metrics of rules and dashboard exist');
my @series = map { join "\n", sort grep { /^seqid_/ } keys %{ scrape($_) } } $exporter, $sql_exporter;
is($series[1], $series[0], 'sql_exporter has the same metrics');
sql('SELECT count(snowflake_nextval(g)) FROM generate_series(100, 899) g');
is(join("\n", sort grep { /^seqid_/ } keys %{ scrape($exporter) }), $series[0], 'and none for each shard');

shows('a shard outside the allowed list', "0 0 seqid_shard_allowed shop\n1 1 seqid_shard_refused shop",
	'ALTER SYSTEM SET seqid.allowed_shards = 6', $reload);
# ALTER SYSTEM does not accept this list, and the setting does not show it.
$node->append_conf('postgresql.conf', "seqid.allowed_shards = '5, x'");
shows('a list that cannot be read', '1 1 seqid_file_settings_unreadable',
	'ALTER SYSTEM RESET seqid.allowed_shards', $reload);
$node->adjust_conf('postgresql.conf', 'seqid.allowed_shards', "'3, 4 - 9'");
shows('the list is right', "1 1 seqid_shard_allowed shop\n0 0 seqid_file_settings_unreadable", $reload);

my $holder = SeqidSession->new($node, 'shop');
$holder->query("BEGIN; $generate");
set_clock(600);
shows('a transaction holds back the horizon', "1 1 seqid_horizon_holders_transactions shop
	300 900 seqid_horizon_holders_oldest_seconds shop, seqid_horizon_age_seconds shop", $horizon);
$holder->query('ROLLBACK');

# The checkpointer has read this setting before it begins a checkpoint.
reconfigure($node, synchronous_standby_names => 'nobody');
sql('CHECKPOINT');
set_clock(1200);
$holder->send($generate);
ok($holder->waits_for($node, 'SyncRep'), 'a session waits for the standby');
set_clock(1300);
shows('the mark waits', "10 900 seqid_database_mark_age_seconds shop
	1 1 seqid_database_waiting_for_standby shop");
reconfigure($node, synchronous_standby_names => '');
$holder->answer;
$holder->close;

sql($generate);
set_clock(0);
is(outcome($node, 'shop', $generate), 55000, 'a snowflake is refused');
shows('the clock was set back', "1 100 seqid_shards_clock_regressions_total snowflake
	11 2000 seqid_shards_lead_seconds snowflake, seqid_database_comb_uuid_lead_seconds shop");
restart();
shows('a mark of an earlier server lifetime is ahead', '6 2000 seqid_database_floor_ahead_seconds shop');
set_clock(3_786_912_000 - time);    # 2090-01-01
shows('the end of the 41 bits comes near', '1 4 seqid_database_years_left shop');
set_clock(3600);
shows('the mark is missing', "none none seqid_database_years_left shop\n1 1 seqid_extension_installed shop",
	'ALTER SEQUENCE seqid.clock_mark RENAME TO mislaid');
sql('SELECT seqid.repair_mark()');

$node->set_standby_mode;
restart();
shows('a standby', "0 0 seqid_shard_refused shop, seqid_file_settings_unreadable");
ok(!grep({ ($_ // 'NaN') ne 'NaN' } @$metrics{'seqid_shard_number shop', 'seqid_server_timeline'}), 'has no shard yet');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC:/, 'no process of the server died');
done_testing();

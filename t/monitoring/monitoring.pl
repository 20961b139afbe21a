# monitoring.pl
#	  examples/monitoring/ with Debian's exporters and Prometheus.
#
# promtool checks the rules and runs their tests, which include how long an alert
# waits. Then sql_exporter and postgres_exporter query a server as a role with the documented
# privileges and nothing else, and Prometheus scrapes both. All metrics must exist and have
# the values that SQL returns, without an alert, and each query of the dashboard must find
# some. Each trouble must raise the alerts that it is named for, no others, and they must
# end with it.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use HTTP::Tiny;
use JSON::PP qw(decode_json);
use SeqidTest;
use Time::HiRes qw(time);

my $examples = "$FindBin::RealBin/../../examples/monitoring";
my $directory = PostgreSQL::Test::Utils::tempdir;
my $rules = slurp_file("$examples/alerts.yaml");
my @alerts = sort $rules =~ /^ *- alert: (\w+)/mg;
my %tested = map { $_ => 1 } slurp_file("$examples/alerts_test.yaml") =~ /ALERTS\{alertname="(\w+)"/g;

command_ok([ 'promtool', 'check', 'config', "$examples/prometheus.yml" ], 'so is the configuration');
command_ok([ 'promtool', 'check', 'rules', "$examples/alerts.yaml" ], 'the rules are well formed');
command_ok([ 'promtool', 'test', 'rules', "$examples/alerts_test.yaml" ], 'each alert is raised, and not too early');
is_deeply([ sort keys %tested ], \@alerts, 'each alert has a test');
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
	CREATE DATABASE shop; CREATE DATABASE office; CREATE DATABASE other;
	ALTER DATABASE shop SET seqid.shards = 5;");
sql('CREATE EXTENSION seqid; GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO regress_monitor');
$node->safe_psql('office', 'CREATE SCHEMA ids; CREATE EXTENSION seqid SCHEMA ids; GRANT USAGE ON SCHEMA ids TO regress_monitor');

my ($exporter, $sql_exporter, $prometheus) = map { '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port() } 1 .. 3;
$ENV{DATA_SOURCE_NAME} = 'user=regress_monitor sslmode=disable ' . $node->connstr('shop');
spawn("$directory/exporter.log", 'prometheus-postgres-exporter', "--web.listen-address=$exporter",
	"--extend.query-path=$examples/queries.yaml", '--auto-discover-databases', '--include-databases=office');
# The files as they are, with other addresses and at shorter intervals.
my ($host, $port) = ($node->host, $node->port);
my $jobs = slurp_file("$examples/sql_exporter.yml") =~ s/interval: \K15s/1s/gr;
$jobs =~ s{^( *- postgres://)prometheus@/shop\?host=/run/postgresql}{$1regress_monitor@/shop?host=$host&port=$port}mg;
$jobs =~ s{^( *- postgres:.*)/shop(.*)\n\K}{$1/office$2\n}m;
append_to_file("$directory/sql_exporter.yml", $jobs);
spawn("$directory/sql_exporter.log", 'prometheus-sql-exporter', "-web.listen-address=$sql_exporter",
	"-config.file=$directory/sql_exporter.yml");
append_to_file("$directory/prometheus.yml", "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
	  . slurp_file("$examples/prometheus.yml") =~ s/localhost:9237/$sql_exporter/r =~ s{alerts\.yaml}{$examples/alerts.yaml}r
	  . "  - {job_name: postgres, static_configs: [{targets: ['$exporter']}]}\n");
spawn("$directory/prometheus.log", 'prometheus', "--config.file=$directory/prometheus.yml",
	"--storage.tsdb.path=$directory/prometheus", "--web.listen-address=$prometheus", '--log.level=warn');

my $http = HTTP::Tiny->new(timeout => 20);
my %metric;

# Keys are a name, or a name and a database or layout. Returns the number of series.
sub scrape
{
	my $answer = $http->get("http://$exporter/metrics")->{content};

	%metric = ();
	for (split /\n/, $answer)
	{
		my ($name, $labels, $value) = /^(\w+)(.*) (\S+)$/ or next;

		$metric{ join ' ', $name, $labels =~ /(?:datname|layout)="(\w+)"/ } = $value;
	}
	return scalar(() = $answer =~ /^seqid_/mg);
}

sub prometheus
{
	my $answer = $http->get("http://$prometheus/api/v1/$_[0]");

	return $answer->{success} ? decode_json($answer->{content})->{data} : {};
}

sub results { @{ prometheus('query?' . $http->www_form_urlencode({ query => $_[0] }))->{result} // [] } }

# raises($what, $alerts, @statements): asserts that after the statements the expressions of
# these alerts are true for both exporters, and no others. A scrape can see one half of a
# change.
sub raises ($what, $expected, @statements)
{
	my %raised;

	sql(@statements);
	my $since = time;
	poll_until
	{
		return 0 if results("timestamp(up == 1) > $since") < 2;
		%raised = map { $_ => {} } $exporter, $sql_exporter;
		for my $alert (map { @{ $_->{rules} } } @{ prometheus('rules')->{groups} })
		{
			$raised{ $_->{metric}{instance} }{ $alert->{name} } = 1 for results($alert->{query});
		}
		$_ = join ' ', sort keys %$_ for values %raised;
		return !grep { $_ ne $expected } values %raised;
	};
	is_deeply(\%raised, { $exporter => $expected, $sql_exporter => $expected }, $what);
}

my $generate = 'SELECT snowflake_nextval(), comb_uuid()';
my $horizon = 'CALL seqid.horizon()';
my $reload = 'SELECT pg_reload_conf()';

poll_until { scrape(); defined $metric{'seqid_shard_number shop'} && $metric{'seqid_database_years_left office'} }
  or die slurp_file("$directory/exporter.log");
poll_until { results('seqid_shard_number') } or die slurp_file("$directory/prometheus.log");
sql($generate, 'SELECT snowflake53_nextval(7)', $horizon);
scrape();

# The least and the greatest value, and metrics with their labels.
for my $line (split /\n/, <<'METRICS')
0 0 pg_exporter_last_scrape_error, seqid_file_settings_unreadable, seqid_server_preloaded, seqid_shard_refused shop
0 0 seqid_database_floor_ahead_seconds shop, seqid_database_waiting_for_standby shop
0 0 seqid_horizon_holders_oldest_seconds shop, seqid_horizon_holders_transactions shop
0 0 seqid_shards_clock_regressions_total snowflake
1 1 seqid_extension_installed shop, seqid_server_timeline, seqid_shard_allowed shop, seqid_shard_listed shop
1 1 seqid_shards_issuing snowflake, seqid_shards_issuing snowflake53
5 5 seqid_shard_number shop
10 10 seqid_server_max_lead_seconds
50 69 seqid_database_years_left shop
0 2 seqid_database_comb_uuid_lead_seconds shop, seqid_shards_lead_seconds snowflake
-2 60 seqid_database_mark_age_seconds shop, seqid_horizon_age_seconds shop
0 1000 seqid_shards_waits_total snowflake
1.7e9 4e9 seqid_horizon_timestamp_seconds shop, seqid_server_start_time_seconds
METRICS
{
	my ($least, $greatest, $names) = split / /, $line, 3;

	for my $name (split /, /, $names)
	{
		my $value = $metric{$name} // 'NaN';

		ok($least <= $value && $value <= $greatest, "$name is from $least to $greatest") or diag($value);
	}
}
is_deeply([ sql('SELECT marks_written FROM seqid.stat_database') ], [ $metric{'seqid_database_marks_written_total shop'} ], 'marks written');
# office has no shard, and no reader. other has no seqid.
is_deeply([ @metric{'seqid_shard_number office', 'seqid_horizon_age_seconds office', 'seqid_extension_installed other'} ],
	[ undef, undef, undef ], 'databases without shard, reader or seqid');
my $series = scrape();
sql('SELECT count(snowflake_nextval(g)) FROM generate_series(100, 899) g');
is(scrape(), $series, 'the number of series does not grow with the shards');

# Prometheus has the same metrics from both exporters.
sub series ($job)
{
	return join "\n", sort map { my $labels = $_->{metric}; join ' ', map { $labels->{$_} // '' } qw(__name__ datname layout version) }
	  results("group by (__name__, datname, layout, version) ({__name__=~'seqid_.*', job='$job'})");
}
poll_until { series('seqid') eq series('postgres') };
is(series('seqid'), series('postgres'), 'sql_exporter has the same metrics');

# A rate needs two scrapes.
my @panels = map { @{ $_->{targets} } } @{ decode_json(slurp_file("$examples/dashboard.json"))->{panels} };
my @without;
poll_until { !(@without = grep { !results($_) } map { $_->{expr} =~ s/\$instance/.*/r } @panels) };
is_deeply(\@without, [], 'each query of the dashboard finds metrics');

# As CloudNativePG's exporter runs queries.
sql('CREATE ROLE cnpg_metrics_exporter LOGIN IN ROLE pg_monitor',
	'GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO cnpg_metrics_exporter');
for my $query (slurp_file("$examples/../cnpg/monitoring.yaml") =~ /^ {6}(?:predicate_query: |query: \|\n)((?:SELECT.*\n)|(?: {8}.*\n)+)/mg)
{
	is(($node->psql('shop', "BEGIN READ ONLY; SET LOCAL search_path = pg_catalog, public, pg_temp;
		SET LOCAL ROLE cnpg_metrics_exporter; $query; COMMIT"))[0], 0, 'CloudNativePG can run ' . $query =~ s/\s+/ /gr);
}
raises('no alert without trouble', '');

raises('a shard outside the allowed list', 'SeqidListedShardRefused SeqidShardRefused',
	'ALTER SYSTEM SET seqid.allowed_shards = 6', $reload);
raises('allowed again', '', "ALTER SYSTEM SET seqid.allowed_shards = '3, 4 - 9'", $reload);

# ALTER SYSTEM does not accept this list, and the setting does not show it.
$node->append_conf('postgresql.conf', "seqid.allowed_shards = '5, x'");
raises('a list that cannot be read', 'SeqidSettingUnreadable', 'ALTER SYSTEM RESET seqid.allowed_shards', $reload, $horizon);
is(outcome($node, 'shop', $generate), 55000, 'no shard is allowed in a new session');
$node->adjust_conf('postgresql.conf', 'seqid.allowed_shards', "'5, 7'");
raises('it can be read again', '', $reload, $horizon);

my $holder = SeqidSession->new($node, 'shop');
$holder->query("BEGIN; $generate");
set_clock(600);
raises('a transaction holds the horizon', 'SeqidHorizonHeld SeqidHorizonStale');
$holder->query('ROLLBACK');
raises('it has ended, and no reader asks', 'SeqidHorizonStale');
raises('a reader asks again', '', $generate, $horizon);

# The checkpointer reads this setting a little later.
sql('ALTER SYSTEM SET synchronous_standby_names = nobody', $reload);
my $ahead = 1200;
poll_until { set_clock($ahead += 2); $holder->send($generate); $holder->waits_for($node, 'SyncRep') }
  or die 'the session does not wait for the standby';
set_clock($ahead + 120);
raises('the mark waits for a standby that does not exist', 'SeqidHorizonStale SeqidMarkStuck');
sql('ALTER SYSTEM RESET synchronous_standby_names', $reload);
$holder->answer;
raises('the mark advances', '', $generate, $horizon);

set_clock(0);
is(outcome($node, 'shop', $generate), 55000, 'a snowflake is refused');
raises('the clock was set back', 'SeqidClockSetBack SeqidIdsNearRefusal SeqidKeysAheadOfClock');
$holder->close;

restart();
raises('a mark of an earlier server lifetime is ahead, and no reader asks', 'SeqidHorizonStale SeqidMarkAheadOfClock');
set_clock(3600);
raises('the clock has caught up', 'SeqidHorizonStale', $generate);
raises('a reader asks', '', $horizon);

set_clock(3_786_912_000 - time);    # 2090-01-01
raises('the end of the 41 bits comes near', 'SeqidHorizonStale SeqidYearsLeft');
set_clock(3600);
raises('the clock is right again', '', $horizon);
raises('the mark is missing', 'SeqidCannotGenerate', 'ALTER SEQUENCE seqid.clock_mark RENAME TO mislaid');
raises('the mark exists again', '', 'SELECT seqid.repair_mark()', $horizon);

sql('REVOKE EXECUTE ON FUNCTION pg_show_all_file_settings() FROM regress_monitor');
ok(poll_until { scrape(); $metric{pg_exporter_last_scrape_error} }, 'without a privilege one query fails');
is_deeply([ @metric{'seqid_file_settings_unreadable', 'seqid_shard_number shop', 'seqid_server_timeline'} ],
	[ undef, 5, 1 ], 'and the others return rows');
sql('GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO regress_monitor');

$node->set_standby_mode;
restart();
ok(poll_until { scrape(); ($metric{'seqid_shard_number shop'} // '') eq 'NaN' && !$metric{pg_exporter_last_scrape_error} },
	'a standby has no shard yet, and each query returns rows');
is($metric{'seqid_shard_refused shop'}, 0, 'its list is allowed');
raises('no alert of a standby', '');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC:/, 'no process of the server died');
done_testing();

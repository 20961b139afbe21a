# monitoring.pl
#	  examples/monitoring/ with Debian's exporter for PostgreSQL and Prometheus.
#
# promtool checks the rules and runs their tests, which include how long an alert
# waits. Then an exporter queries a server as a role with the documented privileges and
# nothing else, and Prometheus scrapes it. All metrics must exist and have the values that
# SQL returns, without an alert. Each trouble must raise the alerts that it is named for, no
# others, and they must end with it. Regression tests have neither program.

use FindBin;
use lib "$FindBin::RealBin/..";
use HTTP::Tiny;
use JSON::PP qw(decode_json);
use SeqidTest;
use Time::HiRes qw(time);

my $examples = "$FindBin::RealBin/../../examples/monitoring";
my $directory = PostgreSQL::Test::Utils::tempdir;

#
# The rules
#
my $rules = slurp_file("$examples/alerts.yaml");
my @alerts = sort $rules =~ /^ *- alert: (\w+)/mg;
my %tested = map { $_ => 1 } slurp_file("$examples/alerts_test.yaml") =~ /ALERTS\{alertname="(\w+)"/g;

command_ok([ 'promtool', 'check', 'rules', "$examples/alerts.yaml" ], 'the rules are well formed');
command_ok([ 'promtool', 'test', 'rules', "$examples/alerts_test.yaml" ], 'each alert is raised, and not too early');
is_deeply([ sort keys %tested ], \@alerts, 'each alert has a test');

# The anchors of a page, as GitHub makes them of headings.
sub anchors
{
	my ($page) = @_;

	return map { tr/ /-/r } map { lc =~ s/[^a-z0-9 _-]//gr } slurp_file("$examples/../../$page") =~ /^#+ (.*)/mg;
}

for my $runbook ($rules =~ /^ *runbook: (.*)/mg)
{
	my ($page, $anchor) = split /#/, $runbook;

	ok((grep { $_ eq $anchor } anchors($page)), "$runbook exists");
}

#
# Server, exporter and Prometheus
#
my $shim = SeqidShim->new;
my $node = new_server('main', clock => $shim, streaming => 1, extension => 0, conf => "restart_after_crash = off\n");

# set_clock($seconds): how far the server's clock is ahead
sub set_clock
{
	my ($seconds) = @_;

	$shim->set(offset_ns => int($seconds) * 1_000_000_000);
	return;
}

sub restart
{
	$node->stop;
	$shim->start($node);
	return;
}

sub sql
{
	return $node->safe_psql('shop', $_[0]);
}

# configure($statement): what follows ALTER SYSTEM
sub configure
{
	# The library defines the settings.
	sql("LOAD 'seqid'; ALTER SYSTEM $_[0]");
	$node->reload;
	return;
}

$node->safe_psql('postgres', "
	CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
	ALTER ROLE regress_monitor SET search_path = public, ids;
	CREATE DATABASE shop;
	CREATE DATABASE office;
	CREATE DATABASE other;
	ALTER DATABASE shop SET seqid.shards = 5;");
sql('CREATE EXTENSION seqid; GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO regress_monitor');
$node->safe_psql('office', 'CREATE SCHEMA ids; CREATE EXTENSION seqid SCHEMA ids; GRANT USAGE ON SCHEMA ids TO regress_monitor');

my ($exporter, $prometheus) = map { '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port() } 1 .. 2;
{
	local $ENV{DATA_SOURCE_NAME} = 'user=regress_monitor sslmode=disable ' . $node->connstr('shop');
	spawn("$directory/exporter.log", 'prometheus-postgres-exporter', "--web.listen-address=$exporter",
		"--extend.query-path=$examples/queries.yaml", '--auto-discover-databases', '--include-databases=office');
}
append_to_file("$directory/prometheus.yml", "
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: ['$examples/alerts.yaml']
scrape_configs: [{job_name: postgres, static_configs: [{targets: ['$exporter']}]}]
");
spawn("$directory/prometheus.log", 'prometheus', "--config.file=$directory/prometheus.yml",
	"--storage.tsdb.path=$directory/prometheus", "--web.listen-address=$prometheus", '--log.level=warn');

my $http = HTTP::Tiny->new(timeout => 20);
my %metric;

# Asks the exporter: "NAME DATABASE" or "NAME LAYOUT" => value, or just NAME. Returns the
# number of series.
sub scrape
{
	%metric = ();
	for my $line (split /\n/, $http->get("http://$exporter/metrics")->{content})
	{
		my ($name, $labels, $value) = $line =~ /^(\w+)(?:\{(.*)\})? (\S+)$/ or next;
		my ($label) = ($labels // '') =~ /(?:datname|layout)="(\w+)"/;

		$metric{ $label ? "$name $label" : $name } = $value;
	}
	return scalar grep { /^seqid_/ } keys %metric;
}

sub prometheus
{
	my ($what, %query) = @_;
	my $answer = $http->get("http://$prometheus/api/v1/$what?" . $http->www_form_urlencode(\%query));

	return $answer->{success} ? decode_json($answer->{content})->{data} : {};
}

sub results
{
	my ($query) = @_;

	return @{ prometheus('query', query => $query)->{result} // [] };
}

# Asserts that the expressions of these alerts become true, and no others. A scrape
# can see one half of a change.
sub raises
{
	my ($what, @expected) = @_;
	my $since = time;
	my $raised;

	poll_until
	{
		return 0 unless results("timestamp(up == 1) > $since");
		$raised = join ' ', sort map { $_->{name} } grep { results($_->{query}) }
		  map { @{ $_->{rules} } } @{ prometheus('rules')->{groups} };
		return $raised eq "@expected";
	};
	is($raised, "@expected", $what);
	return;
}

my $generate = 'SELECT snowflake_nextval(), comb_uuid()';
my $horizon = 'CALL seqid.horizon()';

#
# A server without trouble
#
poll_until { scrape(); defined $metric{'seqid_shard_number shop'} && $metric{'seqid_database_years_left office'} }
  or die slurp_file("$directory/exporter.log");
poll_until { results('seqid_shard_number') } or die slurp_file("$directory/prometheus.log");
sql($_) for $generate, 'SELECT snowflake53_nextval(7)', $horizon;
scrape();

my %expected = (
	(map { $_ => 0 } 'pg_exporter_last_scrape_error', 'seqid_file_settings_unreadable',
		'seqid_server_preloaded', 'seqid_shards_clock_regressions_total snowflake',
		map { "seqid_$_ shop" } qw(shard_refused horizon_holders_transactions horizon_holders_oldest_seconds
		  database_floor_ahead_seconds database_waiting_for_standby)),
	(map { $_ => 1 } 'seqid_server_timeline', 'seqid_shards_issuing snowflake', 'seqid_shards_issuing snowflake53',
		map { "seqid_$_ shop" } qw(extension_installed shard_allowed shard_listed)),
	'seqid_shard_number shop' => 5,
	'seqid_server_max_clock_regression_seconds' => 10,
	'seqid_database_marks_written_total shop' => sql('SELECT marks_written FROM seqid.stat_database'),
	# office has no shard, and nothing asked for its horizon. other has no seqid.
	(map { $_ => undef } 'seqid_shard_number office', 'seqid_horizon_age_seconds office', 'seqid_extension_installed other'));
my %between = (
	'seqid_database_mark_age_seconds shop' => [ -2, 60 ],
	'seqid_database_combs_ahead_seconds shop' => [ 0, 2 ],
	'seqid_database_years_left shop' => [ 50, 69 ],
	'seqid_horizon_age_seconds shop' => [ -2, 60 ],
	'seqid_horizon_told_timestamp_seconds shop' => [ 1.7e9, 4e9 ],
	'seqid_shards_ahead_seconds snowflake' => [ 0, 2 ],
	'seqid_shards_waits_total snowflake' => [ 0, 1000 ],
	'seqid_server_start_time_seconds' => [ 1.7e9, 4e9 ]);

is($metric{$_}, $expected{$_}, $_) for sort keys %expected;
for my $name (sort keys %between)
{
	my ($low, $high) = @{ $between{$name} };

	ok($metric{$name} >= $low && $metric{$name} <= $high, "$name is from $low to $high") or diag($metric{$name});
}
my $series = scrape();
sql('SELECT count(snowflake_nextval(g)) FROM generate_series(100, 899) g');
is(scrape(), $series, 'the number of series does not grow with the shards');

# Names, not sentences.
my $page = slurp_file("$examples/../../docs/monitoring.md");
is_deeply([ grep { $page !~ /\b$_\b/ } @alerts, map { /^(seqid_\w+)/ } sort keys %metric ], [], 'alerts and metrics are documented');
raises('no alert without trouble');

#
# Troubles
#
configure('SET seqid.allowed_shards = 6');
raises('a shard outside the allowed list', qw(SeqidListedShardRefused SeqidShardRefused));
configure("SET seqid.allowed_shards = '3, 4 - 9'");
raises('allowed again');

# ALTER SYSTEM does not accept this list, and the setting does not show it.
configure('RESET seqid.allowed_shards');
$node->append_conf('postgresql.conf', "seqid.allowed_shards = '5, x'");
$node->reload;
sql($horizon);
raises('a list that cannot be read', 'SeqidSettingUnreadable');
is(outcome($node, 'shop', $generate), 55000, 'no shard is allowed in a new session');
$node->adjust_conf('postgresql.conf', 'seqid.allowed_shards', "'5, 7'");
$node->reload;
sql($horizon);
raises('it can be read again');

my $holder = SeqidSession->new($node, 'shop');
$holder->query("BEGIN; $generate");
set_clock(600);
raises('a transaction holds the horizon', qw(SeqidHorizonHeld SeqidHorizonStale));
$holder->query('ROLLBACK');
raises('it has ended, and no reader asks', 'SeqidHorizonStale');
sql($_) for $generate, $horizon;
raises('a reader asks again');

configure('SET synchronous_standby_names = nobody');
# The checkpointer has yet to read the setting.
my $ahead = 1200;
poll_until
{
	set_clock($ahead += 2);
	$holder->send($generate);
	return $holder->waits_for($node, 'SyncRep');
}
or die 'the session does not wait for the standby';
set_clock($ahead + 120);
raises('the mark waits for a standby that does not exist', qw(SeqidHorizonStale SeqidMarkStuck));
configure('RESET synchronous_standby_names');
$holder->answer;
sql($_) for $generate, $horizon;
raises('the mark advances');

set_clock(0);
is(outcome($node, 'shop', $generate), 55000, 'a snowflake is refused');
raises('the clock was set back', qw(SeqidClockSetBack SeqidIdsNearRefusal SeqidKeysAheadOfClock));
$holder->close;

restart();
raises('a mark of an earlier server lifetime is ahead, and no reader asks', qw(SeqidHorizonStale SeqidMarkAheadOfClock));
set_clock(3600);
sql($generate);
raises('the clock has caught up', 'SeqidHorizonStale');
sql($horizon);
raises('a reader asks');

# 2090-01-01
set_clock(3_786_912_000 - time);
raises('the end of the 41 bits comes near', qw(SeqidHorizonStale SeqidYearsLeft));
set_clock(3600);
sql($horizon);
raises('the clock is right again');

sql('ALTER SEQUENCE seqid.clock_mark RENAME TO mislaid');
raises('the mark is missing', 'SeqidCannotDraw');
sql('SELECT seqid.repair_mark()');
sql($horizon);
raises('the mark exists again');

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
raises('no alert of a standby');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC:/, 'no process of the server died');
done_testing();

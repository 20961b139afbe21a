# preloaded.pl
#	  seqid beside each library that other extensions preload.
#
# The server starts with the library before seqid in shared_preload_libraries, and after it.
# Each time the extension is created, keys are generated, and seqid is dropped.  A library with
# which the server does not start without seqid either was not run, and the test prints why.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..", $FindBin::RealBin;
use SeqidNeighbours;
use SeqidTest;

my @libraries = qw(auth_delay auto_explain basic_archive bgw_replstatus passwordcheck pg_cron pg_partman_bgw pg_prewarm
  pg_qualstats pg_stat_kcache pg_stat_statements pg_wait_sampling pgaudit pgauditlogtofile pgautofailover pgextwlist
  pglogical pglogical_ticker plpgsql_check plprofiler plugin_debugger powa prioritize repmgr sepgsql set_user);

# What must come before a library, and what it needs.  Its database has its name.
my %first = (
	pg_stat_kcache => 'pg_stat_statements, ',
	pgauditlogtofile => 'pgaudit, ',
	pglogical_ticker => 'pglogical, ',
	powa => 'pg_stat_statements, ');
my %conf = (
	auto_explain => "auto_explain.log_min_duration = 0\nauto_explain.log_analyze = on",
	pg_cron => "cron.database_name = 'pg_cron'",
	pg_partman_bgw => "pg_partman_bgw.dbname = 'pg_partman_bgw'",
	pg_qualstats => 'pg_qualstats.sample_rate = 1',
	pgaudit => "pgaudit.log = 'all'",
	pgauditlogtofile => "pgaudit.log = 'all'",
	pglogical => 'wal_level = logical',
	pglogical_ticker => 'wal_level = logical',
	powa => "powa.database = 'powa'");
my ($directory) = run_command([ 'pg_config', '--pkglibdir' ]);
my @installed = grep { -f "$directory/$_.so" } @libraries;
my $node = new_server('main', extension => 0, conf => "include_if_exists = 'preloaded.conf'\n");
my %is_extension = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');
my %reason;

$node->safe_psql('postgres', qq(CREATE DATABASE "$_")) for @installed;

# Restarts the server with a list of libraries, and returns whether it starts.
sub starts_with ($list, $library)
{
	$node->stop('immediate') if defined $node->{_pid};
	unlink $node->data_dir . '/preloaded.conf';
	$node->append_conf('preloaded.conf', "shared_preload_libraries = '$list'\n" . ($conf{$library} // ''));
	return $node->start(fail_ok => 1);
}

for my $library (@installed)
{
	my $list = ($first{$library} // '') . $library;

	if (!starts_with($list, $library))
	{
		($reason{$library}) = slurp_file($node->logfile) =~ /.*FATAL: +(.*)/;
		next;
	}
	for my $order ("$list, seqid", "seqid, $list")
	{
		ok(starts_with($order, $library), "starts with $order");
		used_beside($node, $library, "preloaded: $order",
			$is_extension{$library} ? create($library) : (), 'CREATE EXTENSION seqid');
	}
}

diag(@installed - keys(%reason) . ' of ' . @installed . ' libraries were run');
diag("not run: $_: $reason{$_}") for sort keys %reason;
done_testing();

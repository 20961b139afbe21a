# preloaded.pl
#	  seqid beside each library that other extensions preload.
#
# The server starts with the library before seqid in shared_preload_libraries, and after it.
# Each time the extension is created, keys are generated, and seqid is dropped.  Then
# seqid's regression and isolation tests run beside all of them.  A library with which the
# server does not start without seqid either was not run, and the test prints why.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..", $FindBin::RealBin;
use SeqidNeighbours;
use SeqidTest;

# first: a library that must come before it.  alone: the tests do not run beside it, because
# it decides who can create an extension.
my @libraries = (
	{ library => 'auth_delay' }, { library => 'auto_explain', conf => "auto_explain.log_min_duration = 0\nauto_explain.log_analyze = on" },
	{ library => 'basic_archive' }, { library => 'passwordcheck' }, { library => 'pg_prewarm' }, { library => 'pg_stat_statements', extension => 1 },
	{ library => 'bgw_replstatus' },
	{ library => 'pg_cron', extension => 1, conf => "cron.database_name = '%s'" },
	{ library => 'pg_partman_bgw', conf => "pg_partman_bgw.dbname = '%s'" },
	{ library => 'pg_qualstats', extension => 1, conf => 'pg_qualstats.sample_rate = 1' },
	{ library => 'pg_stat_kcache', extension => 1, first => 'pg_stat_statements' },
	{ library => 'pg_wait_sampling', extension => 1 },
	{ library => 'pgaudit', extension => 1, conf => "pgaudit.log = 'all'" },
	{ library => 'pgauditlogtofile', extension => 1, first => 'pgaudit', conf => "pgaudit.log = 'all'" },
	{ library => 'pgautofailover', extension => 1 },
	{ library => 'pgextwlist', alone => 1 },
	{ library => 'pglogical', extension => 1, conf => "wal_level = logical" },
	{ library => 'pglogical_ticker', first => 'pglogical', conf => "wal_level = logical" },
	{ library => 'plpgsql_check', extension => 1 },
	{ library => 'plprofiler', extension => 1 },
	{ library => 'plugin_debugger' },
	{ library => 'powa', extension => 1, first => 'pg_stat_statements', conf => "powa.database = '%s'" },
	{ library => 'prioritize', extension => 1 },
	{ library => 'repmgr', extension => 1 },
	{ library => 'set_user', extension => 1 },
	{ library => 'sepgsql' });
my ($directory) = run_command([ 'pg_config', '--pkglibdir' ]);
my @installed = grep { -f "$directory/$_->{library}.so" } @libraries;
my $node = new_server('main', extension => 0, conf => "max_worker_processes = 40\ninclude_if_exists = 'preloaded.conf'\n");
my ($ran, %reason) = 0;

# starts_with($list, $database, @entries): starts the server anew, and returns whether it
# does.
sub starts_with ($list, $database, @entries)
{
	my $conf = join "\n", "shared_preload_libraries = '$list'", map { ($_->{conf} // '') =~ s/%s/$database/r } @entries;

	$node->stop('immediate') if defined $node->{_pid};
	unlink $node->data_dir . '/preloaded.conf';
	$node->append_conf('preloaded.conf', $conf);
	return $node->start(fail_ok => 1);
}

# The libraries of these entries, each once.
sub libraries_of (@entries)
{
	my %seen;

	return join ', ', grep { defined && !$seen{$_}++ } map { @$_{qw(first library)} } @entries;
}

my @together;
for my $entry (@installed)
{
	my ($library, $first, $alone) = @$entry{qw(library first alone)};
	my @create = $entry->{extension} ? create($library) : ();
	my $list = join ', ', grep { defined } $first, $library;

	if (!starts_with($list, 'one', $entry))
	{
		($reason{$library}) = slurp_file($node->logfile) =~ /.*FATAL: +(.*)/s;
		$reason{$library} =~ s/\n.*//s;
		next;
	}
	$node->safe_psql('postgres', 'CREATE DATABASE one');
	ok(starts_with("$list, seqid", 'one', $entry), "starts with $list, seqid");
	used_beside($node, 'one', "preloaded: $list, seqid", @create, 'CREATE EXTENSION seqid');
	$node->safe_psql('postgres', 'DROP DATABASE one') if starts_with('', '');
	$node->safe_psql('postgres', 'CREATE DATABASE one');
	ok(starts_with("seqid, $list", 'one', $entry), "starts with seqid, $list");
	used_beside($node, 'one', "preloaded: seqid, $list", 'CREATE EXTENSION seqid', @create);
	$node->safe_psql('postgres', 'DROP DATABASE one') if starts_with('', '');
	$ran++;
	next if $alone;
	if (starts_with(libraries_of(@together, $entry), 'postgres', @together, $entry)) { push @together, $entry; }
	else { $reason{"seqid's tests beside $library"} = 'the server does not start with it and those before it, without seqid either'; }
}

my $list = libraries_of(@together);
for my $list ("$list, seqid", "seqid, $list")
{
	# Workers of some libraries make DROP DATABASE wait.
	starts_with('', '') or die 'the server does not start';
	$node->safe_psql('postgres', "DROP DATABASE IF EXISTS $_") for qw(contrib_regression isolation_regression);
	starts_with($list, 'postgres', @together) or die "the server does not start with $list";
	own_tests_pass($node, $list);
}

diag("$ran of " . @installed . ' libraries were run');
diag("not run: $_: $reason{$_}") for sort keys %reason;
done_testing();

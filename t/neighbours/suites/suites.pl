# suites.pl
#	  The suites of other extensions, without seqid and with it.
#
# Packages of Debian do not contain them, so apt fetches the sources of the packages that are
# installed.  Each suite runs twice by make installcheck: in a server without seqid, and in one
# that preloads seqid and has it in template0 and template1, so that each database of the suite
# has it too.  No test may pass without seqid and fail with it.  A suite that passes no test
# without seqid was not run, and the test prints why.
#
# SEQID_SOURCES names a directory that has sources already, as SOURCE-VERSION.  Their code is
# not changed, so that its faults and needs are the same in both runs.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/../..";
use SeqidTest;
use Cwd qw(getcwd);

# By source package, without a version at its end.  preload, conf: for the server.  make:
# arguments of it, because the suite would otherwise start a server of its own.  differs: the
# cause of what a test prints otherwise.
my %suite = (
	'londiste-sql' => { differs => { londiste_provider => 'it lists all sequences of the database, so seqid.clock_mark too' } },
	'pg-auto-failover' => { preload => 'pgautofailover' },
	'pg-cron' => { preload => 'pg_cron', conf => "cron.database_name = 'contrib_regression'", make => ['REGRESS_OPTS=--dbname=contrib_regression'] },
	'pg-fact-loader' => { preload => 'pglogical, pglogical_ticker', conf => 'wal_level = logical' },
	'pg-qualstats' => { preload => 'pg_stat_statements, pg_qualstats' },
	'pg-stat-kcache' => { preload => 'pg_stat_statements, pg_stat_kcache' },
	'pg-wait-sampling' => { preload => 'pg_stat_statements, pg_wait_sampling' },
	pgaudit => { preload => 'pgaudit' },
	pgauditlogtofile => { preload => 'pgaudit, pgauditlogtofile' },
	pgextwlist => { preload => 'pgextwlist', conf => "extwlist.extensions = 'citext,earthdistance,pg_trgm,pg_stat_statements,refint,hstore'",
		differs => { map { $_ => 'it lists the extensions of the database, so seqid too' } qw(errors pgextwlist) } },
	'pgl-ddl-deploy' => { preload => 'pglogical', conf => 'wal_level = logical' },
	pglogical => { preload => 'pglogical', conf => 'wal_level = logical' },
	'pglogical-ticker' => { preload => 'pglogical, pglogical_ticker', conf => 'wal_level = logical' },
	'plpgsql-check' => { preload => 'plpgsql_check' },
	plprofiler => { preload => 'plprofiler' },
	'postgresql-set-user' => { preload => 'set_user' },
	'powa-archivist' => { preload => 'pg_stat_statements, powa', conf => "powa.frequency = -1" },
	wal2json => { conf => 'wal_level = logical' });

# sources($source, $version, $directory): puts the sources there; false if apt cannot.
sub sources ($source, $version, $directory)
{
	my $given = ($ENV{SEQID_SOURCES} // '') . "/$source-$version";
	return run_log([ 'cp', '-r', $given, $directory ]) if -d $given;

	state $apt = PostgreSQL::Test::Utils::tempdir;
	my @get = ('apt-get', '-qq', map { ('-o', $_) } "Dir::Etc::SourceList=$apt/sources.list", 'Dir::Etc::SourceParts=/dev/null',
		"Dir::State::Lists=$apt/lists", "Dir::Cache=$apt/cache");
	if (!-e "$apt/sources.list")
	{
		my ($list) = run_command([ 'apt-get', 'indextargets', '--format', 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)',
			'Created-By: Packages', 'Origin: Debian' ]);

		append_to_file("$apt/sources.list", "$list\n");
		mkdir "$apt/$_" for qw(lists cache);
		system_or_bail(@get, 'update');
	}
	my $fetched = PostgreSQL::Test::Utils::tempdir;
	my $here = getcwd;
	chdir $fetched or die $!;
	my $done = run_log([ @get, '--download-only', 'source', "$source=$version" ]) && run_log([ 'dpkg-source', '-x', glob('*.dsc'), $directory ]);
	chdir $here or die $!;
	return $done;
}

# The directory of the suite: the first whose Makefile names tests, the top before others.
sub suite_directory ($top)
{
	for my $makefile (grep { -f } map { glob "$top/$_" } 'Makefile', '*/Makefile', '*/*/Makefile')
	{
		return $makefile =~ s|/Makefile$||r if slurp_file($makefile) =~ /^\s*(?:override\s+)?(?:REGRESS|Extension_regress)\s*[:+]?=/m;
	}
	return undef;
}

# A server that is copied for each suite, without seqid or with it in each database to come.
sub model ($with)
{
	state %model;

	return $model{$with} //= do {
		my $node = new_server($with ? 'with' : 'without', extension => 0, conf => "listen_addresses = '127.0.0.1'\nmax_worker_processes = 40\n"
			. "max_prepared_transactions = 10\nlog_statement = none\nlog_line_prefix = '%m [%p] '\n");

		if ($with)
		{
			$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');
			$node->safe_psql($_, 'CREATE EXTENSION seqid') for qw(postgres template0 template1);
			$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS false');
		}
		reconfigure($node, output_plugin_libraries => 'pgoutput, test_decoding, pglogical_output, wal2json, decoderbufs')
		  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
		$node->stop;
		$node->backup_fs_cold('model');
		$node;
	};
}

# run($suite, $top, $with): the tests of a suite that pass, the number of all, and what it
# printed.
sub run ($suite, $top, $with)
{
	state $servers = 0;
	my $libraries = join ', ', grep { defined } ($with ? 'seqid' : undef), $suite->{preload};
	my $node = PostgreSQL::Test::Cluster->new('suite' . ++$servers);
	my $directory = suite_directory($top);

	$node->init_from_backup(model($with), 'model');
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'\n" . ($suite->{conf} // ''));
	$node->start;
	# The variables of the make that runs this test are not for the one that it runs.
	local %ENV = map { $_ => $ENV{$_} } grep { !/^M.*FLAGS$|^MAKE|^TAP_TESTS$/ } keys %ENV;
	local @ENV{qw(PGHOST PGPORT PWD)} = ($node->host, $node->port, $directory);
	my ($out, $err) = run_command([ 'timeout', 1800, 'make', '-C', $directory, 'USE_PGXS=1', 'PG_CONFIG=pg_config', 'with_llvm=no',
		'TAP_TESTS=', @{ $suite->{make} // [] }, 'installcheck' ]);
	my (%passed, $all);
	# Up to 15: "test name ... ok", or "     name ... ok" of parallel ones; then TAP.
	for ("$out\n$err" =~ /^(?:(?:test| {4}) +\S+ +\.\.\. +(?:ok|FAILED)|(?:not )?ok +\d+ +[-+] +\S+)/mg)
	{
		$all++;
		/not ok|FAILED/ or $passed{ /^(?:test)? +(\S+)/ ? $1 : /(\S+)$/ && $1 } = 1;
	}
	if ($with && $all)
	{
		my @databases = split /\n/, $node->safe_psql('postgres', "SELECT datname FROM pg_database WHERE datname <> 'template0'");

		is(join(' ', grep { !$node->safe_psql($_, "SELECT count(*) FROM pg_extension WHERE extname = 'seqid'") } @databases), '',
			'each database has seqid');
	}
	$node->clean_node;
	my ($diffs) = grep { -s } glob("$directory/regression.diffs $directory/*/regression.diffs");
	return (\%passed, $all // 0, "$out\n$err\n" . ($diffs ? slurp_file($diffs) : ''));
}

my ($major) = (run_command([ 'pg_config', '--version' ]))[0] =~ /(\d+)/;
my ($packages) = run_command([ 'dpkg-query', '-W', '-f', '${db:Status-Status} ${source:Package} ${source:Version}\n', "postgresql-$major-*" ]);
my %version = $packages =~ /^installed (\S+) (\S+)$/mg;
my (%reason, $ran);
for my $source (sort keys %version)
{
	my $suite = $suite{ $source =~ s/-[\d.]+$//r } // {};
	my $name = "$source $version{$source}";
	my $top = PostgreSQL::Test::Utils::tempdir . '/source';
	if (!sources($source, $version{$source}, $top)) { $reason{$name} = 'apt does not find the sources'; next; }
	if (!defined suite_directory($top)) { $reason{$name} = 'no suite for make installcheck'; next; }

	my ($without, $all, $printed) = run($suite, $top, 0);
	if (!%$without) { $reason{$name} = 'none of its tests passes without seqid'; note($printed); next; }
	my ($with, undef, $printed_with) = run($suite, $top, 1);
	my $differs = $suite->{differs} // {};
	diag("$name: $_ differs: $differs->{$_}") for sort keys %$differs;
	is(join(' ', grep { !$with->{$_} } sort keys %$without), join(' ', sort keys %$differs), "$name: " . keys(%$without) . " of $all tests pass without seqid, and with it")
	  or diag(substr $printed_with, 0, 20000);
	$ran++;
}
diag(($ran // 0) . ' of ' . keys(%version) . ' suites were run');
diag("not run: $_: $reason{$_}") for sort keys %reason;
done_testing();

# beside.pl
#	  seqid beside each extension that the server can create, and each library that is preloaded.
#
# Each extension is created in a database before seqid, and in another one after it.  Each
# library is in shared_preload_libraries before seqid, and after it.  Then keys are generated,
# and seqid is dropped.  An extension that cannot be created, or a library with which the server
# does not start, without seqid either was not run, and the test prints why.  seqid's regression
# tests run beside all extensions.
#
# The extensions of a server are those of PostgreSQL and of the packages that are installed.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $use = <<'SQL';
CREATE TABLE seqid_orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), word bigint,
	key uuid NOT NULL DEFAULT comb_uuid());
DO $$ BEGIN PERFORM intern_create('seqid_words'); END $$;
INSERT INTO seqid_orders (word) SELECT intern_id('seqid_words', (n % 7)::text) FROM generate_series(1, 100) n;
CALL seqid.horizon();
SELECT count(*) = 100 AND count(DISTINCT key) = 100 AND min(snowflake_shard(id)) = 5 AND max(word) = 6 AS used
  FROM seqid_orders WHERE snowflake_in(id, tstzrange(now() - interval '1 hour', NULL));
DROP TABLE seqid_orders, seqid_words;
SQL

sub create ($extension) { return qq(CREATE EXTENSION IF NOT EXISTS "$extension" CASCADE) }

# answer_of($node, $database, @statements): what they return, and errors in one line.
sub answer_of ($node, $database, @statements)
{
	my ($status, $out, $err) = $node->psql($database,
		join(";\n", 'SET client_min_messages = error', @statements), on_error_stop => 1);

	return join '', $out, map { " $_" } $err =~ /(?:ERROR|FATAL|PANIC|server closed).*/g;
}

# errors_of($node, $database, @statements): their errors, or nothing.
sub errors_of ($node, $database, @statements)
{
	return answer_of($node, $database, @statements) =~ /(?:ERROR|FATAL|PANIC|server closed).*/s ? $& : '';
}

# used_beside($node, $database, $what, @statements): asserts that seqid works after the
# statements and that it can be dropped.
sub used_beside ($node, $database, $what, @statements)
{
	my $answer = answer_of($node, $database, @statements, $use, 'DROP EXTENSION seqid');

	# The horizon, and that all is right.
	like($answer, qr/\n?t$/, $what) or diag($answer);
}

my $node = new_server('main', extension => 0, conf => "wal_level = logical\ninclude_if_exists = 'preloaded.conf'\n");
my %version = split /[|\n]/, $node->safe_psql('postgres',
	"SELECT name, default_version FROM pg_available_extensions WHERE name NOT IN ('seqid', 'plpgsql')");
my %reason;

#
# Extensions
#

for my $extension (sort keys %version)
{
	my $name = "$extension $version{$extension}";

	$node->safe_psql('postgres', "CREATE DATABASE $_") for 'before', 'after';
	my $error = errors_of($node, 'before', create($extension));
	if ($error) { $reason{$name} = $error; }
	else
	{
		used_beside($node, 'before', "$name, created before seqid", 'CREATE EXTENSION seqid');
		used_beside($node, 'after', "$name, created after seqid", 'CREATE EXTENSION seqid', create($extension));
	}
	$node->safe_psql('postgres', "DROP DATABASE $_ WITH (FORCE)") for 'before', 'after';
}

# All of them in one database.  What does not go together is not seqid's.
my @created = grep { !errors_of($node, 'postgres', create($_)) } sort keys %version;
used_beside($node, 'postgres', scalar(@created) . ' extensions in one database', 'CREATE EXTENSION seqid');

# seqid's tests run in copies of template0.  They create pgstattuple themselves, and the event
# triggers of periods and powa fail where the tests take an ordinary role or schemas that hide
# the system's.
$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');
@created = grep { !/^(?:periods|pgstattuple|powa)$/ && !errors_of($node, 'template0', create($_)) } @created;
{
	# The variables of the make that runs this test are not for the one that it runs.
	local %ENV = map { $_ => $ENV{$_} } grep { !/^M.*FLAGS$|^MAKE|^TAP_TESTS$/ } keys %ENV;
	local @ENV{qw(PGHOST PGPORT)} = ($node->host, $node->port);
	command_ok([ 'make', '-s', 'PG_CONFIG=pg_config', 'ISOLATION=', 'installcheck' ],
		"seqid's tests beside " . @created . ' extensions');
}

#
# Libraries
#

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
	powa => "powa.database = 'powa'");
my ($directory) = run_command([ 'pg_config', '--pkglibdir' ]);
my @installed = grep { -f "$directory/$_.so" } @libraries;

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
			$version{$library} ? create($library) : (), 'CREATE EXTENSION seqid');
	}
}

diag(keys(%version) . ' extensions, ' . @installed . ' libraries');
diag("not run: $_: $reason{$_}") for sort keys %reason;
done_testing();

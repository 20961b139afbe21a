# pairs.pl
#	  seqid beside each extension that the server can create.
#
# Each is created in a database before seqid, and in another one after it.  Then keys are
# generated, and seqid is dropped.  An extension that cannot be created without seqid either
# was not run, and the test prints why.  Then seqid's regression tests run beside all of them.
# The extensions of a server are those of PostgreSQL and of the packages that are installed.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..", $FindBin::RealBin;
use SeqidNeighbours;
use SeqidTest;

my $node = new_server('main', extension => 0, conf => "wal_level = logical\n");
my %version = split /[|\n]/, $node->safe_psql('postgres',
	"SELECT name, default_version FROM pg_available_extensions WHERE name NOT IN ('seqid', 'plpgsql')");
my %reason;

for my $extension (sort keys %version)
{
	my $name = "$extension $version{$extension}";

	$node->safe_psql('postgres', 'CREATE DATABASE one');
	if ($reason{$name} = errors_of($node, 'one', create($extension)))
	{
		$node->safe_psql('postgres', 'DROP DATABASE one WITH (FORCE)');
		next;
	}
	delete $reason{$name};
	$node->safe_psql('postgres', 'CREATE DATABASE two');
	used_beside($node, 'one', "$name, created before seqid", 'CREATE EXTENSION seqid');
	used_beside($node, 'two', "$name, created after seqid", 'CREATE EXTENSION seqid', create($extension));
	$node->safe_psql('postgres', "DROP DATABASE $_ WITH (FORCE)") for 'one', 'two';
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

diag(keys(%version) - keys(%reason) . ' of ' . keys(%version) . ' extensions were run');
diag("not run: $_: $reason{$_}") for sort keys %reason;
done_testing();

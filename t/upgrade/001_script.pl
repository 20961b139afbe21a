# ALTER EXTENSION UPDATE from each released version leaves what a new installation creates,
# and keys go on above those that were generated before.
#
# The scripts are files of the server.  The test adds scripts of versions that do not exist,
# to show that the comparison finds what an update has forgotten.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;

my $scripts = SeqidBuild->in_use->{scripts};
my $node = new_server('main', conf => "seqid.shards = '5'", extension => 0);
my $default = outcome($node, "SELECT default_version FROM pg_available_extensions WHERE name = 'seqid'");
my $databases = 0;

sub new_database ($version)
{
	my $database = 'shop_' . ++$databases;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION seqid VERSION '$version'");
	return $database;
}

# The definitions, comments and privileges of all objects of the extension, as pg_upgrade would
# take them to another server.  OIDs and the mark, which differ between databases, are left out.
sub catalog ($database)
{
	my ($dump) = run_command([ 'pg_dump', '--binary-upgrade', '--schema-only', $node->connstr($database) ]);

	$dump =~ s/^SELECT pg_catalog\.binary_upgrade_set_next.*|^\\.*|^(?:SET|-- PostgreSQL database dump complete).*//gm;
	$dump =~ s/'\{[\d,]+\}'/OIDs/g;
	$dump =~ s/\n+/\n/g;
	return map { /(.*?; Type: (?!SEQUENCE SET).*?);/ ? ($1 => $_) : () } split /^--\n-- Name: /m, $dump;
}

# Updates a database that uses the extension.  Returns the names of objects that then differ
# from those of a new one.
sub differences ($from, $to)
{
	my $database = new_database($from);
	# Whether the keys of a new row are above all others.
	my $insert = 'INSERT INTO orders DEFAULT VALUES RETURNING id > (SELECT max(id) FROM orders),
		c > ALL (SELECT c FROM orders)';

	$node->safe_psql($database, <<'SQL');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	c uuid DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(c)),
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
INSERT INTO orders SELECT FROM generate_series(1, 10000);
SELECT intern_create('terms');
SELECT intern_ids('terms', ARRAY['a', 'b']);
SQL
	my $session = SeqidSession->new($node, $database);
	is($session->query($insert), 't|t', "$from to $to: a session generates keys");

	is(outcome($node, $database, "ALTER EXTENSION seqid UPDATE TO '$to'"), '', "$from to $to: updates");
	is($session->query($insert), 't|t', "$from to $to: the session goes on");
	is(outcome($node, $database, $insert), 't|t', "$from to $to: so do others");
	is(outcome($node, $database, "SELECT intern_ids('terms', ARRAY['b', 'a']), script FROM seqid.stat_server"),
		"{0,1}|$to", "$from to $to: dictionaries and the version");
	$session->close;
	$node->safe_psql($database, 'DROP TABLE orders, terms');

	my %updated = catalog($database);
	my %fresh = catalog(new_database($to));
	cmp_ok(keys %fresh, '>', 200, 'there is something to compare');
	return join ', ', grep { ($updated{$_} // '') ne ($fresh{$_} // '') } sort keys %{ { %updated, %fresh } };
}

# Every released version, the last one included.
is(differences($_, $default), '', "$_ to $default: as if it was installed")
  for map { /seqid--((?:(?!--).)+)\.sql$/ } glob "$scripts/seqid--*";

# A next release has another function and another comment.  Each time but the first, its update
# forgets something.
my $script = slurp_file("$scripts/seqid--$default.sql");
my $new = <<'SQL';
CREATE FUNCTION made_up(id bigint) RETURNS int AS 'MODULE_PATHNAME', 'snowflake_shard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON VIEW seqid.stat_shards IS 'shards, so to speak';
SQL
my $release = 0;
for my $case (
	[ '', '' ],
	[ 'FUNCTION comb_uuid(); Type: COMMENT' => "COMMENT ON FUNCTION comb_uuid() IS 'another';\n" ],
	[ 'FUNCTION comb_uuid(); Type: ACL' => "REVOKE EXECUTE ON FUNCTION comb_uuid() FROM PUBLIC;\n" ],
	[ 'TABLE stat_shards; Type: ACL' => "GRANT INSERT ON seqid.stat_shards TO PUBLIC;\n" ],
	[ 'comb_uuid(); Type: FUNCTION' => "ALTER FUNCTION comb_uuid() PARALLEL RESTRICTED;\n" ],
	[ 'made_up; Type: TABLE' => "CREATE TABLE seqid.made_up (id int CHECK (id > 0));\n" ],
	[ 'seqid; Type: EXTENSION' => "SELECT pg_catalog.pg_extension_config_dump('seqid.clock_mark', 'WHERE true');\n" ])
{
	my ($object, $forgotten) = @$case;
	my $version = 'made-up-' . ++$release;

	append_to_file("$scripts/seqid--$version.sql", "$script$new$forgotten");
	append_to_file("$scripts/seqid--$default--$version.sql", $new);
	is(differences($default, $version), $object, 'an update forgets ' . ($object || 'nothing'));
}
$node->stop;

done_testing();

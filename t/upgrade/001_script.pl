# ALTER EXTENSION UPDATE from each released version leaves what a new installation creates,
# and keys go on above those that were generated before.
#
# The scripts are files of the server.  The test adds scripts of versions that do not exist,
# to show that the comparison finds what an update has forgotten.

use v5.36;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/..";
use SeqidTest;
use SeqidFiles;

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
	return [ sort grep { !/; Type: SEQUENCE SET;/ } split /^--\n-- Name: /m, $dump ];
}

# Objects that use the extension.
my $use = <<'SQL';
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	c uuid DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(c)),
	short bigint DEFAULT snowflake53_nextval(5),
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
INSERT INTO orders SELECT FROM generate_series(1, 10000);
SELECT intern_create('terms');
SELECT intern_ids('terms', ARRAY['a', 'b']);
SQL

# Whether the keys of a new row are above all others.
my $insert = 'INSERT INTO orders DEFAULT VALUES RETURNING id > (SELECT max(id) FROM orders),
	c > ALL (SELECT c FROM orders), short > (SELECT max(short) FROM orders)';

# Updates a database, and returns what its catalogs have then.
sub update_database ($from, $to)
{
	my $database = new_database($from);

	$node->safe_psql($database, $use);
	my $session = SeqidSession->new($node, $database);
	is($session->query($insert), 't|t|t', "$from to $to: a session generates keys");

	is(outcome($node, $database, "ALTER EXTENSION seqid UPDATE TO '$to'"), '', "$from to $to: updates");
	is($session->query($insert), 't|t|t', "$from to $to: the session goes on");
	is(outcome($node, $database, $insert), 't|t|t', "$from to $to: so do others");
	is(outcome($node, $database, "SELECT intern_ids('terms', ARRAY['b', 'a']), script FROM seqid.stat_server"),
		"{0,1}|$to", "$from to $to: dictionaries and the version");
	$session->close;
	$node->safe_psql($database, 'DROP TABLE orders, terms');
	return catalog($database);
}

# Those that are in one list only.
sub differences ($one, $other)
{
	my %count;

	$count{$_}++ for @$one;
	$count{$_}-- for @$other;
	return [ grep { $count{$_} } sort keys %count ];
}

# Every released version, the last one included.
my $fresh = catalog(new_database($default));
cmp_ok(scalar @$fresh, '>', 200, 'there is something to compare');
for my $from (scripts())
{
	is_deeply(differences(update_database($from, $default), $fresh),
		[], "$from to $default: as if it was installed");
}

# A next release, with another function and another comment.
my $old_script = slurp_file(script($default));
my $new_function = <<'SQL';
CREATE FUNCTION made_up(id bigint) RETURNS int AS 'MODULE_PATHNAME', 'snowflake_shard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION made_up(bigint) IS 'shard of a snowflake id';
SQL
my $new_comment = "COMMENT ON VIEW seqid.stat_shards IS 'shards, so to speak';\n";
my $new_script = $old_script =~ s/COMMENT ON VIEW seqid.stat_shards IS\s+'.*?';\n/$new_comment/sr;
isnt($new_script, $old_script, 'the made-up release has another comment');

put_text($new_script . $new_function, script('made-up'));
put_text($new_function . $new_comment, script($default, 'made-up'));
is_deeply(differences(update_database($default, 'made-up'), catalog(new_database('made-up'))),
	[], 'a complete update is as if it was installed');

# One that forgets something: each time, that and nothing else differs.
for my $case (
	[ 'a comment', "COMMENT ON FUNCTION snowflake_shard(bigint) IS 'another';\n", qr/^FUNCTION snowflake_shard\(id bigint\); Type: COMMENT/ ],
	[ 'a privilege of a function', "REVOKE EXECUTE ON FUNCTION comb_uuid() FROM PUBLIC;\n", qr/^FUNCTION comb_uuid\(\); Type: ACL/ ],
	[ 'a privilege of a view', "GRANT INSERT ON seqid.stat_shards TO PUBLIC;\n", qr/^TABLE stat_shards; Type: ACL/ ],
	[ 'a label', "ALTER FUNCTION comb_uuid() PARALLEL RESTRICTED;\n", qr/^comb_uuid\(\); Type: FUNCTION/ ],
	[ 'a table', "CREATE TABLE seqid.made_up (id int CHECK (id > 0));\n", qr/^made_up; Type: TABLE/ ],
	[ 'what is dumped', "SELECT pg_catalog.pg_extension_config_dump('seqid.clock_mark', 'WHERE true');\n", qr/^seqid; Type: EXTENSION/ ])
{
	my ($what, $forgotten, $line) = @$case;

	put_text("$new_script$new_function$forgotten", script('forgetful'));
	put_text($new_function . $new_comment, script($default, 'forgetful'));
	my $differences = differences(update_database($default, 'forgetful'), catalog(new_database('forgetful')));
	ok(@$differences > 0 && !(grep { $_ !~ $line } @$differences), "an update that forgets $what is found")
	  or diag explain $differences;
}
$node->stop;

done_testing();

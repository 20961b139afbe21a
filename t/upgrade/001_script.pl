# ALTER EXTENSION UPDATE from each released version leaves what a fresh install makes,
# and keys go on above those that were drawn before.
#
# The scripts are files of the server, to which the test adds some that nobody has
# released: they show that the comparison sees what an update has forgotten.

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/..";
use SeqidTest;
use SeqidCatalog;
use SeqidFiles;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nseqid.shards = '5'");
$node->start;

my $default = $node->safe_psql('postgres',
	"SELECT default_version FROM pg_available_extensions WHERE name = 'seqid'");
my $databases = 0;

sub new_database
{
	my ($version) = @_;
	my $database = 'shop_' . ++$databases;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION seqid VERSION '$version'");
	return $database;
}

# What a database has that uses the extension.
my $use = <<'SQL';
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	c uuid DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(c)),
	short bigint DEFAULT snowflake53_nextval(5),
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
INSERT INTO orders SELECT FROM generate_series(1, 10000);
SELECT intern_create('terms');
SELECT intern_ids('terms', ARRAY['a', 'b']);
SELECT seqid.shard_claim('shop', 8);
SQL

# Whether a row's keys are above all others.
my $insert = 'INSERT INTO orders DEFAULT VALUES RETURNING id > (SELECT max(id) FROM orders),
	c > ALL (SELECT c FROM orders), short > (SELECT max(short) FROM orders)';

# Updates a database; returns what is in its catalogs then.
sub update_database
{
	my ($from, $to) = @_;
	my $database = new_database($from);

	$node->safe_psql($database, $use);
	my $session = SeqidSession->new($node, $database);
	is($session->query($insert), 't|t|t', "$from to $to: a session draws");

	is(full_outcome($node, $database, "ALTER EXTENSION seqid UPDATE TO '$to'"), '', "$from to $to: updates");
	is($session->query($insert), 't|t|t', "$from to $to: the session goes on");
	is($node->safe_psql($database, $insert), 't|t|t', "$from to $to: so do others");
	is($node->safe_psql($database, "SELECT intern_ids('terms', ARRAY['b', 'a'])"),
		'{1,0}', "$from to $to: dictionaries keep their ids");
	is($node->safe_psql($database, "SELECT seqid.shard_claim('shop', 8)"), '0-7', "$from to $to: and owners their shards");
	is($node->safe_psql($database, 'SELECT script FROM seqid.version()'), $to, "$from to $to: seqid.version() tells");
	$session->close;
	return catalog($node, $database);
}

# The lines that only one of the lists has.
sub differences
{
	my ($one, $other) = @_;
	my %count;

	$count{$_}++ for @$one;
	$count{$_}-- for @$other;
	return [ grep { $count{$_} } sort keys %count ];
}

# Every version that was released, the last one included.
my $fresh = catalog($node, new_database($default));
cmp_ok(scalar @$fresh, '>', 300, 'the catalogs have something to compare');
for my $from (scripts())
{
	is_deeply(differences(update_database($from, $default), $fresh),
		[], "$from to $default: as if it was installed");
}

# The next release, which nobody has made: a function, and another comment.
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
is_deeply(
	differences(update_database($default, 'made-up'), catalog($node, new_database('made-up'))),
	[], 'an update that does all is as if it was installed');

# One that forgets something: each time, that and nothing else is seen.
for my $case (
	[ 'a comment', "COMMENT ON FUNCTION snowflake_shard(bigint) IS 'another';\n", qr/^function snowflake_shard\(bigint\) \| comment \| / ],
	[ 'a privilege of a function', "REVOKE EXECUTE ON FUNCTION comb_uuid() FROM PUBLIC;\n", qr/^function comb_uuid\(\) \| privileges \| =X/ ],
	[ 'a privilege of a view', "GRANT INSERT ON seqid.stat_shards TO PUBLIC;\n", qr/^view seqid.stat_shards \| privileges \| =/ ],
	[ 'a label', "ALTER FUNCTION comb_uuid() PARALLEL RESTRICTED;\n", qr/^function comb_uuid\(\) \| definition \| / ],
	[ 'a column', "ALTER TABLE seqid.shard_registry ADD note text;\n", qr/^(table seqid.shard_registry \| column \| .*note|type seqid.shard_registry)/ ],
	[ 'a constraint', "ALTER TABLE seqid.shard_registry ADD CHECK (owner <> '');\n", qr/^table seqid.shard_registry \| constraint \| / ],
	[ 'what is dumped', "SELECT pg_catalog.pg_extension_config_dump('seqid.shard_registry', 'WHERE true');\n", qr/^extension \| dumps \| / ])
{
	my ($what, $forgotten, $line) = @$case;

	put_text("$new_script$new_function$forgotten", script('forgetful'));
	put_text($new_function . $new_comment, script($default, 'forgetful'));
	my $differences = differences(update_database($default, 'forgetful'), catalog($node, new_database('forgetful')));
	ok(@$differences > 0 && !(grep { $_ !~ $line } @$differences), "an update that forgets $what is noticed")
	  or diag explain $differences;
}
$node->stop;

done_testing();

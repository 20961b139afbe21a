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

# All that the catalogs have of the extension, as lines to compare, with names instead of
# OIDs, which differ between databases.
my $query = <<'SQL';
WITH extension AS (
	SELECT * FROM pg_extension WHERE extname = 'seqid'
), member AS (
	SELECT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS name
	  FROM extension e JOIN pg_depend d ON d.refobjid = e.oid
	 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
), relation AS (
	SELECT m.name, c.* FROM member m JOIN pg_class c ON c.oid = m.objid
	 WHERE m.classid = 'pg_class'::regclass
), line(name, kind, value) AS (
	SELECT 'extension', 'version, schema, control', row(extversion, extnamespace::regnamespace, extrelocatable)::text
	  FROM extension
	UNION ALL
	SELECT 'extension', 'dumps', row(c.oid::regclass, e.extcondition[n])::text
	  FROM extension e, unnest(e.extconfig) WITH ORDINALITY u(oid, n) JOIN pg_class c USING (oid)
	UNION ALL
	SELECT name, 'comment', coalesce(obj_description(objid, classid::regclass::name), 'none') FROM member
	UNION ALL
	SELECT m.name, 'definition', row(pg_get_functiondef(p.oid), p.proowner::regrole)::text
	  FROM member m JOIN pg_proc p ON p.oid = m.objid
	 WHERE m.classid = 'pg_proc'::regclass
	UNION ALL
	SELECT m.name, 'privileges', acl::text
	  FROM member m JOIN pg_proc p ON p.oid = m.objid, unnest(coalesce(p.proacl, acldefault('f', p.proowner))) AS acl
	 WHERE m.classid = 'pg_proc'::regclass
	UNION ALL
	SELECT name, 'definition', row(relkind, relpersistence, relowner::regrole, reloptions)::text FROM relation
	UNION ALL
	SELECT name, 'privileges', acl::text
	  FROM relation, unnest(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))) AS acl
	UNION ALL
	SELECT name, 'query', pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
	UNION ALL
	SELECT name, 'sequence', row(seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle)::text
	  FROM relation JOIN pg_sequence ON seqrelid = oid
	UNION ALL
	SELECT r.name, 'column', row(row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum), a.attname,
			format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attacl,
			pg_get_expr(f.adbin, f.adrelid), col_description(r.oid, a.attnum))::text
	  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
	  LEFT JOIN pg_attrdef f ON f.adrelid = r.oid AND f.adnum = a.attnum
	UNION ALL
	SELECT r.name, 'constraint', row(conname, pg_get_constraintdef(n.oid))::text
	  FROM relation r JOIN pg_constraint n ON n.conrelid = r.oid
	UNION ALL
	SELECT r.name, 'index', pg_get_indexdef(indexrelid) FROM relation r JOIN pg_index ON indrelid = r.oid
)
SELECT concat_ws(' | ', name, kind, regexp_replace(value, '\s+', ' ', 'g')) FROM line
SQL

sub catalog ($database)
{
	return [ sort split /\n/, $node->safe_psql($database, $query) ];
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
	return catalog($database);
}

# Lines that are in one list only.
sub differences ($one, $other)
{
	my %count;

	$count{$_}++ for @$one;
	$count{$_}-- for @$other;
	return [ grep { $count{$_} } sort keys %count ];
}

# Every released version, the last one included.
my $fresh = catalog(new_database($default));
cmp_ok(scalar @$fresh, '>', 300, 'the catalogs have something to compare');
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
	[ 'a comment', "COMMENT ON FUNCTION snowflake_shard(bigint) IS 'another';\n", qr/^function snowflake_shard\(bigint\) \| comment \| / ],
	[ 'a privilege of a function', "REVOKE EXECUTE ON FUNCTION comb_uuid() FROM PUBLIC;\n", qr/^function comb_uuid\(\) \| privileges \| =X/ ],
	[ 'a privilege of a view', "GRANT INSERT ON seqid.stat_shards TO PUBLIC;\n", qr/^view seqid.stat_shards \| privileges \| =/ ],
	[ 'a label', "ALTER FUNCTION comb_uuid() PARALLEL RESTRICTED;\n", qr/^function comb_uuid\(\) \| definition \| / ],
	[ 'a table', "CREATE TABLE seqid.made_up (id int CHECK (id > 0));\n", qr/^(table|type) seqid.made_up\b/ ],
	[ 'what is dumped', "SELECT pg_catalog.pg_extension_config_dump('seqid.clock_mark', 'WHERE true');\n", qr/^extension \| dumps \| / ])
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

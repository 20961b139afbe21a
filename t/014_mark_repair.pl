# The mark is missing, damaged or out of range: keys are refused, and go on above the last
# ones when seqid.repair_mark() has replaced it.  Objects that use the extension stay.
#
# SQL cannot damage a file, and the value of a new mark shows after a crash with the clock
# behind.  (013_owner_dump.pl restores dumps.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $owner = 'regress_seqid_owner';
my $node = new_server('main', clock => $clock, extension => 0);

sub shop ($sql)
{
	return outcome($node, 'shop', $sql);
}

sub as_owner ($sql)
{
	return shop("SET ROLE $owner;\n$sql");
}

# Whether the keys of a new row are above all others.
my $insert = 'INSERT INTO orders DEFAULT VALUES
	RETURNING id > (SELECT coalesce(max(id), 0) FROM orders) AND c > ALL (SELECT c FROM orders)';

# Sets the clock right, and returns an id that no row keeps, and that is later than the clock.
sub last_id
{
	$clock->set('+0s');
	return shop('SELECT max(snowflake_nextblock(5, 4096)) + 4095 FROM generate_series(1, 100)');
}

# The new mark is in the place of the old one, in every respect.
sub check_place ($what)
{
	is(shop(<<SQL), 'S|p|t|e extension seqid, n schema seqid|t|t|t|f', "$what: the mark is in its place");
SELECT relkind, relpersistence, relowner = 10,
       (SELECT string_agg(format('%s %s', deptype, pg_describe_object(refclassid, refobjid, 0)), ', ' ORDER BY deptype)
          FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = mark.oid),
       (SELECT extconfig = ARRAY[mark.oid] FROM pg_extension WHERE extname = 'seqid'),
       has_sequence_privilege('$owner', mark.oid, 'UPDATE'),
       has_sequence_privilege('regress_seqid_user', mark.oid, 'SELECT'),
       has_sequence_privilege('regress_seqid_user', mark.oid, 'UPDATE')
  FROM pg_class mark WHERE mark.oid = to_regclass('seqid.clock_mark')
SQL
	is(as_owner('SELECT count(*) > 0, bool_and(shard = 5), bool_and(made = snowflake_timestamp(id)) FROM recent'),
		't|t|t', "$what: objects that use the extension are there");
}

# Repairs a mark while the clock is behind.
sub check_repair ($what, $state, $last)
{
	is(shop($_), $state, "$what: refused: $_") for 'SELECT snowflake_nextval(5)', 'SELECT comb_uuid()';
	is(as_owner('SELECT seqid.repair_mark()'), '42501', "$what: the owner cannot repair it");
	is(shop("SELECT seqid.repair_mark() >= snowflake_timestamp($last)"), 't', "$what: the new mark is not below the last key");
	check_place($what);

	# No key was generated since: only the mark covers the last ones.
	$clock->crash($node, '-5s');
	cmp_ok(shop('SELECT snowflake_nextval(5)'), '>', $last, "$what: ids go on after a crash");
	is(as_owner($insert), 't', "$what: rows go on");
	is(shop('SELECT seqid.repair_mark() = clock_mark FROM seqid.stat_database'), 't', "$what: a sound mark stays");
}

# A database that an ordinary role owns, and uses the extension in.
$node->safe_psql('postgres', $_)
  for "CREATE ROLE $owner LOGIN; CREATE ROLE regress_seqid_user LOGIN", "CREATE DATABASE shop OWNER $owner";
as_owner(<<'SQL');
CREATE EXTENSION seqid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	c uuid DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(c)),
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
CREATE VIEW recent AS SELECT id, snowflake_shard(id) AS shard, made FROM orders;
INSERT INTO orders DEFAULT VALUES;
SQL

#
# What SQL can do to the mark, in a running server whose clock is then set back.
#
my $drop = 'ALTER EXTENSION seqid DROP SEQUENCE seqid.clock_mark; DROP SEQUENCE seqid.clock_mark';
my $set = 'ALTER SEQUENCE seqid.clock_mark MINVALUE -10; SELECT setval(\'seqid.clock_mark\', %s)';
for my $case (
	[ 'missing, not alone', "CREATE SEQUENCE mine; ALTER EXTENSION seqid ADD SEQUENCE mine; $drop", '55000' ],
	[ 'renamed', 'ALTER SEQUENCE seqid.clock_mark RENAME TO elsewhere', '55000' ],
	[ 'moved to pg_catalog', 'ALTER SEQUENCE seqid.clock_mark SET SCHEMA pg_catalog', '55000' ],
	[ 'set to -5', sprintf($set, -5), 'XX001' ],
	[ 'set past the end', sprintf($set, '3000000000000000'), 'XX001' ],
	[ 'set to the last bigint', sprintf($set, '9223372036854775807'), 'XX001' ],
	[ 'moved, with another owner', "CREATE SCHEMA ids AUTHORIZATION $owner; ALTER SEQUENCE seqid.clock_mark SET SCHEMA ids;
		ALTER SEQUENCE ids.clock_mark OWNER TO $owner", '55000' ])
{
	my ($what, $damage, $state) = @$case;

	my $last = last_id();
	my $session = SeqidSession->new($node, 'shop');
	$session->query('SELECT snowflake_nextval(6)');
	shop($damage);
	$clock->set('-5s');
	is($session->outcome('SELECT snowflake_nextval(6)'), $state, "$what: a session that was there is refused");
	check_repair($what, $state, $last);
	$session->abandon;
}

is(shop("SELECT seqid.rewrite_mark('mine')"), '42809', 'another sequence of the extension: is not written');
is(shop('SELECT last_value, is_called FROM mine'), '1|f', 'another sequence of the extension: has its value still');

# Lower than the running server knows.
last_id();
as_owner("SELECT setval('seqid.clock_mark', 0)");
is(shop("SELECT seqid.repair_mark() > now() - interval '1s'"), 't', 'set to 0: raised to what is known');

# A database whose clock was fast does not matter to another.
add_database($node, 'hasty');
$clock->set('+1d');
$node->safe_psql('hasty', 'SELECT snowflake_nextval(700)');
$clock->set('+0s');
shop($drop);
is(shop("SELECT seqid.repair_mark() < now() + interval '1h'"), 't', 'a fast clock elsewhere: does not matter');
$node->safe_psql('postgres', 'DROP DATABASE hasty');

# In a transaction that is rolled back, and for a session that was there before.
{
	my $session = SeqidSession->new($node, 'shop');
	my $last = last_id();
	$session->query('SELECT snowflake_nextval(6)');
	shop($drop);
	is(shop('SELECT clock_mark, clock_floor, marks_written > 0, count(uuid_time_nextval()) OVER () FROM seqid.stat_database'),
		'||t|1', 'missing: statistics show the rest, and other keys go on');
	is(shop('CREATE TEMP SEQUENCE clock_mark; SELECT snowflake_nextval(5)'), '55000', 'missing: a temporary sequence is not found');
	like(shop("BEGIN; SELECT seqid.repair_mark(); SELECT snowflake_nextval(5) > $last; ROLLBACK"), qr/^t$/m, 'rolled back: ids go on within');
	is(shop('SELECT snowflake_nextval(5)'), '55000', 'rolled back: it is missing again');
	shop('SELECT seqid.repair_mark()');
	is($session->outcome("SELECT snowflake_nextval(5) > $last"), 't', 'repaired: a session goes on');
	$session->close;
	check_place('rolled back, repaired');
}

#
# What happens to files while the server is down.  The clock is behind when it starts, and
# only the control file knows how late it was.  With checksums, the server itself refuses any
# damaged page, as it does here if the header is.
#
my %damage = (
	'magic number' => sub { substr($_[0], 8192 - 8, 4) = pack 'L', 0xdeadbeef },
	'page header' => sub { substr($_[0], 16, 2) = pack 'S', 60000 },
	'zeros' => sub { $_[0] = "\0" x 8192 },
	'empty' => sub { $_[0] = '' },
	# beyond the page, with its length and its flags as they were
	'line pointer' => sub { substr($_[0], 24, 4) = pack 'L', unpack('L', substr $_[0], 24, 4) & ~0x7fff | 20000 });
for my $what (sort keys %damage)
{
	my $last = last_id();
	as_owner($insert);
	my $file = $node->data_dir . '/' . shop("SELECT pg_relation_filepath('seqid.clock_mark')");

	# A checkpoint has its time in whole seconds: it must be after that of the keys.
	$node->poll_query_until('shop', "SELECT clock_timestamp() > snowflake_timestamp(max(id)) + interval '1 s' FROM orders")
	  or die 'the clock stands still';
	$node->stop;
	my $page = slurp_file($file);
	is(unpack('L', substr $page, 8192 - 8, 4), 0x1717, "$what: the file is a sequence's");
	$damage{$what}->($page);
	unlink $file;
	append_to_file($file, $page);
	$clock->set('-3s');
	$clock->start($node);
	check_repair($what, 'XX001', $last);
}

#
# A table in its place.
#
shop('ALTER SEQUENCE seqid.clock_mark RENAME TO elsewhere;
	CREATE TABLE seqid.clock_mark (last_value bigint); INSERT INTO seqid.clock_mark VALUES (7)');
like(($node->psql('shop', "\\set VERBOSITY verbose\nSELECT seqid.repair_mark()"))[2],
	qr/ERROR:  42809: .*HINT: /s, 'a table in its place: refused, with a hint');
is(shop('SELECT * FROM seqid.clock_mark'), '7', 'a table in its place: is not touched');
is(shop('SELECT snowflake_nextval(5)'), '42809', 'a table in its place: no ids');
shop('DROP TABLE seqid.clock_mark; ALTER SEQUENCE seqid.elsewhere RENAME TO clock_mark');
is(as_owner($insert), 't', 'a table in its place: ids go on when it is gone');

#
# A sound mark stays as it is, also one that is far ahead.
#
my $mark = 'SELECT last_value, log_cnt, is_called FROM seqid.clock_mark';
$clock->set('+0s');
shop('SELECT snowflake_nextval(5)');
for my $days (0, 30)
{
	shop("SELECT setval('seqid.clock_mark', last_value + $days * 86400000::bigint) FROM seqid.clock_mark") if $days;
	my $before = shop($mark);
	is(shop("SELECT round(extract(epoch FROM seqid.repair_mark()) * 1000) = last_value FROM seqid.clock_mark"),
		't', "sound, $days days ahead: its value is returned");
	is(shop($mark), $before, "sound, $days days ahead: it is not changed");
}
is(shop("SET seqid.max_lead = '31d'; SELECT snowflake_timestamp(snowflake_nextval(5)) > now() + interval '29d'"),
	't', 'far ahead: it is in force, and a large limit lets ids go on from there');

$node->stop;
done_testing();

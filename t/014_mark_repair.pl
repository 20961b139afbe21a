# The mark is missing, damaged or holds nonsense: keys are refused, and go on
# above the last ones when seqid.repair_mark() has made it anew.  What uses the
# extension is still there.
#
# A damaged file is out of the reach of SQL, and what a new mark is worth shows
# after a crash with the clock behind.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $owner = 'regress_seqid_owner';
my $directory = PostgreSQL::Test::Utils::tempdir;
my ($node, $restored) = (undef, 0);

sub as_owner
{
	my ($sql) = @_;

	return full_outcome($node, 'shop', "SET ROLE $owner;\n$sql");
}

# A server with a database that belongs to somebody who is no superuser.
sub new_node
{
	my ($name, @init) = @_;

	$clock->set('+0s');
	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1, @init);
	$node->append_conf('postgresql.conf', 'autovacuum = off');
	$clock->start($node);
	$node->safe_psql('postgres', "CREATE ROLE $owner LOGIN; CREATE ROLE regress_seqid_user LOGIN");
	$node->safe_psql('postgres', "CREATE DATABASE shop OWNER $owner");
	is(as_owner(<<'SQL'), '', "$name: a database that uses the extension");
CREATE EXTENSION seqid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
	c uuid DEFAULT comb_uuid() CHECK (comb_uuid_is_valid(c)),
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
CREATE VIEW recent AS SELECT id, snowflake_shard(id) AS shard, made FROM orders;
SQL
	return;
}

# Puts a row into the table, and tells whether its keys are above all others.
my $insert = 'INSERT INTO orders DEFAULT VALUES
	RETURNING id > (SELECT coalesce(max(id), 0) FROM orders) AND c > ALL (SELECT c FROM orders)';

# Ids that nobody keeps, so that the last one is further than the clock's.
sub draw
{
	return full_outcome($node, 'shop', 'SELECT max(snowflake_nextblock(5, 4096)) + 4095 FROM generate_series(1, 100)');
}

# A checkpoint tells a time in whole seconds: from now on, one is after the keys
# that were drawn, and these may be ahead of the clock.
sub wait_for_second_after
{
	my ($id, $comb) = @_;

	# Where nothing was drawn, other tests have told.
	return if "$id $comb" !~ /^\d+ [0-9a-f-]+$/;
	my $second = full_outcome($node, 'shop', "SELECT floor(extract(epoch FROM greatest(snowflake_timestamp($id), comb_uuid_timestamp('$comb'))))");

	$node->poll_query_until('shop', "SELECT floor(extract(epoch FROM clock_timestamp())) > $second")
	  or die 'the clock stands still';
	return;
}

# The new mark is in the place of the old one, in every respect.
sub check_place
{
	my ($what) = @_;
	my $name = 'seqid.clock_mark';

	is( full_outcome($node, 'shop', "SELECT relkind, relpersistence, pg_get_userbyid(relowner) = pg_get_userbyid(10)
			FROM pg_class WHERE oid = to_regclass('$name')"),
		'S|p|t', "$what: it is a sequence, and the superuser's");
	is( full_outcome($node, 'shop', "SELECT count(*) FROM pg_depend d JOIN pg_extension e ON e.oid = refobjid
			WHERE refclassid = 'pg_extension'::regclass AND extname = 'seqid' AND d.deptype = 'e'
			AND classid = 'pg_class'::regclass AND objid = to_regclass('$name')"),
		'1', "$what: it is the extension's");
	is( full_outcome($node, 'shop', "SELECT has_sequence_privilege('$owner', '$name', 'UPDATE'),
			has_sequence_privilege('regress_seqid_user', '$name', 'SELECT'),
			has_sequence_privilege('regress_seqid_user', '$name', 'UPDATE')"),
		't|t|f', "$what: the owner may restore it, and everybody look");
	is(as_owner("SELECT count(*) > 0, bool_and(shard = 5), bool_and(made = snowflake_timestamp(id)) FROM recent"),
		't|t|t', "$what: what uses the extension is there");
	return;
}

# A dump has the mark, and can be restored by the owner.
sub check_dump
{
	my ($what) = @_;
	my $file = "$directory/dump";
	my $copy = 'restored_' . ++$restored;

	command_ok([ 'pg_dump', '--file', $file, $node->connstr('shop') . " user=$owner" ], "$what: dumps");
	ok(slurp_file($file) =~ /setval\('seqid\.clock_mark', \d{13}, true\)/,
		"$what: the dump has the mark");
	$node->safe_psql('postgres', "CREATE DATABASE $copy OWNER $owner");
	command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($copy) . " user=$owner" ],
		"$what: restores");
	return;
}

# Repairs what was done to the mark; the clock is behind when it is.
sub check_repair
{
	my ($what, $refused, $last) = @_;

	# Where pages have checksums, which is the default from 18 on, the server
	# finds damage before we do, and says so in other words.
	like(full_outcome($node, 'shop', "SELECT snowflake_nextval(5)"), $refused, "$what: snowflakes are refused");
	like(full_outcome($node, 'shop', "SELECT comb_uuid()"), $refused, "$what: combs are refused");
	like(as_owner("SELECT seqid.repair_mark()"), qr/^42501: /, "$what: the owner cannot repair it");
	like(full_outcome($node, 'shop', "SELECT comb_uuid()"), $refused, "$what: combs are still refused");
	is( full_outcome($node, 'shop', "SELECT seqid.repair_mark() >= snowflake_timestamp($last)"),
		't', "$what: the new mark is not below the last key");
	check_place($what);

	# Nothing was drawn since: the mark alone must tell.
	$clock->crash($node, '-5s');
	cmp_ok(full_outcome($node, 'shop', "SELECT snowflake_nextval(5)") =~ s/^(?!\d+$).*/0/sr,
		'>', $last, "$what: ids go on after a crash");
	is(as_owner($insert), 't', "$what: rows go on");
	check_dump($what);
	is(full_outcome($node, 'shop', "SELECT seqid.repair_mark() = clock_mark FROM seqid.stat_database"),
		't', "$what: there is nothing to repair any more");
	return;
}

new_node('main');
is(as_owner($insert), 't', 'the first row');

#
# What SQL can do to the mark, in a running server whose clock is then set back.
#
my $drop = 'ALTER EXTENSION seqid DROP SEQUENCE seqid.clock_mark; DROP SEQUENCE seqid.clock_mark';
my $set = 'ALTER SEQUENCE seqid.clock_mark MINVALUE -10; SELECT setval(\'seqid.clock_mark\', %s)';
for my $case (
	[ 'missing', $drop, qr/^55000: / ],
	[ 'renamed', 'ALTER SEQUENCE seqid.clock_mark RENAME TO elsewhere', qr/^55000: / ],
	[ 'set to -5', sprintf($set, -5), qr/^XX001: / ],
	[ 'set to the last bigint', sprintf($set, '9223372036854775807'), qr/^XX001: / ],
	[ 'moved', "CREATE SCHEMA ids AUTHORIZATION $owner; ALTER SEQUENCE seqid.clock_mark SET SCHEMA ids", qr/^55000: / ])
{
	my ($what, $damage, $refused) = @$case;

	$clock->set('+0s');
	my $session = SeqidSession->new($node, 'shop');
	my $last = draw();
	$session->query('SELECT snowflake_nextval(6)');
	full_outcome($node, 'shop', $damage);
	$clock->set('-5s');
	unlike($session->query('SELECT snowflake_nextval(6)'),
		qr/\d/, "$what: a session that was there is refused");
	check_repair($what, $refused, $last);
	$session->abandon;
}

# The owner has put a sequence of his own into the extension: it is not the mark.
{
	$clock->set('+0s');
	my $last = draw();
	as_owner('CREATE SEQUENCE mine; SELECT nextval(\'mine\'); ALTER EXTENSION seqid ADD SEQUENCE mine');
	is(full_outcome($node, 'shop', 'SELECT seqid.repair_mark() = clock_mark FROM seqid.stat_database'), 't',
		'another sequence: a sound mark stays');
	like(full_outcome($node, 'shop', "SELECT seqid.rewrite_mark('mine')"), qr/^42809: /,
		'another sequence: is not written');
	is(full_outcome($node, 'shop', 'SELECT last_value FROM mine'), '1', 'another sequence: has its value still');
	full_outcome($node, 'shop', $drop);
	$clock->set('-5s');
	is(full_outcome($node, 'shop', 'SELECT seqid.repair_mark() > now()'), 't', 'another sequence: is not taken for the mark');
	$clock->crash($node);
	cmp_ok(full_outcome($node, 'shop', 'SELECT snowflake_nextval(5)'), '>', $last, 'another sequence: ids go on after a crash');
	full_outcome($node, 'shop', 'ALTER EXTENSION seqid DROP SEQUENCE mine; DROP SEQUENCE mine');
	check_place('another sequence');
}

# Lower than what this life of the server knows: by an owner who sets it.
{
	$clock->set('+0s');
	my $last = draw();
	as_owner("SELECT setval('seqid.clock_mark', 0)");
	is(full_outcome($node, 'shop', "SELECT seqid.repair_mark() > now() - interval '1s'"), 't', 'set to 0: raised to what is known');
}

# Of another database's clock it is no business.
{
	$node->safe_psql('postgres', 'CREATE DATABASE hasty');
	$node->safe_psql('hasty', 'CREATE EXTENSION seqid');
	$clock->set('+1d');
	$node->safe_psql('hasty', 'SELECT snowflake_nextval(700)');
	$clock->set('+0s');
	full_outcome($node, 'shop', $drop);
	is(full_outcome($node, 'shop', "SELECT seqid.repair_mark() < now() + interval '1h'"), 't', 'a fast clock elsewhere: does not matter');
	like(full_outcome($node, 'shop', 'SELECT snowflake_nextval(5)'), qr/^\d+$/, 'a fast clock elsewhere: ids go on');
	$node->safe_psql('postgres', 'DROP DATABASE hasty');
}

# In a transaction that is rolled back, and for a session that was there before.
{
	$clock->set('+0s');
	my $session = SeqidSession->new($node, 'shop');
	my $last = draw();

	$session->query('SELECT snowflake_nextval(6)');
	full_outcome($node, 'shop', $drop);
	like(full_outcome($node, 'shop', 'BEGIN; SELECT seqid.repair_mark(); SELECT snowflake_nextval(5) > ' . $last . '; ROLLBACK'),
		qr/^t$/m, 'rolled back: ids go on within');
	like(full_outcome($node, 'shop', 'SELECT snowflake_nextval(5)'), qr/^55000: /, 'rolled back: it is missing again');
	full_outcome($node, 'shop', 'SELECT seqid.repair_mark()');
	is($session->query("SELECT snowflake_nextval(5) > $last"), 't', 'repaired: a session goes on');
	is($session->errors, '', 'repaired: without an error');
	$session->close;
	check_place('rolled back, repaired');
}

#
# What happens to files while the server is down.  The clock is behind when it is
# started again, and nothing but the control file knows how late it was.
#
sub damage_file
{
	my ($file, $how) = @_;

	open my $handle, '+<:raw', $file or die $!;
	if ($how eq 'magic number')
	{
		seek $handle, 8192 - 8, 0;
		print $handle pack('L', 0xdeadbeef);
	}
	elsif ($how eq 'zeros')
	{
		print $handle "\0" x 8192;
	}
	elsif ($how eq 'empty')
	{
		truncate $handle, 0 or die $!;
	}
	elsif ($how eq 'line pointer')
	{
		# beyond the page, with its length and its flags as they were
		seek $handle, 24, 0;
		read $handle, my $pointer, 4;
		seek $handle, 24, 0;
		print $handle pack('L', unpack('L', $pointer) & ~0x7fff | 20000);
	}
	elsif ($how eq 'flipped bit')
	{
		# between the line pointers and the tuple, where nothing is
		seek $handle, 1000, 0;
		read $handle, my $byte, 1;
		seek $handle, 1000, 0;
		print $handle chr(ord($byte) ^ 1);
	}
	close $handle or die $!;
	return;
}

sub check_damaged_file
{
	my ($what, $how) = @_;

	$clock->set('+0s');
	my $last = draw();
	my $comb = full_outcome($node, 'shop', 'SELECT comb_uuid()');
	my $path = full_outcome($node, 'shop', "SELECT pg_relation_filepath('seqid.clock_mark')");

	wait_for_second_after($last, $comb);
	$node->stop;
	damage_file($node->data_dir . "/$path", $how) if $path =~ /^base/;
	$clock->set('-3s');
	$clock->start($node);
	check_repair($what, qr/^XX001: /, $last);
	cmp_ok(full_outcome($node, 'shop', 'SELECT comb_uuid()'), 'gt', $comb, "$what: combs go on");
	return;
}

check_damaged_file($_, $_) for 'magic number', 'zeros', 'empty', 'line pointer';

#
# A sound mark stays what it is, also one that is far ahead.
#
$clock->set('+0s');
my $mark = full_outcome($node, 'shop', 'SELECT snowflake_nextval(5); SELECT last_value, log_cnt, is_called FROM seqid.clock_mark');
$mark =~ s/.*\n//s;
is(full_outcome($node, 'shop', 'SELECT seqid.repair_mark() = clock_mark FROM seqid.stat_database'), 't', 'sound: its value is returned');
is(full_outcome($node, 'shop', 'SELECT last_value, log_cnt, is_called FROM seqid.clock_mark'), $mark, 'sound: it is not changed');
full_outcome($node, 'shop', "SELECT setval('seqid.clock_mark', last_value + 30 * 86400000::bigint) FROM seqid.clock_mark");
$mark = full_outcome($node, 'shop', 'SELECT last_value, log_cnt, is_called FROM seqid.clock_mark');
is(full_outcome($node, 'shop', "SELECT seqid.repair_mark() BETWEEN now() + interval '29d' AND now() + interval '31d'"),
	't', 'far ahead: its value is returned');
is(full_outcome($node, 'shop', 'SELECT last_value, log_cnt, is_called FROM seqid.clock_mark'), $mark, 'far ahead: it is not changed');
like(full_outcome($node, 'shop', 'SELECT snowflake_nextval(5)'), qr/^55000: /, 'far ahead: it is in force');
is( full_outcome($node, 'shop', "SET seqid.max_clock_regression = '31d'; SELECT snowflake_timestamp(snowflake_nextval(5)) > now() + interval '29d'"),
	't', 'far ahead: a large limit lets ids go on from there');
$node->stop;

#
# With checksums the server itself refuses a page.
#
new_node('checksums', extra => ['--data-checksums']);
is(as_owner($insert), 't', 'checksums: the first row');
check_damaged_file("checksums, $_", $_) for 'flipped bit', 'zeros', 'empty';

#
# Who cannot repair it, and where.
#
$clock->set('+0s');
for my $user ($owner, 'regress_seqid_user')
{
	like(full_outcome($node, 'shop', "SET ROLE $user; SELECT seqid.repair_mark()"), qr/^42501: /, "not superuser: $user is refused");
}
full_outcome($node, 'shop', "ALTER SEQUENCE seqid.clock_mark RENAME TO elsewhere;
	CREATE TABLE seqid.clock_mark (last_value bigint); INSERT INTO seqid.clock_mark VALUES (7)");
{
	my ($status, $out, $err) = $node->psql('shop', "\\set VERBOSITY verbose\nSELECT seqid.repair_mark()");
	like($err, qr/^psql:.*ERROR:  (42809|42P07): .*HINT: /ms, 'a table in its place: refused, with a hint');
}
is(full_outcome($node, 'shop', 'SELECT * FROM seqid.clock_mark'), '7', 'a table in its place: is not touched');
like(full_outcome($node, 'shop', 'SELECT snowflake_nextval(5)'), qr/^42809: /, 'a table in its place: no ids');
full_outcome($node, 'shop', 'DROP TABLE seqid.clock_mark; ALTER SEQUENCE seqid.elsewhere RENAME TO clock_mark');
is(as_owner($insert), 't', 'a table in its place: ids go on when it is gone');

$node->backup('base');
{
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$clock->start($standby);
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is(outcome($standby, 'shop', 'SELECT seqid.repair_mark()'), '25006', 'standby: refused');
	$standby->stop;
}

#
# Long limits of the regression, by which a mark far ahead can be lived with.
#
for my $case ([ '1h', '59min', 3540 ], [ '1d', '23h', 82800 ], [ '31d', '30d', 2592000 ])
{
	my ($limit, $what, $seconds) = @$case;
	my $session = SeqidSession->new($node, 'shop');

	# Before the library is loaded any value can be set.
	$session->query("LOAD 'seqid'");
	$session->query("SET seqid.max_clock_regression = '$limit'");
	is($session->errors, '', "limit of $limit: it can be set");
	is($session->query('SHOW seqid.max_clock_regression'), $limit, "limit of $limit: it is shown");
	$clock->set('+0s');
	my $last = $session->query('SELECT snowflake_nextval(5)');
	$clock->set("-${seconds}s");
	is($session->query('SELECT snowflake_nextval(5)') || 0, $last + 1, "limit of $limit: $what back, ids go on");
	$session->query('RESET seqid.max_clock_regression');
	is($session->query('SELECT snowflake_nextval(5)'), '', "limit of $limit: not with that of the server");
	$session->query("SET seqid.max_clock_regression = '$limit'");
	$clock->set('-' . 2 * $seconds . 's');
	is($session->query('SELECT snowflake_nextval(5)'), '', "limit of $limit: nor any further");
	is($session->query("SELECT comb_uuid_validate(c) = c FROM comb_uuid_at(clock_timestamp() + interval '$what') c"),
		't', "limit of $limit: combs are valid within it");
	$session->close;
}
$clock->set('+0s');
is(as_owner($insert), 't', 'the clock is right again: rows go on');

$node->stop;
done_testing();

# The library is replaced under running sessions: no key comes twice.
#
# A library whose shared memory is of another version is refused keys until the server
# is restarted; one of the same version shares it.  $SEQID_NEXT_LIBRARY names one of
# another version, which scripts/test.sh builds.

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/..";
use SeqidTest;
use SeqidFiles;

my $next = $ENV{SEQID_NEXT_LIBRARY}
  or plan skip_all => 'no library of another version was built';
my $first = PostgreSQL::Test::Utils::tempdir . '/seqid.so';
put_file(library(), $first);

my $replaced = '55000: library of extension "seqid" was replaced while the server runs';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nseqid.shards = '5'");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$node->safe_psql($_, <<'SQL') for 'postgres', 'elsewhere';
CREATE EXTENSION seqid;
CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(5), c uuid DEFAULT comb_uuid(),
	short bigint DEFAULT snowflake53_nextval(5));
INSERT INTO orders SELECT FROM generate_series(1, 1000);
CREATE SEQUENCE numbers;
SELECT intern_create('terms');
SQL

# Whether a row's keys are above all others; puts it there.
my $insert = 'INSERT INTO orders DEFAULT VALUES RETURNING id > (SELECT max(id) FROM orders),
	c > ALL (SELECT c FROM orders), short > (SELECT max(short) FROM orders)';

# All keys so far are different.
sub check_distinct
{
	my ($what) = @_;

	is( $node->safe_psql('postgres',
			'SELECT count(*) = count(DISTINCT id) AND count(*) = count(DISTINCT c) AND count(*) = count(DISTINCT short) FROM orders'),
		't', "$what: no key came twice");
	return;
}

# How many ids the two databases have in common.
sub common_ids
{
	my %here = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT id FROM orders');

	return scalar grep { $here{$_} } split /\n/, $node->safe_psql('elsewhere', 'SELECT id FROM orders');
}

sub new_session
{
	return SeqidSession->new($node);
}

# What is the library's of the session, and of the same release.
sub library_version
{
	my ($session) = @_;

	return $session->full_outcome('SELECT library FROM seqid.version()');
}

my $old = new_session();
is($old->query($insert), 't|t|t', 'a session draws');
my $old_version = library_version($old);

# It is busy with drawing while the library is replaced, and others want to be.
my $insert_many = 'INSERT INTO orders SELECT FROM generate_series(1, 300000)';
$old->send($insert_many);
put_file($next, library());
my $new = new_session();

# In another database, whose mark does not keep its keys from those of this one.
my $elsewhere = SeqidSession->new($node, 'elsewhere');
$elsewhere->query($insert_many);
is(error_in($elsewhere->errors), $replaced, 'a new session in another database is refused');

for my $statement (
	$insert_many,
	'SELECT snowflake_nextval(6)',
	'SELECT snowflake_nextval()',
	'SELECT snowflake_nextvals(6, 3)',
	'SELECT snowflake_nextblock(6, 3)',
	'SELECT snowflake_witness(snowflake_make(now(), 5, 0))',
	'SELECT snowflake53_nextval(6)',
	'SELECT snowflake53_nextval()',
	'SELECT snowflake53_nextvals(6, 3)',
	'SELECT snowflake53_nextblock(6, 3)',
	'SELECT snowflake53_witness(snowflake53_make(now(), 5, 0))',
	'SELECT comb_uuid()',
	'SELECT comb_uuids(3)',
	'SELECT comb_uuid_witness(comb_uuid_at(now()))',
	'CALL seqid.horizon()',
	'SELECT * FROM seqid.horizon_holders',
	'SELECT * FROM seqid.stat_server, seqid.stat_database',
	'SELECT * FROM seqid.stat_shards')
{
	is($new->full_outcome($statement), $replaced, "a new session is refused: $statement");
}
is($old->answer, '', 'the old one goes on');
is($old->errors, '', 'without an error');
is(common_ids(), 0, 'and no other database has ids of its shard');

# What is not agreed on in shared memory works.
for my $statement (
	'SELECT snowflake_shard(snowflake_make(now(), 5, 0)) > 0',
	"SELECT scatter_nextval('numbers') >= 0",
	"SELECT tenant_key_nextval(1, 'numbers') > 0",
	"SELECT uuid_sequence_nextval('numbers') IS NOT NULL",
	'SELECT uuid_time_nextval() IS NOT NULL',
	"SELECT intern_id('terms', 'a') = 0",
	'SELECT comb_uuid_is_valid(comb_uuid_at(now()))')
{
	is($new->full_outcome($statement), 't', "a new session may: $statement");
}
isnt(library_version($new), $old_version, 'seqid.version() tells that it has another library');
is(library_version($old), $old_version, 'which the old one has not');
is($old->query($insert), 't|t|t', 'the old session goes on');

my ($status, $out, $err) = $node->psql('postgres', 'SELECT comb_uuid()');
like($err, qr/^DETAIL:  .* version \d+ .* version \d+\.$/m,
	'the error tells the versions');
like($err, qr/^HINT:  Restart the server/m, 'and what to do');

# A parallel worker is a new process, with the new library.
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off; ';
is($old->full_outcome("$parallel SELECT count(snowflake_nextval(5)) FROM orders"),
	$replaced, 'workers of the old session are refused, too');
is($old->query($insert), 't|t|t', 'itself is not');
check_distinct('replaced');
$_->close for $old, $new;

$node->restart;
$new = new_session();
is($new->query($insert), 't|t|t', 'after a restart the new library draws, above all others');
isnt(library_version($new), $old_version, 'and seqid.version() tells that it is it');
check_distinct('after a restart');

# The other way round, and who has the library, but has not drawn yet.
$node->restart;
$old = new_session();
is($old->query('SELECT base62_encode(1)'), '1', 'a session loads the library');
put_file($first, library());
$new = new_session();
is($new->query($insert), 't|t|t', 'another one, with another library, is the first to draw');
is($old->full_outcome($insert), $replaced, 'the first session is refused then');
is(library_version($new), $old_version, 'it is the library that was there before');
$_->close for $old, $new;

# Another library of the same version: they share what they draw from.
$old = new_session();
is($old->query($insert), 't|t|t', 'a session draws');
put_file($first, library());
$new = new_session();
my $above = 0;
for (1 .. 20)
{
	$above += $_->query($insert) eq 't|t|t' for $old, $new;
}
is($above, 40, 'a library of the same version goes on with it, in turn');
check_distinct('same version');
$_->close for $old, $new;

# A server that has preloaded it goes on with what it has.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'");
$node->restart;
$old = new_session();
is($old->query($insert), 't|t|t', 'preloaded: a session draws');
put_file($next, library());
$new = new_session();
is($new->query($insert), 't|t|t', 'preloaded: so does one that begins after the library was replaced');
is(library_version($new), $old_version, 'preloaded: as it has the old one');
is($old->full_outcome("$parallel SELECT count(snowflake_nextval(5)) > 0 FROM orders"),
	't', 'preloaded: and workers have');
check_distinct('preloaded');
$_->close for $old, $new;

$node->restart;
$new = new_session();
is($new->query($insert), 't|t|t', 'preloaded: after a restart keys are above all others');
isnt(library_version($new), $old_version, 'preloaded: and of the new library');
check_distinct('preloaded, after a restart');
$new->close;
$node->stop;

done_testing();

# The library is replaced under running sessions: no key comes twice.
#
# A session whose library has another version of shared memory is refused keys until the
# server is restarted; one of the same version shares it.  $SEQID_NEXT_LIBRARY names a
# library of another version, which scripts/test.sh builds.

use v5.36;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/..";
use SeqidTest;
use SeqidFiles;

my $next = $ENV{SEQID_NEXT_LIBRARY} or die 'SEQID_NEXT_LIBRARY is not set; see scripts/test.sh';
my $first = PostgreSQL::Test::Utils::tempdir . '/seqid.so';
put_file(library(), $first);

my $node = new_server('main', conf => "seqid.shards = '5'");
$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$node->safe_psql('elsewhere', 'CREATE EXTENSION seqid');
$node->safe_psql($_, <<'SQL') for 'postgres', 'elsewhere';
CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(5), c uuid DEFAULT comb_uuid(),
	short bigint DEFAULT snowflake53_nextval(5));
INSERT INTO orders SELECT FROM generate_series(1, 1000);
CREATE SEQUENCE numbers;
SELECT intern_create('terms');
SQL

# Whether the keys of a new row are above all others.
my $insert = 'INSERT INTO orders DEFAULT VALUES RETURNING id > (SELECT max(id) FROM orders),
	c > ALL (SELECT c FROM orders), short > (SELECT max(short) FROM orders)';

sub goes_on ($session, $what)
{
	is($session->outcome($insert), 't|t|t', "$what: keys go on above all others");
	is( outcome($node, 'SELECT count(*) = count(DISTINCT id) AND count(*) = count(DISTINCT c) AND count(*) = count(DISTINCT short) FROM orders'),
		't', "$what: no key came twice");
}

sub new_session
{
	return SeqidSession->new($node);
}

sub version ($session)
{
	return $session->outcome('SELECT library FROM seqid.stat_server');
}

my $old = new_session();
goes_on($old, 'a session');
my $version = version($old);

# It is busy with generating keys while the library is replaced.
my $insert_many = 'INSERT INTO orders SELECT FROM generate_series(1, 300000)';
$old->send($insert_many);
put_file($next, library());
my $new = new_session();

# In another database, the mark does not keep keys from those of this one.
my $elsewhere = SeqidSession->new($node, 'elsewhere');
is($elsewhere->outcome($insert_many), '55000', 'a new session in another database is refused');

my @calls = map { my $kind = $_; map { "SELECT ${kind}_$_" } 'nextval(6)', 'nextval()', 'nextvals(6, 3)', 'nextblock(6, 3)', 'nextblock(3)',
	"witness(${kind}_make(now(), 5, 0))" } 'snowflake', 'snowflake53';
is($new->outcome($_), '55000', "a new session is refused: $_")
  for $insert_many, @calls, 'SELECT comb_uuid()', 'SELECT comb_uuids(3)', 'SELECT comb_uuid_witness(comb_uuid_at(now()))',
  'CALL seqid.horizon()', 'SELECT * FROM seqid.horizon_holders', 'SELECT * FROM seqid.stat_server, seqid.stat_database',
  'SELECT * FROM seqid.stat_shards';
is($old->answer . $old->errors, '', 'the old one goes on');
my %here = map { $_ => 1 } split /\n/, outcome($node, 'SELECT id FROM orders');
is(scalar(grep { $here{$_} } split /\n/, outcome($node, 'elsewhere', 'SELECT id FROM orders')), 0, 'and no other database has its ids');

# Functions that do not use shared memory work.
is($new->outcome("SELECT $_"), 't', "a new session can call $_")
  for 'snowflake_shard(snowflake_make(now(), 5, 0)) > 0', "scatter_nextval('numbers') >= 0",
  "tenant_key_nextval(1, 'numbers') > 0", "uuid_sequence_nextval('numbers') IS NOT NULL", 'uuid_time_nextval() IS NOT NULL',
  "intern_id('terms', 'a') = 0", 'comb_uuid_is_valid(comb_uuid_at(now()))';
isnt(version($new), $version, 'seqid.stat_server shows that it has another library');
is(version($old), $version, 'which the old one has not');
like(($node->psql('postgres', 'SELECT comb_uuid()'))[2], qr/^DETAIL:  .*\d+.*\d+.*\nHINT:  /m, 'the error shows both versions, and a hint');

# A parallel worker is a new process, with the new library.
my $workers = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off; SELECT count(snowflake_nextval(5)) > 0 FROM orders';
is($old->outcome($workers), '55000', 'workers of the old session are refused, too');
goes_on($old, 'the old session');
$_->close for $old, $new, $elsewhere;

$node->restart;
$new = new_session();
goes_on($new, 'after a restart');
isnt(version($new), $version, 'after a restart: seqid.stat_server shows the new library');
$new->close;

# A session has loaded the library, and generates its first key after one with another.
$node->restart;
$old = new_session();
is($old->outcome('SELECT base62_encode_bigint(1)'), '1', 'a session loads the library');
put_file($first, library());
$new = new_session();
goes_on($new, 'a session with another library, the first to generate keys');
is($old->outcome($insert), '55000', 'the first session is refused then');
is(version($new), $version, 'it is the library that was there before');
$_->close for $old, $new;

# Another library of the same version shares the memory.
$old = new_session();
goes_on($old, 'a session');
put_file($first, library());
$new = new_session();
is(scalar(grep { $_->query($insert) eq 't|t|t' } ($old, $new) x 20), 40, 'a library of the same version goes on, in turn');
goes_on($new, 'same version');
$_->close for $old, $new;

# A server that has preloaded a library goes on with it.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'");
$node->restart;
$old = new_session();
goes_on($old, 'preloaded');
put_file($next, library());
$new = new_session();
goes_on($new, 'preloaded, a new session');
is(version($new), $version, 'preloaded: it has the old library');
is($old->outcome($workers), 't', 'preloaded: and so do workers');
$_->close for $old, $new;

$node->restart;
$new = new_session();
goes_on($new, 'preloaded, after a restart');
isnt(version($new), $version, 'preloaded, after a restart: of the new library');
$new->close;
$node->stop;

done_testing();

# The library is replaced under running sessions: no key comes twice.
#
# A session whose library has another version of shared memory is refused keys until the
# server is restarted; one of the same version shares it.  SQL cannot replace a file.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;

my $build = SeqidBuild->in_use;
my $built = "$build->{source}/seqid.so";
my ($first, $next) = map { "$build->{source}/$_.so" } 'first', 'next';

rename $built, $first or die $!;
$build->make('clean') && $build->make('all', 'SEQID_VERSION=999.0.0', 'COPT=-DSHARED_STATE_VERSION=999')
  or die $build->{log};
rename $built, $next or die $!;

# A process that has mapped the old file keeps it.
sub install ($library)
{
	system_or_bail('cp', $library, "$library.new");
	rename "$library.new", "$build->{install}/lib/seqid.so" or die $!;
}

my $node = new_server('main', conf => "seqid.shards = '5'");
add_database($node, 'elsewhere');
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

sub version ($session)
{
	return $session->outcome('SELECT library FROM seqid.stat_server');
}

# Asserts that the session generates keys, with this library if it is named.
sub goes_on ($session, $what, $library = undef)
{
	is($session->outcome($insert), 't|t|t', "$what: keys go on above all others");
	is( outcome($node, 'SELECT count(*) = count(DISTINCT id) AND count(*) = count(DISTINCT c) AND count(*) = count(DISTINCT short) FROM orders'),
		't', "$what: no key came twice");
	is(version($session), $library, "$what: seqid.stat_server shows its library") if defined $library;
	return $session;
}

sub new_session ($database = 'postgres')
{
	return SeqidSession->new($node, $database);
}

my $old = goes_on(new_session(), 'a session');
my $version = version($old);

# It is busy with generating keys while the library is replaced.
my $insert_many = 'INSERT INTO orders SELECT FROM generate_series(1, 300000)';
$old->send($insert_many);
install($next);

# In another database, the mark does not keep keys from those of this one.
my ($new, $elsewhere) = map { new_session($_) } 'postgres', 'elsewhere';
is($elsewhere->outcome($insert_many), '55000', 'a new session in another database is refused');
is($new->outcome($_), '55000', "a new session is refused: $_")
  for $insert_many, (map { "SELECT $_" } 'snowflake_nextval()', 'snowflake53_nextval(6)', 'snowflake_nextblock(6, 3)',
	'snowflake_witness(snowflake_make(now(), 5, 0))', 'comb_uuid()', 'comb_uuids(3)',
	'comb_uuid_witness(comb_uuid_at(now()))'),
  'CALL seqid.horizon()';
is($new->outcome("SELECT count(*), count(clock_mark) + count(clock_floor) + count(marks_written), count(years_left),
		(SELECT count(*) FROM seqid.stat_shards), (SELECT count(*) FROM seqid.horizon_holders) FROM seqid.stat_database"),
	'1|0|1|0|0', 'a new session can read the statistics, which do not show what is missing');
is($old->answer . $old->errors, '', 'the old one goes on');
my %here = map { $_ => 1 } split /\n/, outcome($node, 'SELECT id FROM orders');
is(scalar(grep { $here{$_} } split /\n/, outcome($node, 'elsewhere', 'SELECT id FROM orders')), 0, 'and no other database has its ids');

# Functions that do not use shared memory work.
is($new->outcome("SELECT $_"), 't', "a new session can call $_")
  for 'snowflake_shard(snowflake_make(now(), 5, 0)) > 0', "scatter_nextval('numbers') >= 0",
  "uuid_sequence_nextval('numbers') IS NOT NULL", 'uuid_time_nextval() IS NOT NULL', "intern_id('terms', 'a') = 0";
my $next_version = version($new);
isnt($next_version, $version, 'seqid.stat_server shows that it has another library');
like(($node->psql('postgres', 'SELECT comb_uuid()'))[2], qr/^DETAIL:  .*\d+.*\d+.*\nHINT:  /m, 'the error shows both versions, and a hint');

# A parallel worker is a new process, with the new library.
my $workers = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off; SELECT count(snowflake_nextval(5)) > 0 FROM orders';
is($old->outcome($workers), '55000', 'workers of the old session are refused, too');
goes_on($old, 'the old session', $version);
$_->close for $old, $new, $elsewhere;

$node->restart;
goes_on(new_session(), 'after a restart', $next_version)->close;

# A session has loaded the library, and generates its first key after one with another.
$node->restart;
$old = new_session();
is($old->outcome('SELECT base62_encode_bigint(1)'), '1', 'a session loads the library');
install($first);
$new = goes_on(new_session(), 'a session with the first library, the first to generate keys', $version);
is($old->outcome($insert), '55000', 'the first session is refused then');
$_->close for $old, $new;

# Another library of the same version shares the memory.
$old = goes_on(new_session(), 'a session');
install($first);
$new = new_session();
is(scalar(grep { $_->query($insert) eq 't|t|t' } ($old, $new) x 20), 40, 'a library of the same version goes on, in turn');
goes_on($new, 'same version');
$_->close for $old, $new;

# A server that has preloaded a library goes on with it.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'");
$node->restart;
$old = goes_on(new_session(), 'preloaded', $version);
install($next);
goes_on(new_session(), 'preloaded, a new session', $version)->close;
is($old->outcome($workers), 't', 'preloaded: so do workers');
$old->close;

$node->restart;
goes_on(new_session(), 'preloaded, after a restart', $next_version)->close;
$node->stop;

done_testing();

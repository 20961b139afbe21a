# Servers without the library, as after apt remove: they replay WAL and read rows, because
# generic WAL needs no library, and the extension can be dropped.
#
# Only real servers replay WAL, after a crash or on a standby.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;

my $build = SeqidBuild->in_use;
my $no_file = '58P01';
my $primary = new_server('primary', streaming => 1, conf => "seqid.shards = '5'\nseqid.allowed_shards = '5'\n");
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), c uuid UNIQUE DEFAULT comb_uuid(), term bigint,
	made timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
CREATE TABLE lines (id uuid PRIMARY KEY DEFAULT comb_uuid(), order_id bigint REFERENCES orders);
SELECT intern_create('terms');
SQL

# Rows, and the pages of the mark and of a dictionary's sequence
my $add = "INSERT INTO orders (term) SELECT intern_id('terms', 'term ' || n) FROM generate_series(1, 2000) n;
	INSERT INTO lines (order_id) SELECT id FROM orders";
my $rows = "SELECT count(*), md5(string_agg(o::text || l::text || t::text, ',' ORDER BY l.id)),
	(SELECT last_value FROM seqid.clock_mark), (SELECT last_value >= 2000 FROM terms_id_seq)
	FROM orders o JOIN lines l ON order_id = o.id JOIN terms t ON t.id = o.term";
my $standby = new_standby($primary, 'standby');
my $session = SeqidSession->new($primary);
is($session->outcome($add), '', 'rows before');
$standby->stop;

unlink "$build->{install}/lib/seqid.so" or die $!;
is($session->outcome($add), '', 'a session that has loaded the library generates keys');
my $expected = $session->outcome($rows);
like($expected, qr/^6000\|/, 'rows');
is(outcome($primary, 'SELECT snowflake_nextval()'), $no_file, 'others do not');
$session->send('SELECT 1');
$session->answer;

# A standby replays what was written.  A primary does so after a crash.
$standby->start;
$primary->wait_for_catchup($standby);
is(outcome($standby, $rows), $expected, 'a standby replays WAL and reads rows');
$session->abandon;
$primary->stop('immediate');
start_again($primary);
is(outcome($primary, $rows), $expected, 'so does a server after a crash');
$standby->promote;
is(outcome($standby, $rows), $expected, 'a promoted standby reads rows');
$standby->stop;

is(outcome($primary, "SELECT count(*) FROM orders WHERE id > (SELECT min(id) FROM orders)"), '3999', 'an index is read');
is(outcome($primary, $_), $no_file, "what calls a function is refused: $_")
  for 'INSERT INTO lines DEFAULT VALUES', 'INSERT INTO orders (id) VALUES (1)', 'SELECT snowflake_timestamp(id) FROM orders',
  "SELECT intern_find('terms', 'term 1')";
is(outcome($primary, "INSERT INTO lines (id) VALUES (gen_random_uuid()) RETURNING id IS NULL"), 'f', 'other rows can be written');
$primary->safe_psql('postgres', 'DELETE FROM lines WHERE order_id IS NULL');

# The extension is dropped without its library.
is(outcome($primary, 'DROP EXTENSION seqid'), '2BP01', 'the extension is in use');
is(outcome($primary, <<'SQL'), '', 'its uses are removed');
ALTER TABLE orders ALTER id DROP DEFAULT, ALTER c DROP DEFAULT, ALTER made DROP EXPRESSION;
ALTER TABLE lines ALTER id SET DEFAULT gen_random_uuid();
ALTER TABLE terms ALTER id SET DEFAULT nextval('terms_id_seq');
SQL
my $remaining = $rows =~ s/seqid.clock_mark/(VALUES (0)) v (last_value)/r;
my $before = outcome($primary, $remaining);
is(outcome($primary, 'DROP EXTENSION seqid'), '', 'the extension is dropped');
is(outcome($primary, $remaining), $before, 'all rows remain');
is(outcome($primary, "INSERT INTO terms (term) VALUES ('new') RETURNING id > (SELECT max(id) FROM terms)"),
	't', 'a dictionary without prefix_bits goes on above its ids');
command_ok([ 'pg_dump', '-f', PostgreSQL::Test::Utils::tempdir . '/dump', $primary->connstr('postgres') ], 'a dump');
$primary->stop;
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'seqid'");
ok(!$primary->start(fail_ok => 1), 'a server that preloads the library does not start');

done_testing();

# Cause before effect over two servers: who has seen another's key issues greater
# ones from then on, although his clock is behind; also after a crash.
#
# Two servers with clocks of their own, of which one crashes.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my (%node, %clock);
for my $name ('early', 'late')
{
	$clock{$name} = SeqidClock->new;
	$node{$name} = PostgreSQL::Test::Cluster->new($name);
	$node{$name}->init(allows_streaming => 1);
	$node{$name}->append_conf('postgresql.conf', 'seqid.max_clock_regression = 10min');
	$clock{$name}->start($node{$name});
	$node{$name}->safe_psql('postgres', 'CREATE EXTENSION seqid');
}
# So far that it stays ahead, however long this takes.
$clock{early}->set('+5m');

# The server's shard is lower than the other's: only time can put its ids behind.
my $shard = 'SET seqid.shards = 3';
my $id = outcome($node{early}, 'postgres', 'SELECT snowflake_nextval(900)');
my $comb = outcome($node{early}, 'postgres', 'SELECT comb_uuid()');
cmp_ok(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_nextval()"), '<', $id, 'without: an id of the late one is lower');
cmp_ok(outcome($node{late}, 'postgres', 'SELECT comb_uuid()'), 'lt', $comb, 'without: so is a COMB');

is(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_witness($id)"), $id, 'witness: returns the id');
is(outcome($node{late}, 'postgres', "SELECT comb_uuid_witness('$comb')"), $comb, 'witness: returns the COMB');
cmp_ok(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_nextval()"), '>', $id, 'witness: ids are greater');
cmp_ok(outcome($node{late}, 'postgres', 'SELECT comb_uuid()'), 'gt', $comb, 'witness: COMBs are greater');
is(outcome($node{late}, 'postgres', 'SELECT snowflake_timestamp(snowflake_nextval(4)) <= clock_timestamp()'),
	't', 'witness: another shard is where the clock is');
is(outcome($node{late}, 'postgres', 'SELECT snowflake53_timestamp(snowflake53_nextval(3)) <= clock_timestamp()'),
	't', 'witness: so is the shard of the other layout');
my $id53 = outcome($node{early}, 'postgres', 'SELECT snowflake53_nextval(30)');
cmp_ok(outcome($node{late}, 'postgres', "$shard; SELECT snowflake53_nextval()"), '<', $id53, 'without: a snowflake53 of the late one is lower');
is(outcome($node{late}, 'postgres', "$shard; SELECT snowflake53_witness($id53)"), $id53, 'witness: returns the snowflake53');
cmp_ok(outcome($node{late}, 'postgres', "$shard; SELECT snowflake53_nextval()"), '>', $id53, 'witness: snowflake53s are greater');

# The mark tells the next life of the server; nothing was drawn since.
$id = outcome($node{early}, 'postgres', 'SELECT snowflake_nextval(900)');
$comb = outcome($node{early}, 'postgres', 'SELECT comb_uuid()');
$id53 = outcome($node{early}, 'postgres', 'SELECT snowflake53_nextval(30)');
outcome($node{late}, 'postgres', "$shard; SELECT snowflake_witness($id), comb_uuid_witness('$comb'), snowflake53_witness($id53)");
$node{late}->kill9;
$clock{late}->set('-1s');
$clock{late}->start($node{late});
cmp_ok(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_nextval()"), '>', $id, 'a crash: ids are greater');
cmp_ok(outcome($node{late}, 'postgres', 'SELECT comb_uuid()'), 'gt', $comb, 'a crash: COMBs are greater');
cmp_ok(outcome($node{late}, 'postgres', "$shard; SELECT snowflake53_nextval()"), '>', $id53, 'a crash: snowflake53s are greater');
$clock{late}->set('+0s');

# What was before changes nothing.
my $last = outcome($node{late}, 'postgres', "$shard; SELECT snowflake_nextval()");
outcome($node{late}, 'postgres', "$shard; SELECT snowflake_witness(0), comb_uuid_witness(comb_uuid_at('1970-01-01'))");
cmp_ok(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_nextval()"), '>', $last, 'an old one: ids go on');

# The limit, and who is refused.
$clock{early}->set('+1h');
$id = outcome($node{early}, 'postgres', 'SELECT snowflake_nextval(900)');
$comb = outcome($node{early}, 'postgres', 'SELECT comb_uuid()');
is(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_witness($id)"), '22023', 'an hour ahead: refused');
is(outcome($node{late}, 'postgres', "SELECT comb_uuid_witness('$comb')"), '22023', 'an hour ahead: COMBs too');
is(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_witness(-1)"), '22003', 'a negative id: refused');
is(outcome($node{late}, 'postgres', "SELECT comb_uuid_witness(gen_random_uuid())"), '22023', 'no COMB: refused');
is(outcome($node{late}, 'postgres', 'SELECT snowflake_witness(0)'), '55000', 'no shard is set: refused');
is(outcome($node{late}, 'postgres', "$shard; SELECT snowflake_timestamp(snowflake_nextval()) < clock_timestamp() + interval '10 min'"),
	't', 'refused: nothing has changed');
outcome($node{late}, 'postgres', 'CREATE ROLE regress_seqid_user');
is(outcome($node{late}, 'postgres', "SET ROLE regress_seqid_user; SELECT $_"), '42501', "not for everybody: $_")
  for 'snowflake_witness(0)', "comb_uuid_witness(comb_uuid_at('2024-01-01'))";

$node{late}->backup('base');
{
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$standby->init_from_backup($node{late}, 'base', has_streaming => 1);
	$standby->start;
	is(outcome($standby, 'postgres', "$shard; SELECT snowflake_witness(0)"), '25006', 'standby: refused');
	$standby->stop;
}

$_->stop for values %node;
done_testing();

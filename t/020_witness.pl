# Cause before effect over two servers: who has seen another's key issues greater
# ones from then on, although his clock is behind; also after a crash.
#
# Two servers with clocks of their own, of which one crashes.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use FindBin;
use lib $FindBin::RealBin;
use SeqidClock;
use SeqidSession;

my (%node, %clock);
for my $name ('early', 'late')
{
	$clock{$name} = SeqidClock->new;
	$node{$name} = PostgreSQL::Test::Cluster->new($name);
	$node{$name}->init(allows_streaming => 1);
	$clock{$name}->start($node{$name});
	$node{$name}->safe_psql('postgres', 'CREATE EXTENSION seqid');
}
$clock{early}->set('+5s');

sub outcome
{
	my ($name, $sql) = @_;
	my ($status, $out, $err) = $node{$name}->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	return $status == 0 ? $out : $err =~ /ERROR:  (\w{5})/ ? $1 : $err;
}

# The server's shard is lower than the other's: only time can put its ids behind.
my $shard = 'SET seqid.shards = 3';
my $id = outcome('early', 'SELECT snowflake_nextval(900)');
my $comb = outcome('early', 'SELECT comb_uuid()');
cmp_ok(outcome('late', "$shard; SELECT snowflake_nextval()"), '<', $id, 'without: an id of the late one is lower');
cmp_ok(outcome('late', 'SELECT comb_uuid()'), 'lt', $comb, 'without: so is a COMB');

is(outcome('late', "$shard; SELECT snowflake_witness($id)"), $id, 'witness: returns the id');
is(outcome('late', "SELECT comb_uuid_witness('$comb')"), $comb, 'witness: returns the COMB');
cmp_ok(outcome('late', "$shard; SELECT snowflake_nextval()"), '>', $id, 'witness: ids are greater');
cmp_ok(outcome('late', 'SELECT comb_uuid()'), 'gt', $comb, 'witness: COMBs are greater');
is(outcome('late', 'SELECT snowflake_timestamp(snowflake_nextval(4)) <= clock_timestamp()'),
	't', 'witness: another shard is where the clock is');

# The mark tells the next life of the server; nothing was drawn since.
$id = outcome('early', 'SELECT snowflake_nextval(900)');
$comb = outcome('early', 'SELECT comb_uuid()');
outcome('late', "$shard; SELECT snowflake_witness($id), comb_uuid_witness('$comb')");
$node{late}->kill9;
$clock{late}->set('-1s');
$clock{late}->start($node{late});
cmp_ok(outcome('late', "$shard; SELECT snowflake_nextval()"), '>', $id, 'a crash: ids are greater');
cmp_ok(outcome('late', 'SELECT comb_uuid()'), 'gt', $comb, 'a crash: COMBs are greater');
$clock{late}->set('+0s');

# What was before changes nothing.
my $last = outcome('late', "$shard; SELECT snowflake_nextval()");
outcome('late', "$shard; SELECT snowflake_witness(0), comb_uuid_witness(comb_uuid_at('1970-01-01'))");
cmp_ok(outcome('late', "$shard; SELECT snowflake_nextval()"), '>', $last, 'an old one: ids go on');

# The limit, and who is refused.
$clock{early}->set('+1h');
$id = outcome('early', 'SELECT snowflake_nextval(900)');
$comb = outcome('early', 'SELECT comb_uuid()');
is(outcome('late', "$shard; SELECT snowflake_witness($id)"), '22023', 'an hour ahead: refused');
is(outcome('late', "SELECT comb_uuid_witness('$comb')"), '22023', 'an hour ahead: COMBs too');
is(outcome('late', "$shard; SELECT snowflake_witness(-1)"), '22003', 'a negative id: refused');
is(outcome('late', "SELECT comb_uuid_witness(gen_random_uuid())"), '22023', 'no COMB: refused');
is(outcome('late', 'SELECT snowflake_witness(0)'), '55000', 'no shard is set: refused');
is(outcome('late', "$shard; SELECT snowflake_timestamp(snowflake_nextval()) < clock_timestamp() + interval '10s'"),
	't', 'refused: nothing has changed');
outcome('late', 'CREATE ROLE regress_seqid_user');
is(outcome('late', "SET ROLE regress_seqid_user; SELECT $_"), '42501', "not for everybody: $_")
  for 'snowflake_witness(0)', "comb_uuid_witness(comb_uuid_at('2024-01-01'))";

$node{late}->backup('base');
{
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$standby->init_from_backup($node{late}, 'base', has_streaming => 1);
	$standby->start;
	my ($status, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY verbose\n$shard; SELECT snowflake_witness(0)");
	like($err, qr/ERROR:  25006/, 'standby: refused');
	$standby->stop;
}

$_->stop for values %node;
done_testing();

# The clock is set while the server is down: ids go on, or are refused, and no
# id comes again.
#
# SQL can neither restart a server nor set its clock.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$clock->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

# Of each layout, what separates its milliseconds, and its last id.
my %millisecond = (snowflake => 1 << 22, snowflake53 => 1 << 12);
my %last = map { $_ => outcome($node, 'postgres', "SELECT ${_}_nextval(5)") } keys %millisecond;
my $comb = outcome($node, 'postgres', 'SELECT comb_uuid()');

# Restarts with the clock at an offset, and checks that a shard that issued ids
# and one that did not either go on or are refused.
sub step
{
	my ($offset, $mode, $refused) = @_;
	my $what = "$offset, $mode restart";

	$clock->restart($node, $offset, $mode);

	for my $kind (sort keys %millisecond)
	{
		for my $shard (5, 6)
		{
			my $id = outcome($node, 'postgres', "SELECT ${kind}_nextval($shard)");

			if ($refused)
			{
				is($id, '55000', "$what: shard $shard of $kind is refused");
			}
			else
			{
				cmp_ok(int($id / $millisecond{$kind}), '>', int($last{$kind} / $millisecond{$kind}),
					"$what: shard $shard of $kind goes on");
			}
		}
		$last{$kind} = outcome($node, 'postgres', "SELECT max(${kind}_nextval(5)) FROM generate_series(1, 5000)")
		  unless $refused;
	}

	my $next = outcome($node, 'postgres', 'SELECT comb_uuid()');
	cmp_ok($next, 'gt', $comb, "$what: combs go on");
	$comb = $next;
	return;
}

for my $mode ('fast', 'immediate')
{
	step('+0s', $mode, 0);
	step('-1s', $mode, 0);
	step('-5s', $mode, 0);
	step('+0s', $mode, 0);
	step('-1h', $mode, 1);
	step('+0s', $mode, 0);
}

# COMBs are drawn although snowflakes are refused, and take the mark along: so
# does a clock that was a day ahead.
step('+1d', 'fast', 0);
step('+0s', 'fast', 1);
step('+1d', 'immediate', 0);
step('-5s', 'immediate', 1);

# Whoever knows that the clock is right now may let ids go on from there.
is( outcome($node, 'postgres', "SET seqid.max_clock_regression = '2d'; SELECT snowflake_nextval(5) > $last{snowflake}, snowflake53_nextval(5) > $last{snowflake53}"),
	't|t', 'a larger limit lets ids go on');

# The mark is ahead of the clock on purpose.  It counts as floor once a life: a
# session that comes when it has just been raised is not pushed ahead by it.
$clock->set('+2d');
my $writer = SeqidSession->new($node);
for my $round (1 .. 3)
{
	my $written = $writer->query('SELECT marks_written FROM seqid.stat_database');

	do
	{
		$writer->query('SELECT snowflake_nextval(6)');
	} while ($writer->query('SELECT marks_written FROM seqid.stat_database') == $written);
	is( outcome($node, 'postgres', 'SELECT snowflake_timestamp(snowflake_nextval(8)) <= clock_timestamp()'),
		't', 'a new session is not pushed ahead of the clock');
}
$writer->close;

# pg_resetwal throws away the WAL that has the mark, and stamps its checkpoint with
# the clock.  The page on disk is that of the last checkpoint before it.
$clock->restart($node, '+3d');
outcome($node, 'postgres', 'SELECT snowflake_nextval(5); CHECKPOINT');
$clock->set('+259205s');
my $before = outcome($node, 'postgres', 'SELECT snowflake_nextval(5)');
my $comb_before = outcome($node, 'postgres', 'SELECT comb_uuid()');
$clock->set('+259208s');
$node->kill9;
unlink $node->data_dir . '/postmaster.pid';
{
	local %ENV = (%ENV, $clock->environment);
	command_ok([ 'pg_resetwal', '-f', '-D', $node->data_dir ], 'pg_resetwal');
}
$clock->set('+3d');
$clock->start($node);
cmp_ok(outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), '>', $before, 'pg_resetwal: snowflakes go on');
cmp_ok(outcome($node, 'postgres', 'SELECT comb_uuid()'), 'gt', $comb_before, 'pg_resetwal: so do COMBs');

$node->stop;
done_testing();

# The clock is set while the server is down: ids go on, or are refused, and no id comes
# again.
#
# SQL can neither restart a server nor set its clock.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock);

# By how many bits the time of each layout is shifted, and its last id.
my %shift = (snowflake => 22, snowflake53 => 12);
my %last = map { $_ => outcome($node, "SELECT ${_}_nextval(5)") } keys %shift;
my $comb = outcome($node, 'SELECT comb_uuid()');

# Restarts with the clock at an offset; a shard that issued ids and one that did not
# either go on or are refused.
sub step ($offset, $mode, $refused)
{
	my $what = "$offset, $mode restart";

	$clock->restart($node, $offset, $mode);
	for my $kind (sort keys %shift)
	{
		for my $shard (5, 6)
		{
			my $id = outcome($node, "SELECT ${kind}_nextval($shard)");

			$refused
			  ? is($id, '55000', "$what: shard $shard of $kind is refused")
			  : cmp_ok($id >> $shift{$kind}, '>', $last{$kind} >> $shift{$kind}, "$what: shard $shard of $kind goes on");
		}
		$last{$kind} = outcome($node, "SELECT max(${kind}_nextval(5)) FROM generate_series(1, 5000)") unless $refused;
	}
	my $next = outcome($node, 'SELECT comb_uuid()');
	cmp_ok($next, 'gt', $comb, "$what: COMBs go on");
	$comb = $next;
}

for my $mode ('fast', 'immediate')
{
	step($_, $mode, 0) for '+0s', '-1s', '-5s', '+0s';
	step('-1h', $mode, 1);
	step('+0s', $mode, 0);
}

# While snowflakes are refused, COMBs are generated and take the mark along; so does a
# clock that was a day ahead.
step('+1d', 'fast', 0);
step('+0s', 'fast', 1);
step('+1d', 'immediate', 0);
step('-5s', 'immediate', 1);
is( outcome($node, "SET seqid.max_lead = '2d';
		SELECT snowflake_nextval(5) > $last{snowflake}, snowflake53_nextval(5) > $last{snowflake53}"),
	't|t', 'a larger limit lets ids go on');

# The mark is ahead of the clock on purpose.  It is the floor once in a server lifetime:
# a session that begins when the mark has just been raised is not pushed ahead by it.
$clock->set('+2d');
my $writer = SeqidSession->new($node);
my $written = 'SELECT marks_written FROM seqid.stat_database';
for my $round (1 .. 3)
{
	my $before = $writer->query($written);

	do { $writer->query('SELECT snowflake_nextval(6)') } while $writer->query($written) == $before;
	is(outcome($node, 'SELECT snowflake_timestamp(snowflake_nextval(8)) <= clock_timestamp()'),
		't', 'a new session is not pushed ahead of the clock');
}
$writer->close;

# pg_resetwal throws away the WAL that has the mark, and gives its checkpoint the time of
# the clock.  The page on disk is that of the checkpoint before.
$clock->restart($node, '+3d');
outcome($node, 'SELECT snowflake_nextval(5); CHECKPOINT');
$clock->set('+259205s');
my ($id, $last_comb) = split /\|/, outcome($node, 'SELECT snowflake_nextval(5), comb_uuid()');
$clock->set('+259208s');
$node->kill9;
unlink $node->data_dir . '/postmaster.pid';
{
	local %ENV = (%ENV, $clock->environment);
	command_ok([ 'pg_resetwal', '-f', '-D', $node->data_dir ], 'pg_resetwal');
}
$clock->set('+3d');
$clock->start($node);
cmp_ok(outcome($node, 'SELECT snowflake_nextval(5)'), '>', $id, 'pg_resetwal: snowflakes go on');
cmp_ok(outcome($node, 'SELECT comb_uuid()'), 'gt', $last_comb, 'pg_resetwal: so do COMBs');

$node->stop;
done_testing();

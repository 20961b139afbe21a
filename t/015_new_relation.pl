# A mark in a relation whose transaction is lost in a crash is no mark: the ids that were
# returned do not come again, however new the extension was.  Nor do those of an extension
# that was dropped.
#
# SQL can neither crash the server, nor set its clock, nor change its configuration file.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node;

# A commit leaves the flush to the WAL writer, which is slow.
sub new_node ($level)
{
	$clock->set('+0s');
	$node = new_server($level, clock => $clock, init => [ allows_streaming => $level eq 'replica' ], extension => 0, conf => <<CONF);
synchronous_commit = off
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
checkpoint_timeout = 1h
wal_level = $level
seqid.max_lead = 45min
CONF
}

# Statements that are sent one by one.  A commit that deletes a file is always flushed;
# cases that drop the extension in the transaction are here for their other effects.
my $draw = 'SELECT snowflake_nextval(5), comb_uuid()';
my @cases = (
	[ 'created', 'CREATE EXTENSION seqid', $draw ],
	[ 'dropped and created', 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid', $draw ],
	[ 'dropped and created in a transaction',
		'BEGIN', 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid', 'COMMIT', $draw ],
	[ 'used, dropped and created in a transaction',
		'BEGIN', $draw, 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid', 'COMMIT' ],
	[ 'used in the creating transaction',
		'DROP EXTENSION seqid', 'BEGIN', 'CREATE EXTENSION seqid', $draw, 'COMMIT' ],
	[ 'created after a savepoint that was rolled back',
		'DROP EXTENSION seqid', 'BEGIN', 'SAVEPOINT a', 'CREATE EXTENSION seqid', $draw, 'ROLLBACK TO a',
		'SAVEPOINT b', 'CREATE EXTENSION seqid', $draw, 'RELEASE b', 'COMMIT' ],
	[ 'in a new file', 'BEGIN', 'ALTER SEQUENCE seqid.clock_mark INCREMENT 1', $draw, 'COMMIT' ],
	# The keys come from another session.
	[ 'used by another session', 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid' ]);

# The new relation of a transaction is not logged under "minimal", but written whole when
# that commits.
for my $level ('minimal', 'replica')
{
	new_node($level);
	for my $case (@cases)
	{
		my ($what, @sql) = ("$level, $case->[0]", @$case[ 1 .. $#$case ]);
		my ($session, $other) = map { SeqidSession->new($node) } 1 .. 2;
		my $keys = join "\n", map { $session->query($_) } @sql;

		$keys = $other->query($draw) unless $keys =~ /\|/;
		is($session->errors . $other->errors, '', "$what: no error");
		my ($last) = sort { $b->[0] <=> $a->[0] } map { [ split /\|/ ] } grep { /\|/ } split /\n/, $keys;

		$clock->crash($node, '-4s');
		$_->abandon for $session, $other;
		is(outcome($node, "SELECT count(*) FROM pg_extension WHERE extname = 'seqid'"), '1', "$what: survives a crash");
		# If it did not, the user would create it again.
		outcome($node, 'SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS seqid');
		cmp_ok(outcome($node, 'SELECT snowflake_nextval(5)'), '>', $last->[0], "$what: ids go on");
		cmp_ok(outcome($node, 'SELECT comb_uuid()'), 'gt', $last->[1], "$what: COMBs go on");

		# Past a mark from before.
		$clock->set('+3s');
	}
	$node->stop if $level eq 'minimal';
}

#
# Dropped, and created again after a restart: only the control file knows how late it was,
# in whole seconds.
#
for my $seconds (1800, 3600)
{
	my $what = "dropped, $seconds s";

	$clock->restart($node, '+0s');
	my ($last, $comb) = split /\|/, outcome($node, "SET seqid.max_lead = '1d'; $draw");
	my $second = outcome($node, "SELECT floor(extract(epoch FROM comb_uuid_timestamp('$comb')))");
	outcome($node, 'DROP EXTENSION seqid');
	$node->poll_query_until('postgres', "SELECT floor(extract(epoch FROM clock_timestamp())) > $second") or die;
	$clock->restart($node, "-${seconds}s");
	is(outcome($node, 'CREATE EXTENSION seqid'), '', "$what: created again");
	for my $shard (5, 6)
	{
		my $id = outcome($node, "SELECT snowflake_nextval($shard)");

		$seconds > 45 * 60 ? is($id, '55000', "$what: shard $shard is refused")
		  : cmp_ok($id >> 22, '>', $last >> 22, "$what: shard $shard goes on above");
	}
	cmp_ok(outcome($node, 'SELECT comb_uuid()'), 'gt', $comb, "$what: COMBs go on");
	is(outcome($node, "SELECT clock_floor >= comb_uuid_timestamp('$comb') FROM seqid.stat_database"), 't', "$what: the floor shows it");
}

#
# A cursor that was opened while its shard was allowed.
#
$clock->restart($node, '+0s');
my $session = SeqidSession->new($node);
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT snowflake_nextvals(5, 1000000)');
like($session->query('FETCH 1 FROM c'), qr/^\d+$/, 'a cursor: issues ids');
reconfigure($node, 'seqid.allowed_shards' => '6');
poll_until { $session->query('SHOW seqid.allowed_shards') eq '6' } or die 'the session does not read the file';
is($session->outcome('FETCH 100000 FROM c') =~ s/.*\n//sr, '55000', 'a cursor: issues no more, when its shard is not allowed');
$session->close;

$node->stop;
done_testing();

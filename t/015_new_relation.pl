# The extension is created, dropped and created again, and its mark altered or rolled back:
# ids that were returned do not come again, also after a crash that loses the transaction of
# the new mark.
#
# SQL can neither crash the server, nor set its clock, nor change its configuration file.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
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
# that commits.  A commit leaves the flush to the WAL writer, which is slow.
my $node;
for my $level ('minimal', 'replica')
{
	$clock->set('+0s');
	$node = new_server($level, clock => $clock, extension => 0, init => [ allows_streaming => $level eq 'replica' ],
		conf => <<CONF);
synchronous_commit = off
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
checkpoint_timeout = 1h
wal_level = $level
seqid.max_lead = 45min
CONF
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
	my ($last, $comb, $second) = split /\|/, outcome($node, "SET seqid.max_lead = '1d';
		$draw, ceil(extract(epoch FROM comb_uuid_timestamp(comb_uuid())))");
	outcome($node, 'DROP EXTENSION seqid');
	$node->poll_query_until('postgres', "SELECT clock_timestamp() > to_timestamp($second)") or die;
	$clock->restart($node, "-${seconds}s");
	is(outcome($node, 'CREATE EXTENSION seqid'), '', "$what: created again");
	is(outcome($node, "SELECT snowflake_nextval($_) >> 22 > ${last}::bigint >> 22"),
		$seconds > 45 * 60 ? '55000' : 't', "$what: shard $_ goes on above, up to the limit") for 5, 6;
	is(outcome($node, "SELECT comb_uuid() > '$comb', clock_floor >= comb_uuid_timestamp('$comb') FROM seqid.stat_database"),
		't|t', "$what: COMBs go on, and the floor shows it");
}

#
# Dropped and created again in a running server, also with keys ahead of the clock; what
# ALTER SEQUENCE does to the mark.
#
$clock->restart($node, '+0s');
my $session = SeqidSession->new($node);
my @keys = new_keys($node);
$session->query($_) for $draw, 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid';
@keys = keys_ascend($node, \@keys, 'created again');
$session->query($_) for 'DROP EXTENSION seqid', 'BEGIN', 'CREATE EXTENSION seqid';
my ($last) = split /\|/, $session->query($draw);
$session->query($_) for 'ROLLBACK', 'CREATE EXTENSION seqid';
is($session->query("SELECT snowflake_nextval(5) > $last") . $session->errors, 't',
	'created in a transaction that is rolled back: ids go on');
$session->close;

# Not used since.
for my $ahead ('+0s', '+5s')
{
	$clock->set($ahead);
	@keys = new_keys($node);
	$clock->set('+0s');
	$node->safe_psql('postgres', $_) for 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid';
	$clock->crash($node, $ahead eq '+0s' ? '-5s' : '+0s');
	@keys = keys_ascend($node, \@keys, "keys at $ahead, created again, not used, and a crash");
}

# The mark has a new file without its nonce.  It is the same mark, so it is no floor, and
# the lead of the keys does not add up.
my $floor = 'SELECT clock_floor FROM seqid.stat_database';
my $before = outcome($node, $floor);
for my $round (1 .. 3)
{
	$node->safe_psql('postgres', 'ALTER SEQUENCE seqid.clock_mark CACHE 1');
	outcome($node, 'SELECT comb_uuid()');
	is(outcome($node, $floor), $before, 'altered: the floor stays');
}
for my $value (0, 1)
{
	$node->safe_psql('postgres', "ALTER SEQUENCE seqid.clock_mark MINVALUE 0; SELECT setval('seqid.clock_mark', $value)");
	@keys = keys_ascend($node, \@keys, "set to $value");
}
is(outcome($node, 'SELECT clock_mark > clock_timestamp() FROM seqid.stat_database'), 't', 'set to 1: and it is raised again');

$node->stop;
done_testing();

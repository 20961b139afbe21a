# A mark in a relation whose transaction is lost in a crash is no mark: ids that
# were given are not given again, however new the extension was.  Nor are those
# of one that was dropped, or of a shard that was taken away meanwhile.
#
# SQL can neither crash the server, nor set its clock, nor change its
# configuration file.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node;

# A commit leaves the flush to the WAL writer, who takes its time.
sub new_node
{
	my ($level) = @_;

	$node = PostgreSQL::Test::Cluster->new($level);
	$node->init;
	$node->append_conf('postgresql.conf',
		"synchronous_commit = off\nwal_writer_delay = 10s\nwal_writer_flush_after = 1GB\n"
		  . "autovacuum = off\ncheckpoint_timeout = 1h\nwal_level = $level\nseqid.max_clock_regression = 45min");
	$clock->set('+0s');
	$clock->start($node);
	return;
}

#
# Made and used, and a crash at once.  A list of statements is sent one by one;
# the last two draw an id and a COMB.
#
my $draw = 'SELECT snowflake_nextval(5), comb_uuid()';
# A commit that deletes a file is flushed in any case: those that drop the
# extension in the transaction are here for what they do otherwise.
my @cases = (
	[ 'created', 'CREATE EXTENSION seqid', $draw ],
	[ 'dropped and created', 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid', $draw ],
	[ 'dropped and created in a transaction',
		'BEGIN', 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid', 'COMMIT', $draw ],
	[ 'dropped after drawing, and created',
		'BEGIN', $draw, 'DROP EXTENSION seqid', 'CREATE EXTENSION seqid', 'COMMIT', $draw ],
	[ 'drawn in the creating transaction',
		'DROP EXTENSION seqid', 'BEGIN', 'CREATE EXTENSION seqid', $draw, 'COMMIT' ],
	[ 'created after a savepoint that was rolled back',
		'DROP EXTENSION seqid', 'BEGIN', 'SAVEPOINT a', 'CREATE EXTENSION seqid', $draw, 'ROLLBACK TO a',
		'SAVEPOINT b', 'CREATE EXTENSION seqid', $draw, 'RELEASE b', 'COMMIT' ],
	[ 'in a new file', 'BEGIN', 'ALTER SEQUENCE seqid.clock_mark INCREMENT 1', $draw, 'COMMIT' ]);

# What was drawn in one session, the last of it.
sub last_drawn
{
	my ($seen) = @_;
	my @drawn = sort { $a->[0] <=> $b->[0] } map { [ split /\|/ ] } grep { /\|/ } split /\n/, $seen;

	return @{ $drawn[-1] // [ 0, '' ] };
}

sub check_crash
{
	my ($what, $last, $comb) = @_;

	$clock->crash($node, '-4s');
	is(outcome($node, 'postgres', "SELECT count(*) FROM pg_extension WHERE extname = 'seqid'"), '1', "$what: survives a crash");

	# Where it is lost, it would be made again.
	outcome($node, 'postgres', 'SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS seqid');
	cmp_ok(outcome($node, 'postgres', 'SELECT snowflake_nextval(5)'), '>', $last, "$what: ids go on");
	cmp_ok(outcome($node, 'postgres', 'SELECT comb_uuid()'), 'gt', $comb, "$what: combs go on");

	# Further than what a mark from before covers.
	$clock->set('+3s');
	return;
}

# A relation that is new to its transaction is not logged under "minimal", but
# written whole when that commits.
for my $level ('minimal', 'replica')
{
	new_node($level);
	for my $case (@cases)
	{
		my ($what, @sql) = @$case;
		my $session = SeqidSession->new($node);
		my $seen = join "\n", map { $session->query($_) } @sql;

		is($session->errors, '', "$level, $what: no error");
		check_crash("$level, $what", last_drawn($seen));
		$session->abandon;
	}

	# Another session draws when the first has just committed.
	my ($creator, $other) = map { SeqidSession->new($node) } 1 .. 2;

	$creator->query('DROP EXTENSION seqid');
	$creator->query('CREATE EXTENSION seqid');
	my $seen = $other->query($draw);
	is($other->errors, '', "$level, another session: no error");
	check_crash("$level, another session", last_drawn($seen));
	$_->abandon for $creator, $other;
	$node->stop if $level eq 'minimal';
}

#
# Dropped, and created again after a restart: nothing but the control file tells
# how late it was, in whole seconds.
#
for my $case ([ 1800, 0 ], [ 3600, 1 ])
{
	my ($seconds, $refused) = @$case;
	my $what = "dropped, $seconds s";

	$clock->restart($node, '+0s');
	my ($last, $comb) = split /\|/, outcome($node, 'postgres', 'SET seqid.max_clock_regression = \'1d\'; SELECT snowflake_nextval(5), comb_uuid()');
	my $second = outcome($node, 'postgres', "SELECT floor(extract(epoch FROM comb_uuid_timestamp('$comb')))");
	outcome($node, 'postgres', 'DROP EXTENSION seqid');
	$node->poll_query_until('postgres', "SELECT floor(extract(epoch FROM clock_timestamp())) > $second") or die;
	$clock->restart($node, "-${seconds}s");
	is(outcome($node, 'postgres', 'CREATE EXTENSION seqid'), '', "$what: created again");
	for my $shard (5, 6)
	{
		my $id = outcome($node, 'postgres', "SELECT snowflake_nextval($shard)");

		$refused ? is($id, '55000', "$what: shard $shard is refused")
		  : cmp_ok($id >> 22, '>', $last >> 22, "$what: shard $shard goes on above");
	}
	cmp_ok(outcome($node, 'postgres', 'SELECT comb_uuid()'), 'gt', $comb, "$what: combs go on");
	is(outcome($node, 'postgres', "SELECT clock_floor >= comb_uuid_timestamp('$comb') FROM seqid.stat_database"), 't', "$what: the floor shows it");
}

#
# A cursor that was opened while its shard was allowed.
#
{
	$clock->restart($node, '+0s');
	my $session = SeqidSession->new($node);

	$session->query('BEGIN');
	$session->query('DECLARE c CURSOR FOR SELECT snowflake_nextvals(5, 1000000)');
	like($session->query('FETCH 1 FROM c'), qr/^\d+$/, 'a cursor: issues ids');
	$node->append_conf('postgresql.conf', "seqid.allowed_shards = '6'\nregress_test.mark = 'read'");
	$node->reload;
	my $read = poll_until { $session->query("SELECT current_setting('regress_test.mark', true)") eq 'read' };
	ok($read, 'a cursor: the session has read the file');
	is($session->query('SHOW seqid.allowed_shards'), '6', 'a cursor: its shard is not allowed any more');
	$session->query('FETCH 100000 FROM c');
	like($session->errors, qr/^ERROR:  55000: shard 5 is not one that this server may issue$/m,
		'a cursor: issues no more');
	$session->close;
}

$node->stop;
done_testing();

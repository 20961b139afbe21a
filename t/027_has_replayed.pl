# A standby that did not follow the promoted one has WAL at the same positions, but not
# the rows: seqid.has_replayed() compares timelines as well.
#
# Timelines begin with promotions, which SQL alone cannot undo.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

sub ask ($node, $lsn, $timeline)
{
	return outcome($node, "SELECT seqid.has_replayed('$lsn', $timeline)");
}

# (lsn, timeline)
sub point ($node)
{
	return (split /\|/, outcome($node, 'CALL seqid.horizon()'))[ 1, 2 ];
}

sub wait_for_point ($node, @point)
{
	ok($node->poll_query_until('postgres', "SELECT seqid.has_replayed('$point[0]', $point[1])"),
		$node->name . ' gets there');
}

my $lost = new_server('lost', streaming => 1);
$lost->safe_psql('postgres', 'CREATE TABLE t (id bigint)');
my $ahead = new_standby($lost, 'ahead');
my $promoted = new_standby($lost, 'promoted');

my @common = point($lost);
is(ask($lost, @common), 't', 'a primary has its own point');
is(ask($lost, 'FFFFFFFF/0', 1), 'f', 'and none that it has not written');
is(ask($lost, '0/0', 2), 'f', 'nor one of a timeline to come');
wait_for_point($_, @common) for $ahead, $promoted;

# One standby misses a megabyte, the other has it and then follows nothing.
$promoted->stop;
$lost->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1, 10000)');
my @only_ahead = point($lost);
wait_for_point($ahead, @only_ahead);
$ahead->safe_psql('postgres', q(ALTER SYSTEM SET primary_conninfo = ''));
$lost->stop('immediate');
$promoted->append_conf('postgresql.conf', q(primary_conninfo = ''));
$promoted->start;
$promoted->promote;
$promoted->safe_psql('postgres', 'INSERT INTO t VALUES (1)');
my @new = point($promoted);
is($new[1], 2, 'a promotion begins a timeline');
is(ask($promoted, @new), 't', 'the promoted server has its own point');
is(ask($promoted, @common), 't', 'and one of the common history');
is(ask($promoted, @only_ahead), 'f', 'not one that was lost');

# By positions alone, the standby that is ahead would have the new rows.
is($ahead->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() >= '$new[0]'"), 't', 'a position does not tell');
is(ask($ahead, @new), 'f', 'a standby on the old timeline has not the new rows');
is(ask($ahead, @only_ahead), 't', 'but its own');

# The old timeline has ended at the switch point, which belongs to both.
my $history = slurp_file($promoted->data_dir . '/pg_wal/00000002.history');
my ($switch) = $history =~ m{^1\t(\S+)} or die $history;
is(ask($promoted, $switch, $_), 't', "timeline $_ has the switch point") for 1, 2;
my $beyond = $promoted->safe_psql('postgres', "SELECT '$switch'::pg_lsn + 1");
is(ask($promoted, $beyond, 1), 'f', 'the old timeline has nothing beyond it');

# A standby of the promoted server, and one of that.
my $follower = new_standby($promoted, 'follower');
wait_for_point($follower, @new);
my $cascading = new_standby($follower, 'cascading');
wait_for_point($cascading, @new);
is(ask($_, @common), 't', $_->name . ' has the common history') for $follower, $cascading;
is(ask($_, @only_ahead), 'f', $_->name . ' has nothing that was lost') for $follower, $cascading;

unlink $cascading->data_dir . '/pg_wal/00000002.history' or die $!;
is(ask($cascading, @common), 'f', 'without the file of its history a server knows no ancestor');
is(ask($cascading, @new), 't', 'but its own timeline');

# A sibling: the other standby is promoted after it has heard of the first promotion.
append_to_file($ahead->data_dir . '/pg_wal/00000002.history', $history);
$ahead->promote;
is((point($ahead))[1], 3, 'a second promotion begins another timeline');
is(ask($ahead, @new), 'f', 'a sibling has not the new rows');
is(ask($ahead, @only_ahead), 't', 'but those of its ancestor');

is($ahead->safe_psql('postgres', "SELECT seqid.has_replayed(NULL, 1) IS NULL AND seqid.has_replayed('0/0', NULL) IS NULL"),
	't', 'NULL gives NULL');
is(ask($ahead, '0/0', $_), '22023', "timeline $_ is out of range") for 0, -1, 4294967296;
is(ask($ahead, '0/0', 4294967295), 'f', 'the last timeline is not');

done_testing();

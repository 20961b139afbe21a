# A standby that did not follow the promoted one has WAL at the same positions, but not
# the rows: seqid.has_replayed() compares timelines as well.  Two promotions can take one
# timeline, so it also compares the lifetime of the primary.
#
# Timelines begin with promotions, which SQL alone cannot undo.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

sub ask ($node, $lsn, $timeline, $lifetime)
{
	return outcome($node, "SELECT seqid.has_replayed('$lsn', $timeline, $lifetime)");
}

# (lsn, timeline, lifetime)
sub point ($node)
{
	return (split /\|/, outcome($node, 'CALL seqid.horizon()'))[ 1, 2, 6 ];
}

sub wait_for_point ($node, @point)
{
	ok($node->poll_query_until('postgres', "SELECT seqid.has_replayed('$point[0]', $point[1], $point[2])"),
		$node->name . ' gets there');
}

my $lost = new_server('lost', streaming => 1);
$lost->safe_psql('postgres', 'CREATE TABLE t (id bigint)');
my $ahead = new_standby($lost, 'ahead');
my $promoted = new_standby($lost, 'promoted');

my @common = point($lost);
is(ask($lost, @common), 't', 'a primary has its own point');
is(ask($lost, 'FFFFFFFF/0', 1, $common[2]), 'f', 'and none that it has not written');
is(ask($lost, '0/0', 2, $common[2]), 'f', 'nor one of a timeline to come');
is(ask($lost, '0/0', 1, $common[2] + 1), 'f', 'nor one of another lifetime');
my $sequence = 'CREATE SEQUENCE s; CALL seqid.sequence_horizon($$s$$)';
is((split /\|/, outcome($lost, $sequence))[3], $common[2], 'a sequence has the same lifetime');
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
$promoted->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1, 20000)');
my ($switch) = slurp_file($promoted->data_dir . '/pg_wal/00000002.history') =~ m{^1\t(\S+)} or die;
is(ask($promoted, @common), 't', 'a promoted server has a point of the common history');
is(ask($promoted, @only_ahead), 'f', 'not one that was lost');
# The old timeline has ended at the switch point, which belongs to both.
is(ask($promoted, $switch, $_, $common[2]), 't', "timeline $_ has the switch point") for 1, 2;
my $beyond = $promoted->safe_psql('postgres', "SELECT '$switch'::pg_lsn + 1");
is(ask($promoted, $beyond, 1, $common[2]), 'f', 'the old timeline has nothing beyond it');

my @new = point($promoted);
is($new[1], 2, 'a promotion begins a timeline');
is(ask($promoted, @new), 't', 'the promoted server has its own point');
cmp_ok($new[2], '!=', $common[2], 'of another lifetime');
is(ask($promoted, @common), 'f', 'a point of an earlier lifetime is not known any more');

# By positions alone, the standby that is ahead would have the new rows.
is($ahead->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() >= '$switch'"), 't', 'the standby on the old timeline is beyond the switch point');
is(ask($ahead, @new), 'f', 'a standby on the old timeline has not the new rows');
is(ask($ahead, @only_ahead), 't', 'but its own');

# A standby of the promoted server
my $follower = new_standby($promoted, 'follower');
wait_for_point($follower, @new);
is(ask($follower, @only_ahead), 'f', 'a standby of the promoted server has nothing that was lost');

# A sibling: the other standby is promoted after it has heard of the first promotion.
append_to_file($ahead->data_dir . '/pg_wal/00000002.history', slurp_file($promoted->data_dir . '/pg_wal/00000002.history'));
$ahead->promote;
is(ask($ahead, @new), 'f', 'a sibling has not the new rows');
is(ask($ahead, @only_ahead), 't', 'but those of its ancestor');
my $history = $ahead->data_dir . '/pg_wal/00000003.history';
rename $history, "$history.away" or die $!;
is(ask($ahead, @only_ahead), 'f', 'without the file of its history a server knows no ancestor');
rename "$history.away", $history or die $!;
my @sibling = point($ahead);
is($sibling[1], 3, 'a second promotion begins another timeline');
is(ask($ahead, @sibling), 't', 'it has its own point');
is(ask($ahead, @only_ahead), 'f', 'and knows none of an earlier lifetime');

# Two standbys that do not know of each other are promoted from one point to one number.
my @twin = map { new_standby($ahead, "twin$_") } 1, 2;
$ahead->stop;
my %point;
for my $twin (@twin)
{
	$twin->promote;
	$twin->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1, 1000)');
	$point{ $twin->name } = [ point($twin) ];
}
is(join(' ', map { $_->[1] } values %point), '4 4', 'twins: one timeline');
for my $on (@twin)
{
	$on->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1, 10000)');
	is(ask($on, @{ $point{ $_->name } }), $_ == $on ? 't' : 'f', $on->name . ': a point of ' . $_->name) for @twin;
}

# setval() removes the number from the page, and the next call logs it again.
$twin[0]->safe_psql('postgres', q{SELECT setval('seqid.clock_mark', last_value) FROM seqid.clock_mark});
is(ask($twin[0], @{ $point{twin1} }), 'f', 'setval() on the mark: the lifetime is not known');
is(ask($twin[0], '0/0', 1, 0), 'f', 'setval() on the mark: 0 is no lifetime');
is(ask($twin[0], point($twin[0])), 't', 'the next call logs it again');

done_testing();

# ALTER SUBSCRIPTION ... REFRESH SEQUENCES sets the mark to the publisher's, which can be
# lower or higher.  Keys of the subscriber do not come again, and go on above those of the
# publisher.
#
# Only a second server replicates sequences.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

plan skip_all => 'PostgreSQL before 19 does not replicate sequences'
  if PostgreSQL::Test::Cluster->new('version')->pg_version < '19devel';

# An hour behind, from its first checkpoint on.
my $publisher_clock = SeqidClock->new('-1h');
my $publisher = new_server('publisher', clock => $publisher_clock, init => [ allows_streaming => 'logical' ]);
# Only the test locks the mark's page.
my $clock = SeqidClock->new;
my $subscriber = new_server('subscriber', clock => $clock, conf => "bgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h");

$publisher->safe_psql('postgres', 'CREATE PUBLICATION numbers FOR ALL SEQUENCES');
$subscriber->safe_psql('postgres',
	sprintf "CREATE SUBSCRIPTION numbers CONNECTION '%s dbname=postgres' PUBLICATION numbers", $publisher->connstr);

sub mark ($node)
{
	return outcome($node, 'SELECT last_value FROM seqid.clock_mark');
}

sub unix_ms ($key)
{
	return ($key >> 22) + 1672531200000;
}

sub wait_until_synchronized
{
	$subscriber->poll_query_until('postgres',
		"SELECT count(*) > 0 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel")
	  or die 'sequences are not synchronized';
}

# The publisher generates a key, and its mark replaces the subscriber's.
sub refresh ($what)
{
	my $key = outcome($publisher, 'SELECT snowflake_nextval(5)');
	my $mark = mark($publisher);

	$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION numbers REFRESH SEQUENCES');
	wait_until_synchronized;
	is(mark($subscriber), $mark, "$what: the subscriber has the publisher's mark");
	return $key;
}

# All keys that the subscriber has generated in shard 5.
my @keys;

sub generate ($session)
{
	push @keys, $session->query('SELECT snowflake_nextval(5)');
	return $keys[-1];
}

sub highest
{
	return (sort { $b <=> $a } @keys)[0];
}

# Generates keys until half a second after the session's last one, by the time in them;
# then the mark covers each key.
sub is_raised_after_half_a_second ($session, $what)
{
	my $until = unix_ms($keys[-1]) + 500;
	my $ms;

	do { $ms = unix_ms(generate($session)) } while $ms <= $until;
	cmp_ok(mark($subscriber), '>=', $ms, "$what: raised after half a second");
}

# Kills the subscriber, and starts it with a clock that is behind all its keys.
sub crash_with_clock_behind ($what, $session)
{
	my $highest = highest();

	$clock->crash($subscriber, '-5s');
	$session->abandon;
	$session = SeqidSession->new($subscriber);
	cmp_ok(generate($session), '>', $highest, "$what: after a crash, keys go on");
	$session->close;
	$clock->set('+0s');
}

wait_until_synchronized;
for my $round (1 .. 3)
{
	my $what = "set back, round $round";
	my $session = SeqidSession->new($subscriber);

	generate($session);
	my $mark = mark($subscriber);
	refresh($what);
	cmp_ok(mark($subscriber), '<', $mark, "$what: it is lower");
	is_raised_after_half_a_second($session, $what);
	crash_with_clock_behind($what, $session);

	# The first key of a session does not wait for that.
	$what = "new session, round $round";
	refresh($what);
	$session = SeqidSession->new($subscriber);
	cmp_ok(unix_ms(generate($session)), '<=', mark($subscriber), "$what: raised with its first key");
	crash_with_clock_behind($what, $session);
}

# A crash before any key is generated leaves the publisher's mark.
my $highest = highest();
refresh('no key');
$clock->crash($subscriber, '-5s');
$subscriber->safe_psql('postgres', "SET seqid.shards = 5; SELECT snowflake_witness($highest)");
push @keys, outcome($subscriber, 'SELECT snowflake_nextval(5)');
cmp_ok($keys[-1], '>', $highest, 'no key: the highest key of a table is a witness');
$clock->set('+0s');

# A publisher whose clock is ahead, and from which the subscriber takes over.
$publisher_clock->set('+3s');
my $session = SeqidSession->new($subscriber);
generate($session);
my $key = refresh('ahead');
cmp_ok(outcome($subscriber, 'SELECT snowflake_nextval(5)'), '>', $key, 'ahead: keys of a new session are above those of the publisher');
is_raised_after_half_a_second($session, 'ahead');
cmp_ok($keys[-1], '>', $key, 'ahead: and so are those of an old session');
crash_with_clock_behind('ahead', $session);

# Further than keys can be ahead of the clock.
$publisher_clock->set('+1h');
refresh('an hour ahead');
is(outcome($subscriber, 'SELECT snowflake_nextval(5)'), '55000', 'an hour ahead: the subscriber refuses keys');
push @keys, outcome($subscriber, "SET seqid.max_lead = '2h'; SELECT snowflake_nextval(5)");
like($keys[-1], qr/^\d+$/, 'an hour ahead: a larger limit lets keys go on');

my %seen;
is(scalar(grep { $seen{$_}++ } @keys), 0, 'no key of the subscriber came twice');

$_->stop for $subscriber, $publisher;
done_testing();

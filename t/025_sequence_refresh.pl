# ALTER SUBSCRIPTION ... REFRESH SEQUENCES sets the mark to the publisher's, which can
# be lower or higher.  Keys of the subscriber do not come again, and go on above those
# of the publisher.
#
# Only a second server replicates sequences.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');

plan skip_all => 'PostgreSQL before 19 does not replicate sequences'
  if $publisher->pg_version < '19devel';

my $publisher_clock = SeqidClock->new;
my $subscriber_clock = SeqidClock->new;

# An hour behind, from its first checkpoint on.
$publisher_clock->set('-1h');
$publisher_clock->init($publisher, allows_streaming => 'logical');
$publisher_clock->start($publisher);
$subscriber->init;

# Nothing but the test locks the mark's page.
$subscriber->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
CONF
$subscriber_clock->start($subscriber);
$_->safe_psql('postgres', 'CREATE EXTENSION seqid') for $publisher, $subscriber;
$publisher->safe_psql('postgres', 'CREATE PUBLICATION numbers FOR ALL SEQUENCES');
$subscriber->safe_psql('postgres',
	sprintf "CREATE SUBSCRIPTION numbers CONNECTION '%s dbname=postgres' PUBLICATION numbers",
	$publisher->connstr);

sub mark
{
	my ($node) = @_;

	return outcome($node, 'postgres', 'SELECT last_value FROM seqid.clock_mark');
}

# The key's time, as the mark has it.
sub unix_ms
{
	my ($key) = @_;

	return ($key >> 22) + 1672531200000;
}

sub wait_until_synchronized
{
	$subscriber->poll_query_until('postgres',
		"SELECT count(*) > 0 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel")
	  or die 'sequences are not synchronized';
	return;
}

# The publisher generates a key, and its mark replaces the subscriber's.
sub refresh
{
	my ($what) = @_;
	my $key = outcome($publisher, 'postgres', 'SELECT snowflake_nextval(5)');
	my $mark = mark($publisher);

	$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION numbers REFRESH SEQUENCES');
	wait_until_synchronized;
	is(mark($subscriber), $mark, "$what: the subscriber has the publisher's mark");
	return $key;
}

# All keys that the subscriber has generated in shard 5.
my @keys;

sub generate
{
	my ($session) = @_;

	push @keys, $session->query('SELECT snowflake_nextval(5)');
	return $keys[-1];
}

# Goes on until half a second after the session's last key, by the time in the keys;
# then the mark covers each key.
sub generate_past_half_a_second
{
	my ($session) = @_;
	my $until = unix_ms($keys[-1]) + 500;
	my $ms;

	do
	{
		$ms = unix_ms(generate($session));
	} while ($ms <= $until);
	return mark($subscriber) >= $ms;
}

# Kills the subscriber, and starts it with a clock that is behind all its keys.
sub crash_with_clock_behind
{
	my ($what) = @_;
	my ($highest) = sort { $b <=> $a } @keys;

	$subscriber_clock->crash($subscriber, '-5s');
	my $session = SeqidSession->new($subscriber);
	cmp_ok(generate($session), '>', $highest, "$what: after a crash, keys go on");
	$session->close;
	$subscriber_clock->set('+0s');
	return;
}

# A mark that was set back.
wait_until_synchronized;
for my $round (1 .. 3)
{
	my $session = SeqidSession->new($subscriber);

	generate($session);
	my $mark = mark($subscriber);
	refresh("set back, round $round");
	cmp_ok(mark($subscriber), '<', $mark, "set back, round $round: it is lower");
	ok(generate_past_half_a_second($session), "set back, round $round: raised after half a second");
	crash_with_clock_behind("set back, round $round");
	$session->abandon;

	# The first key of a session does not wait for that.
	refresh("new session, round $round");
	$session = SeqidSession->new($subscriber);
	cmp_ok(unix_ms(generate($session)), '<=', mark($subscriber), "new session, round $round: raised with its first key");
	crash_with_clock_behind("new session, round $round");
	$session->abandon;
}

# A crash before any key is generated leaves the publisher's mark.
{
	my ($highest) = sort { $b <=> $a } @keys;

	refresh('no key');
	$subscriber_clock->crash($subscriber, '-5s');
	$subscriber->safe_psql('postgres', "SET seqid.shards = 5; SELECT snowflake_witness($highest)");
	push @keys, outcome($subscriber, 'postgres', 'SELECT snowflake_nextval(5)');
	cmp_ok($keys[-1], '>', $highest, 'no key: the highest key of a table is a witness');
	$subscriber_clock->set('+0s');
}

# A publisher whose clock is ahead, and which the subscriber takes over from.
$publisher_clock->set('+3s');
{
	my $session = SeqidSession->new($subscriber);

	generate($session);
	my $key = refresh('ahead');
	cmp_ok(outcome($subscriber, 'postgres', 'SELECT snowflake_nextval(5)'), '>', $key,
		'ahead: keys of a new session are above those of the publisher');
	ok(generate_past_half_a_second($session), 'ahead: raised after half a second');
	cmp_ok($keys[-1], '>', $key, 'ahead: and so are those of an old session');
	crash_with_clock_behind('ahead');
	$session->abandon;
}

# More so than keys can be ahead of the clock.
$publisher_clock->set('+1h');
refresh('an hour ahead');
is(outcome($subscriber, 'postgres', 'SELECT snowflake_nextval(5)'), '55000', 'an hour ahead: the subscriber refuses keys');
push @keys, outcome($subscriber, 'postgres',
	"SET seqid.max_clock_regression = '2h'; SELECT snowflake_nextval(5)");
like($keys[-1], qr/^\d+$/, 'an hour ahead: a larger limit lets keys go on');

my %seen;
is(scalar(grep { $seen{$_}++ } @keys), 0, 'no key of the subscriber came twice');

$_->stop for $subscriber, $publisher;
done_testing();

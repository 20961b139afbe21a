# A standby is promoted while its clock is behind: ids go on, or are refused.
# With a synchronous standby, the mark waits for it as a commit would.
#
# Only a real standby is promoted.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $primary_clock = SeqidClock->new;
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary_clock->start($primary);
$primary->safe_psql('postgres',
	'CREATE EXTENSION seqid; CREATE TABLE t (id bigint, c uuid)');
$primary->backup('base');

sub new_standby
{
	my ($name, $clock) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$clock->start($standby);
	return $standby;
}

# What the primary issued and the standby knows of.
my $fill = 'INSERT INTO t SELECT snowflake_nextval(5), comb_uuid() FROM generate_series(1, 10000)';

sub fill_and_catch_up
{
	my ($standby) = @_;

	$primary->safe_psql('postgres', $fill);
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

# The promoted standby repeats nothing that it has, in spite of its clock.
sub check_promoted
{
	my ($standby, $what) = @_;

	is(outcome($standby, 'postgres', 'SELECT snowflake_nextval(5) > (SELECT max(id) FROM t)'),
		't', "$what: ids go on");
	is(outcome($standby, 'postgres', "WITH n AS MATERIALIZED (SELECT snowflake_nextval(5) AS id FROM generate_series(1, 20000))
		SELECT count(*) FROM n JOIN t USING (id)"),
		'0', "$what: none comes again");
	is(outcome($standby, 'postgres', 'SELECT bool_and(new > c) FROM t, (SELECT comb_uuid() AS new OFFSET 0) n'),
		't', "$what: combs go on in order");
	return;
}

# Asynchronous, 6 s behind.
{
	my $clock = SeqidClock->new;
	$clock->set('-6s');
	my $standby = new_standby('six_seconds', $clock);

	fill_and_catch_up($standby);
	is(outcome($standby, 'postgres', 'SELECT snowflake_nextval(5)'), '25006', '6 s: refused while in recovery');

	# A session that was there, and drew COMBs, before the promotion.
	my $session = SeqidSession->new($standby);
	my $comb = $session->query('SELECT comb_uuid()');
	like($comb, qr/^[0-9a-f-]{36}$/, '6 s: combs are not refused');

	$standby->promote;
	cmp_ok($session->query('SELECT comb_uuid()'), 'gt', $comb,
		'6 s: a session that stayed goes on in order');
	$session->close;
	check_promoted($standby, '6 s');
	$standby->stop;
}

# Asynchronous, 1 h behind.
{
	my $clock = SeqidClock->new;
	$clock->set('-1h');
	my $standby = new_standby('one_hour', $clock);

	fill_and_catch_up($standby);
	is(outcome($standby, 'postgres', 'SELECT snowflake_nextval(5)'), '25006', '1 h: refused while in recovery');
	$standby->promote;
	is(outcome($standby, 'postgres', 'SELECT snowflake_nextval(5)'), '55000', '1 h: refused as the clock is behind');
	is(outcome($standby, 'postgres', 'SELECT snowflake_nextval(6)'), '55000', '1 h: unused shards too');
	is(outcome($standby, 'postgres', 'SELECT bool_and(new > c) FROM t, (SELECT comb_uuid() AS new OFFSET 0) n'),
		't', '1 h: combs go on in order');
	$clock->set('+0s');
	check_promoted($standby, '1 h, clock corrected');
	$standby->stop;
}

# Synchronous, 6 s behind: an id that a client has been given is covered by a
# mark that the standby has, even though nothing was ever committed.
{
	my $clock = SeqidClock->new;
	$clock->set('-6s');
	my $standby = new_standby('synchronous', $clock);

	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
	$primary->reload;
	SeqidSession::wait_until_synchronous($primary);

	my $session = SeqidSession->new($primary);
	$session->query('SELECT snowflake_nextval(5)');

	# Without its standby the primary issues nothing that the mark does not
	# cover yet: the clock is set ahead so that this is the next id.
	$standby->stop;
	$primary_clock->set('+5s');
	like($primary->safe_psql('postgres', 'SELECT 1'), qr/1/, 'synchronous: the primary is up');
	my $impatient = SeqidSession->new($primary);
	$impatient->send('SELECT snowflake_nextval(5)');
	$impatient->waits_for($primary, 'SyncRep') or die 'the mark does not wait for the standby';
	$primary->safe_psql('postgres', "SELECT pg_cancel_backend($impatient->{pid})");
	is($impatient->answer, '', 'synchronous: who cancels gets no id');
	like($impatient->errors, qr/^ERROR:  57014: /m, 'synchronous: but an error');
	$impatient->close;
	$session->send('SELECT snowflake_nextval(5)');
	$session->waits_for($primary, 'SyncRep') or die 'the mark does not wait for the standby';
	ok(!$session->answered, 'synchronous: the id does not leave');

	$clock->start($standby);
	my $last = $session->answer;
	like($last, qr/^\d+$/, 'synchronous: it leaves when the standby has the mark');
	$session->close;

	# The primary is gone; nothing but the mark tells of its last id.
	$primary->kill9;
	$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''\nseqid.max_clock_regression = '20s'");
	$standby->reload;
	$standby->promote;
	cmp_ok(outcome($standby, 'postgres', 'SELECT snowflake_nextval(5)'), '>', $last,
		'synchronous: the promoted standby goes on after the last id');
	$standby->stop;
}

done_testing();

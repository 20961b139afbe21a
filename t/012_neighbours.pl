# Nobody stops his neighbour: neither does a user who may only call functions
# drive the keys of a server into the future, nor a database whose mark is far
# ahead those of the others; and a copy of a database is not taken for the
# original.
#
# What this costs shows after restarts and crashes, and with clocks that SQL
# cannot set.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_node('main');

sub new_node
{
	my ($name) = @_;
	my $new = PostgreSQL::Test::Cluster->new($name);

	$new->init;
	$new->append_conf('postgresql.conf', 'autovacuum = off');
	return $new;
}

# How far something is ahead of the clock, in milliseconds; the clock is read
# after it.
sub ahead
{
	my ($database, $time) = @_;

	return outcome($node, $database,
		"SELECT ceil(extract(epoch FROM at - clock_timestamp()) * 1000) FROM (SELECT $time AS at OFFSET 0) t");
}

# A server that was started again is ahead by what is left of the mark's second.
my $mark_ms = 1100;

sub check_at_the_clock
{
	my ($database, $what) = @_;

	cmp_ok(ahead($database, 'snowflake_timestamp(snowflake_nextval(5))'),
		'<=', $mark_ms, "$what: snowflakes are at the clock");
	cmp_ok(ahead($database, 'comb_uuid_timestamp(comb_uuid())'),
		'<=', $mark_ms, "$what: combs are at the clock");
	return;
}

sub create_database
{
	my ($name) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION seqid');
	return;
}

#
# COMBs that are reserved and thrown away, faster than the clock has ticks for
# them: two sessions ask for many and take half of what is reserved.
#
$node->start;
create_database('near');
$node->safe_psql('postgres', 'CREATE ROLE regress_seqid_user LOGIN');
{
	my @sessions = map { SeqidSession->new($node, 'near') } 1 .. 2;
	my $lead = 0;

	for my $session (@sessions)
	{
		$session->query('SET ROLE regress_seqid_user');
		$session->send('SELECT count(c) FROM generate_series(1, 60000) n,
			LATERAL (SELECT comb_uuids(1000 + 0 * n) AS c LIMIT 129) d');
	}
	for my $session (@sessions)
	{
		my $more = 1;
		while ($more)
		{
			$more = !$session->answered;
			my $now = ahead('near', '(SELECT comb_time FROM seqid.stat_database)');
			$lead = $now if $now > $lead;
		}
		is($session->answer, 60000 * 129, 'wasted combs: drawn');
	}
	cmp_ok($lead, '<=', 2, 'wasted combs: were never ahead of the clock');
	$_->close for @sessions;
}
$clock->restart($node, '+0s');
check_at_the_clock('near', 'wasted combs, restarted');

#
# A mark that is a day ahead is so in one database.  "near" has not been used
# while the clock was wrong, "late" is used for the first time after it.
#
create_database($_) for 'far', 'late';
outcome($node, 'late', 'SELECT snowflake_nextval(5)');
$clock->restart($node, '+1d');
my $far_comb = outcome($node, 'far', 'SELECT comb_uuid()');
like(outcome($node, 'far', 'SELECT snowflake_nextval(7)'), qr/^\d+$/, 'a day ahead: snowflakes');
$clock->restart($node, '+0s');

my $a_day_ahead = "clock_floor BETWEEN clock_timestamp() + interval '23h' AND clock_timestamp() + interval '25h'";
check_at_the_clock('near', 'beside a day ahead');
is(outcome($node, 'far', 'SELECT snowflake_nextval(7)'), '55000', 'a day ahead: snowflakes are refused');
is(outcome($node, 'far', 'SELECT snowflake_nextval(5)'), '55000', 'a day ahead: of every shard');
my $next = outcome($node, 'far', 'SELECT comb_uuid()');
cmp_ok($next, 'gt', $far_comb, 'a day ahead: combs go on');
cmp_ok(ahead('far', "comb_uuid_timestamp('$next')"), '>', 23 * 3600 * 1000, 'a day ahead: from there');
is(outcome($node, 'far', "SELECT $a_day_ahead FROM seqid.stat_database"), 't', 'a day ahead: its floor shows it');
for my $database ('near', 'late')
{
	check_at_the_clock($database, "beside a day ahead, $database");
	cmp_ok(ahead($database, 'snowflake_timestamp(snowflake_nextval(7))'),
		'<=', $mark_ms, "beside a day ahead, $database: of the same shard, too");
	is(outcome($node, $database, "SELECT clock_floor < clock_timestamp() + interval '2s',
			clock_mark < clock_timestamp() + interval '3s',
			comb_time < clock_timestamp() + interval '2s' FROM seqid.stat_database"),
		't|t|t', "beside a day ahead, $database: statistics are its own");
}

# The database is dropped; nothing remains of it.
$node->safe_psql('postgres', 'DROP DATABASE far');
$clock->restart($node, '+0s');
for my $database ('late', 'near')
{
	check_at_the_clock($database, "after a day ahead, $database");
}

# In one life: a mark that is set while others draw.
create_database('far');
my $session = SeqidSession->new($node, 'near');
$session->query('SELECT snowflake_nextval(5)');
$node->safe_psql('far', "SELECT setval('seqid.clock_mark', last_value + 86400000) FROM seqid.clock_mark");
is(outcome($node, 'far', 'SELECT snowflake_nextval(5)'), '55000', 'set a day ahead: snowflakes are refused');
cmp_ok(ahead('far', 'comb_uuid_timestamp(comb_uuid())'),
	'>', 23 * 3600 * 1000, 'set a day ahead: combs go on from there');
is(outcome($node, 'far', "SELECT $a_day_ahead FROM seqid.stat_database"), 't', 'set a day ahead: its floor shows it');
check_at_the_clock('near', 'beside one that is set');
check_at_the_clock('late', 'beside one that is set, late');
$clock->set('+2s');
like($session->query('SELECT snowflake_nextval(5)'), qr/^\d+$/,
	'beside one that is set: a session goes on when it has to raise the mark');
$session->close;
$clock->restart($node, '+2s');
check_at_the_clock('near', 'beside one that was set, restarted');
$node->stop;

#
# A copy that is made while the server runs: it starts above the mark that came
# with it, and knows nothing of what the original draws from then on.
#
$node = new_node('copies');
$clock->set('+0s');
$clock->start($node);
create_database('original');
my $fill = 'INSERT INTO t SELECT snowflake_nextval(6), comb_uuid() FROM generate_series(1, 10000)';
$node->safe_psql('original', 'CREATE TABLE t (id bigint PRIMARY KEY, c uuid UNIQUE)');
$node->safe_psql('original', $fill);
my $mark = $node->safe_psql('original', 'SELECT last_value FROM seqid.clock_mark');
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE original');

# Refused is what is in the table already.
sub check_fill
{
	my ($database, $what) = @_;

	is(outcome($node, $database, "WITH before AS MATERIALIZED (SELECT max(id) AS id, max(c::text) AS c FROM t),
			n AS (INSERT INTO t SELECT snowflake_nextval(6), comb_uuid() FROM generate_series(1, 10000), before
				RETURNING id, c)
			SELECT count(*), bool_and(n.id > before.id), bool_and(n.c::text > before.c) FROM n, before"),
		'10000|t|t', $what);
	return;
}

check_fill($_->[0], "copied: $_->[1]") for [ 'copy', 'the copy goes on' ],
  [ 'original', 'so does the original' ], [ 'copy', 'the copy again' ];
is( outcome($node, 'copy', "SELECT round(extract(epoch FROM clock_floor) * 1000) = $mark FROM seqid.stat_database"),
	't', 'copied: the floor is the mark that came with it');
$clock->crash($node, '-4s');
check_fill($_->[0], "copied, and a crash: $_->[1]") for [ 'original', 'the original goes on' ],
  [ 'copy', 'so does the copy' ];

#
# Databases that come and go do not use up what the server has for those that are
# there: a far mark in one that comes late stays its own.
#
sub set_far_ahead
{
	my ($database) = @_;

	return outcome($node, $database, "SELECT setval('seqid.clock_mark', last_value + 86400000) FROM seqid.clock_mark;
		SELECT comb_uuid_timestamp(comb_uuid()) > now() + interval '23h'");
}

sub is_at_the_clock
{
	my ($database, $what) = @_;

	is(outcome($node, $database, "SELECT snowflake_timestamp(snowflake_nextval(77)) < clock_timestamp() + interval '10s',
			comb_uuid_timestamp(comb_uuid()) < clock_timestamp() + interval '10s'"), 't|t', $what);
	return;
}

$clock->set('+0s');
$node->safe_psql('postgres', 'CREATE DATABASE coming_template');
$node->safe_psql('coming_template', 'CREATE EXTENSION seqid');
for my $i (1 .. 70)
{
	$node->safe_psql('postgres', 'CREATE DATABASE coming TEMPLATE coming_template');
	$node->safe_psql('coming', 'SELECT snowflake_nextval(77)');
	$node->safe_psql('postgres', 'DROP DATABASE coming');
}
$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE coming_template") for 'late', 'evil';
is_at_the_clock('late', 'come and gone: a late one has ids');
like(set_far_ahead('evil'), qr/^t$/m, 'come and gone: one that is a day ahead');
is_at_the_clock('late', 'come and gone: the late one is not affected');
$node->safe_psql('postgres', 'DROP DATABASE evil');
is_at_the_clock('late', 'come and gone: nor afterwards');

#
# Many databases.
#
$node->safe_psql('postgres', 'CREATE DATABASE cell_template');
$node->safe_psql('cell_template', 'CREATE EXTENSION seqid');
my @cells = map { "cell_$_" } 1 .. 70;
$node->safe_psql('postgres', join '', map { "CREATE DATABASE $_ TEMPLATE cell_template;\n" } @cells);

# Each one's first id and COMB.
sub draw_in_cells
{
	my ($status, $out, $err) = $node->psql('postgres',
		join '', map { "\\c $_\nSELECT snowflake_nextval(9), comb_uuid();\n" } @cells);

	is($err, '', 'many databases: no error');
	return map { [ split /\|/ ] } grep { /\|/ } split /\n/, $out;
}

# How many are not above those before.
sub not_above
{
	my ($before, $after) = @_;

	return scalar grep { $after->[$_][0] <= $before->[$_][0] || $after->[$_][1] le $before->[$_][1] } 0 .. $#cells;
}

$clock->set('+0s');
my @first = draw_in_cells();
is(scalar(@first), 70, 'many databases: each has an id');
my @second = draw_in_cells();
is(not_above(\@first, \@second), 0, 'many databases: all go on');

$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE cell_template") for 'one_more', 'evil';
is_at_the_clock('one_more', 'many databases: one more has ids');
like(set_far_ahead('evil'), qr/^t$/m, 'many databases: one that is a day ahead');
is_at_the_clock($_, "many databases: $_ is not affected") for 'one_more', 'cell_70';
like(outcome($node, $_, 'CALL seqid.horizon()'), qr/^20/, "many databases: $_ has a horizon") for 'one_more', 'cell_1';
$node->safe_psql('postgres', 'DROP DATABASE evil');
$clock->crash($node, '-3s');
my @third = draw_in_cells();
is(not_above(\@second, \@third), 0, 'many databases: all go on after a crash');
my @fourth = draw_in_cells();
is(not_above(\@third, \@fourth), 0, 'many databases: and once more');

$node->stop;
done_testing();

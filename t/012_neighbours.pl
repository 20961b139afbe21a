# Databases of a server do not disturb each other.  A mark that is far ahead concerns its
# database only.  A copy of a database is not taken for the original.
#
# The effects show after restarts and crashes, and with clocks that SQL cannot set.
# (t/stops/database_state.pl has more databases than the server has room for, and
# t/torture/databases.pl creates and drops many.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $clock = SeqidClock->new;
my $node = new_server('main', clock => $clock, extension => 0);

# Which times are ahead of the clock by ten seconds or more.  A server that was restarted is
# ahead by the rest of the mark's second.  Ten seconds are more than a slow machine can add, and
# less than the day of another database.
sub ahead ($database, @times)
{
	my $values = join ', ', map { "($_)" } @times;

	return outcome($node, $database, "SELECT count(*) FILTER (WHERE at > clock_timestamp() + interval '10 s'),
		count(*) FILTER (WHERE at BETWEEN clock_timestamp() + interval '23 h' AND clock_timestamp() + interval '25 h')
		FROM (VALUES $values OFFSET 0) t (at)");
}

sub check_at_the_clock ($what, @databases)
{
	is(ahead($_, 'snowflake_timestamp(snowflake_nextval(5))', 'snowflake_timestamp(snowflake_nextval(7))', 'comb_uuid_timestamp(comb_uuid())',
			'(SELECT greatest(clock_floor, clock_mark, comb_uuid_time) FROM seqid.stat_database)'), '0|0', "$what: $_ is at the clock")
	  for @databases;
}

#
# A mark that is a day ahead is so in one database.  "near" is not used while the clock
# is wrong, "late" is used for the first time after it.
#
add_database($node, $_) for 'near', 'far', 'late';
outcome($node, 'late', 'SELECT snowflake_nextval(5)');
$clock->restart($node, '+1d');
my $far_comb = outcome($node, 'far', 'SELECT comb_uuid()');
like(outcome($node, 'far', 'SELECT snowflake_nextval(7)'), qr/^\d+$/, 'a day ahead: snowflakes');
$clock->restart($node, '+0s');

check_at_the_clock('beside a day ahead', 'near');
is(outcome($node, 'far', "SELECT snowflake_nextval($_)"), '55000', "a day ahead: shard $_ is refused") for 5, 7;
cmp_ok(outcome($node, 'far', 'SELECT comb_uuid()'), 'gt', $far_comb, 'a day ahead: COMBs go on');
is(ahead('far', 'comb_uuid_timestamp(comb_uuid())', '(SELECT clock_floor FROM seqid.stat_database)'),
	'2|2', 'a day ahead: from there, and the floor shows it');
check_at_the_clock('beside a day ahead', 'near', 'late');
$node->safe_psql('postgres', 'DROP DATABASE far');
$clock->restart($node, '+0s');
check_at_the_clock('after a day ahead', 'late', 'near');

#
# A copy that is made while the server runs starts above the mark that came with it, and
# knows nothing of the keys that the original generates from then on.
#
add_database($node, 'original');
$node->safe_psql('original', 'CREATE TABLE t (id bigint PRIMARY KEY, c uuid UNIQUE);
	INSERT INTO t SELECT snowflake_nextval(6), comb_uuid() FROM generate_series(1, 10000)');
my $mark = outcome($node, 'original', 'SELECT last_value FROM seqid.clock_mark');
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE original');

# A key that is in the table already is an error.
sub check_fill ($what, @databases)
{
	is(outcome($node, $_, 'WITH before AS MATERIALIZED (SELECT max(id) AS id, max(c::text) AS c FROM t),
			n AS (INSERT INTO t SELECT snowflake_nextval(6), comb_uuid() FROM generate_series(1, 10000), before
				RETURNING id, c)
			SELECT count(*), bool_and(n.id > before.id), bool_and(n.c::text > before.c) FROM n, before'),
		'10000|t|t', "$what: $_ goes on") for @databases;
}

check_fill('copied', 'copy', 'original', 'copy');
is(outcome($node, 'copy', "SELECT round(extract(epoch FROM clock_floor) * 1000) = $mark FROM seqid.stat_database"),
	't', 'copied: the floor is the mark that came with it');
$node->safe_psql('postgres', 'CREATE DATABASE late_copy TEMPLATE copy');
$clock->crash($node, '-2s');
check_fill('copied, and a crash', 'late_copy', 'original', 'copy');

$node->stop;
done_testing();

# Cause before effect over two servers: a server that has seen a key of another generates
# greater ones from then on, although its clock is behind, and also after a crash.
#
# This takes two servers with clocks of their own, of which one crashes.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# The shard of the late server is lower: only time can put its ids above the others.
my %clock = map { $_ => SeqidClock->new } 'early', 'late';
my $early = new_server('early', clock => $clock{early});
my $late = new_server('late', clock => $clock{late}, conf => "seqid.max_lead = 10min\nseqid.shards = 3");
my @kinds = ('snowflake', 'snowflake53', 'comb_uuid');
my %foreign = (snowflake => 'snowflake_nextval(900)', snowflake53 => 'snowflake53_nextval(30)', comb_uuid => 'comb_uuid()');
my %own = (snowflake => 'snowflake_nextval()', snowflake53 => 'snowflake53_nextval()', comb_uuid => 'comb_uuid()');

sub witness ($kind, $key)
{
	return outcome($late, "SELECT ${kind}_witness('$key')");
}

sub is_above ($kind, $key, $answer, $what)
{
	is(outcome($late, $kind eq 'comb_uuid' ? "SELECT $own{$kind} > '$key'" : "SELECT $own{$kind} > $key"), $answer, "$what: $kind");
}

# So far ahead that it stays so, however long the test takes.
$clock{early}->set('+5m');
my %key;
for my $kind (@kinds)
{
	$key{$kind} = outcome($early, "SELECT $foreign{$kind}");
	is_above($kind, $key{$kind}, 'f', 'without, a key is lower');
	is(witness($kind, $key{$kind}), $key{$kind}, "$kind: the witness returns the key");
	is_above($kind, $key{$kind}, 't', 'with a witness, a key is greater');
	is(outcome($late, 'SELECT snowflake_timestamp(snowflake_nextval(4)) <= clock_timestamp()'), 't', "$kind: another shard is at the clock");
	is(outcome($late, 'SELECT snowflake53_timestamp(snowflake53_nextval(3)) <= clock_timestamp()'), 't',
		'snowflake: so is the shard of the other layout') if $kind eq 'snowflake';
}

# The mark covers it over a crash, although no key was generated since.  Each key is later
# than the mark of the one before.
my $minutes = 5;
for my $kind (@kinds)
{
	$clock{early}->set('+' . ++$minutes . 'm');
	$key{$kind} = outcome($early, "SELECT $foreign{$kind}");
	witness($kind, $key{$kind});
	$clock{late}->crash($late, '-1s');
	is_above($kind, $key{$kind}, 't', 'after a crash, a key is greater');
}
$clock{late}->set('+0s');

# An old key changes nothing.
my $last = outcome($late, 'SELECT snowflake_nextval()');
outcome($late, "SELECT snowflake_witness(0), comb_uuid_witness(comb_uuid_at('1970-01-01'))");
is_above('snowflake', $last, 't', 'after an old key');

# What is refused.  (sql/snowflake53.sql and sql/comb_codec.sql have what is no key.)
$clock{early}->set('+1h');
is(witness($_, outcome($early, "SELECT $foreign{$_}")), '22023', "an hour ahead: refused: $_") for @kinds;
is(outcome($late, "SELECT snowflake_timestamp(snowflake_nextval()) < clock_timestamp() + interval '10 min'"),
	't', 'refused: nothing has changed');
outcome($late, 'CREATE ROLE regress_seqid_user');
is(outcome($late, "SET ROLE regress_seqid_user; SELECT ${_}_witness('$key{$_}')"), '42501', "not for every role: ${_}_witness") for @kinds;

$_->stop for $early, $late;
done_testing();

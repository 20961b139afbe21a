# The functions of docs/text-and-bits.md: what they promise about forged ids and privileges.
# It takes pgcrypto, which a regression test does not require.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('shop');

$node->safe_psql('postgres', $_->{text}) for SeqidPage->new('docs/text-and-bits.md')->recipe('public ids');

# is_outcome($expected, $what, $sql)
sub is_outcome
{
	is(outcome($node, $_[2]), $_[0], $_[1]);
}

is_outcome('10003|t', 'each id has a public one of its own and comes back, whatever the settings of the session are', "
	SET standard_conforming_strings = off; SET bytea_output = escape;
	SELECT count(DISTINCT public_id(id)), bool_and(private_id(public_id(id)) = id) FROM (
		SELECT generate_series(-5000::bigint, 5000)
		UNION SELECT unnest('{9223372036854775807, -9223372036854775808}'::bigint[])) i (id)");

# Forged: made up, or one bit of a good one changed.
is_outcome('0', 'a random uuid is not accepted', 'SELECT count(private_id(gen_random_uuid())) FROM generate_series(1, 20000)');
is_outcome('0', 'nor one with a bit changed', "SELECT count(private_id(encode(set_bit(good, bit, 1 - get_bit(good, bit)), 'hex')::uuid))
	FROM generate_series(0, 127) bit, (SELECT uuid_send(public_id(514677055346987008)) AS good) v");

# A role that can call the functions cannot read the key, nor make them call its own.
is_outcome('42501', 'the application cannot read the key', 'SET ROLE shop_app; SELECT key FROM public_ids.secret');
is_outcome('7', "the application's own functions and tables are not used", q{SET ROLE shop_app;
	CREATE FUNCTION pg_temp.encrypt(bytea, bytea, text) RETURNS bytea LANGUAGE sql AS 'SELECT $2';
	CREATE FUNCTION pg_temp.int8send(bigint) RETURNS bytea LANGUAGE sql AS 'SELECT null::bytea';
	CREATE TEMPORARY TABLE secret (key bytea); SET search_path = pg_temp, public; SELECT private_id(public.public_id(7))});
is_outcome('42501', 'other roles cannot call them', 'CREATE ROLE other; SET ROLE other; SELECT public_id(7)');

# AES: a block that another program has encrypted (openssl enc -aes-128-ecb), and another key
is_outcome('13189a6a-e4ab-07ae-70a3-aabd30be99de', 'a known key: as another program has it',
	"UPDATE public_ids.secret SET key = '\\x000102030405060708090a0b0c0d0e0f'; SELECT public_id(1)");
is_outcome('', 'another key: forged', "UPDATE public_ids.secret SET key = '\\x010102030405060708090a0b0c0d0e0f';
	SELECT private_id('13189a6a-e4ab-07ae-70a3-aabd30be99de')");

$node->stop;
done_testing();

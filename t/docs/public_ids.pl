# The functions of docs/text-and-bits.md: what they promise about forged ids, neighbours and
# privileges.  It takes pgcrypto, which a regression test does not require.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('shop');

my ($functions, $use) = SeqidPage->new('docs/text-and-bits.md')->recipe('public ids');
$node->safe_psql('postgres', $_->{text}) for $functions, $use;

# All there and back, negative ones too, and no two alike.
is(outcome($node, "SELECT count(*), count(DISTINCT public), bool_and(private_id(public) = id), bool_or(public::text LIKE '%0000000000000000%')
		FROM (SELECT id, public_id(id) AS public FROM generate_series(-5000::bigint, 5000) id) v"), '10001|10001|t|f',
	'each id has a public one of its own, and comes back');
is(outcome($node, "SELECT bool_and(private_id(public_id(id)) = id)
		FROM unnest('{0, -1, 9223372036854775807, -9223372036854775808, 9007199254740991}'::bigint[]) id"), 't', 'so do the extremes');
is(outcome($node, "SET standard_conforming_strings = off; SET bytea_output = escape; SELECT private_id(public_id(7))"), '7',
	'settings of the session do not change them');
is(outcome($node, "SELECT private_id(NULL) IS NULL AND public_id(NULL) IS NULL"), 't', 'NULL is NULL');

# Of neighbours, half of the bits differ.
is(outcome($node, "SELECT avg(ones) BETWEEN 62 AND 66, min(ones) > 30 FROM (
		SELECT (SELECT count(*) FROM generate_series(0, 127) bit
		         WHERE get_bit(uuid_send(public_id(id)), bit) <> get_bit(uuid_send(public_id(id + 1)), bit)) AS ones
		  FROM snowflake_nextvals(5, 200) id) v"), 't|t', 'neighbours are not alike');

# Forged: made up, or one bit of a good one changed.
is(outcome($node, "SELECT count(private_id(gen_random_uuid())) FROM generate_series(1, 20000)"), '0', 'a random uuid is not accepted');
is(outcome($node, "SELECT count(private_id(encode(set_bit(good, bit, 1 - get_bit(good, bit)), 'hex')::uuid))
		FROM generate_series(0, 127) bit, (SELECT uuid_send(public_id(514677055346987008)) AS good) v"), '0', 'nor one with a bit changed');

like(outcome($node, "EXPLAIN (COSTS OFF) SELECT item FROM orders WHERE id = private_id('5f4a1c6e-31b1-93fd-5fd3-5a7d9b2a5e0d')"),
	qr/^Index Scan using orders_pkey on orders\n\s+Index Cond: \(id = private_id\(/, 'it is a lookup by key');

# A role that can call the functions cannot read the key, nor make them call its own.
is(outcome($node, "SET ROLE shop_app; SELECT private_id(public_id(7))"), '7', 'the application can call them');
is(outcome($node, "SET ROLE shop_app; SELECT key FROM public_ids.secret"), '42501', 'the application cannot read the key');
is(outcome($node, "SET ROLE shop_app; CREATE FUNCTION pg_temp.encrypt(bytea, bytea, text) RETURNS bytea LANGUAGE sql AS 'SELECT \$2';
		CREATE FUNCTION pg_temp.int8send(bigint) RETURNS bytea LANGUAGE sql AS 'SELECT null::bytea';
		CREATE TEMPORARY TABLE secret (key bytea); SET search_path = pg_temp, public; SELECT private_id(public.public_id(7))"), '7',
	"the application's own functions and tables are not used");
is(outcome($node, "CREATE ROLE other; SET ROLE other; SELECT public_id(7)"), '42501', 'other roles cannot call them');

# AES: a block that another program has encrypted (openssl enc -aes-128-ecb).
$node->safe_psql('postgres', "UPDATE public_ids.secret SET key = '\\x000102030405060708090a0b0c0d0e0f'");
my $public = outcome($node, 'SELECT public_id(1)');
is($public, '13189a6a-e4ab-07ae-70a3-aabd30be99de', 'a known key: as another program has it');
$node->safe_psql('postgres', "UPDATE public_ids.secret SET key = '\\x010102030405060708090a0b0c0d0e0f'");
is(outcome($node, "SELECT private_id('$public')"), '', 'another key: forged');
is(outcome($node, "INSERT INTO public_ids.secret VALUES (public_ids.gen_random_bytes(16))"), '23505', 'a second key is refused');
is(outcome($node, "UPDATE public_ids.secret SET key = '\\x00'"), '23514', 'and so is a short one');

$node->stop;
done_testing();

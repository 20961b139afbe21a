# docs/public-ids.md: what it says of ids that tell nothing, run as the page has it.
#
# It takes pgcrypto, which need not be installed where a regression test is run.

use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;
use SeqidPage;

my $node = PostgreSQL::Test::Cluster->new('shop');
$node->init;
$node->start;
plan skip_all => 'pgcrypto is not installed'
  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pgcrypto'") eq '0';
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');

sub value
{
	return outcome($node, 'postgres', @_);
}

my ($functions, $use, $lookup) = SeqidPage::blocks('public-ids.md', 'Public ids that tell nothing');
$functions->{sql} =~ s/shop_app/regress_app/g;
$node->safe_psql('postgres', $functions->{sql});
$node->safe_psql('postgres', $use->{sql});

# All there and back, negative ones too, and no two alike.
is(value("SELECT count(*), count(DISTINCT public), bool_and(private_id(public) = id), bool_or(public::text LIKE '%0000000000000000%')
		FROM (SELECT id, public_id(id) AS public FROM generate_series(-5000::bigint, 5000) id) v"), '10001|10001|t|f',
	'each id has a public one of its own, and comes back');
is(value("SELECT bool_and(private_id(public_id(id)) = id)
		FROM unnest('{0, -1, 9223372036854775807, -9223372036854775808, 9007199254740991}'::bigint[]) id"), 't', 'so have the extremes');
is(value("SELECT bool_and(private_id(public_id(id)) = id) FROM snowflake_nextvals(5, 1000) id"), 't', 'and snowflakes');

# They tell nothing: of neighbours, half of the bits differ.
is(value("SELECT avg(ones) BETWEEN 62 AND 66, min(ones) > 30 FROM (
		SELECT (SELECT count(*) FROM generate_series(0, 127) bit
		         WHERE get_bit(uuid_send(public_id(id)), bit) <> get_bit(uuid_send(public_id(id + 1)), bit)) AS ones
		  FROM snowflake_nextvals(5, 200) id) v"), 't|t', 'neighbours are not alike');

# Forged: made up, or one bit of a good one changed.
is(value("SELECT count(private_id(gen_random_uuid())) FROM generate_series(1, 20000)"), '0', 'none that was made up is taken');
is(value("SELECT count(private_id(encode(set_bit(good, bit, 1 - get_bit(good, bit)), 'hex')::uuid))
		FROM generate_series(0, 127) bit, (SELECT uuid_send(public_id(514677055346987008)) AS good) v"), '0', 'nor one with a bit changed');
is(value("SELECT private_id(NULL) IS NULL AND public_id(NULL) IS NULL"), 't', 'NULL is NULL');

# By the key of the row.
like(value($lookup->{sql}), qr/^Index Scan using orders_pkey on orders\n\s+Index Cond: \(id = private_id\(/, 'it is a lookup by key');

# Who may call the functions cannot read the key, nor can be made to run others'.
is(value("SET ROLE regress_app; SELECT private_id(public_id(7))"), '7', 'the application: may ask');
is(value("SET ROLE regress_app; SELECT key FROM public_ids.secret"), '42501', 'the application: does not see the key');
is(value("SET ROLE regress_app; CREATE FUNCTION pg_temp.encrypt(bytea, bytea, text) RETURNS bytea LANGUAGE sql AS 'SELECT \$2';
		CREATE FUNCTION pg_temp.int8send(bigint) RETURNS bytea LANGUAGE sql AS 'SELECT null::bytea';
		CREATE TEMPORARY TABLE secret (key bytea); SET search_path = pg_temp, public; SELECT private_id(public.public_id(7))"), '7',
	'the application: functions and tables of its own are not used');
is(value("CREATE ROLE regress_other; SET ROLE regress_other; SELECT public_id(7)"), '42501', 'others: may not ask');

# AES it is: a block that another program has encrypted (openssl enc -aes-128-ecb).
$node->safe_psql('postgres', "UPDATE public_ids.secret SET key = '\\x000102030405060708090a0b0c0d0e0f'");
is(value('SELECT public_id(1)'), '13189a6a-e4ab-07ae-70a3-aabd30be99de', 'a known key: as another program has it');
is(value("SELECT private_id('13189a6a-e4ab-07ae-70a3-aabd30be99de')"), '1', 'a known key: and back');
my $public = value('SELECT public_id(514677055346987008)');
$node->safe_psql('postgres', "UPDATE public_ids.secret SET key = '\\x010102030405060708090a0b0c0d0e0f'");
is(value("SELECT private_id('$public')"), '', 'another key: forged');
is(value("INSERT INTO public_ids.secret VALUES (public_ids.gen_random_bytes(16))"), '23505', 'a second key is refused');
is(value("UPDATE public_ids.secret SET key = '\\x00'"), '23514', 'and so is a short one');

$node->stop;
done_testing();

# wal2json writes a bigint as a number, which JavaScript rounds.  A generated column of text
# is exact.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $node = new_server('wal2json', conf => "wal_level = logical\n");

# Newer minor versions allow only libraries that this setting names.
reconfigure($node, output_plugin_libraries => 'wal2json')
  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
$node->safe_psql('postgres', $_) for
  'CREATE TABLE orders (id bigint PRIMARY KEY, id_text text GENERATED ALWAYS AS (id::text) STORED)',
  "SELECT pg_create_logical_replication_slot('json', 'wal2json')",
  'INSERT INTO orders VALUES (154173452582932603)';
$ENV{CHANGE} = $node->safe_psql('postgres',
	"SELECT data FROM pg_logical_slot_get_changes('json', NULL, NULL, 'format-version', '2', 'include-transaction', 'false')");
my ($parsed) = run_command([ 'node', '-p', 'JSON.parse(process.env.CHANGE).columns.map((column) => String(column.value)).join(" ")' ]);

like($ENV{CHANGE}, qr/"value":154173452582932603}/, 'an id is a JSON number');
is($parsed, '154173452582932600 154173452582932603', 'JavaScript rounds the number, and not the text');

$node->stop;
done_testing();

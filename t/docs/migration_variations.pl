# The recipes of examples/migration/ with tables and sessions other than the page's: they hold,
# or raise an error before anything is lost.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidPage;

my $node = new_server('shop', conf => "client_min_messages = error\nseqid.allowed_shards = '0-30, 32-1023'\n");
my $session;

# A session in a database of its own, in which the tables of a recipe were created with 200 rows
# and then changed.  Returns the blocks before the first that contains a text, and the others.
sub vary ($recipe, $change, $text)
{
	state $number = 0;
	my $database = 'variation' . ++$number;
	my @blocks = SeqidPage::migration($recipe);
	my ($first) = grep { $blocks[$_]{text} =~ /$text/ } 0 .. $#blocks;

	add_database($node, $database);
	$node->safe_psql($database, $_)
	  for (map { slurp_file("examples/migration/$_.sql") } 'in_batches', 'exchange_column'),
	  SeqidPage::migration_tables($recipe, 200), $change;
	$session = SeqidSession->new($node, $database);
	return ([ @blocks[ 0 .. $first - 1 ] ], [ @blocks[ $first .. $#blocks ] ]);
}

# Runs blocks, and what a client does after each statement.  Returns the first error's SQLSTATE.
sub apply ($client, @blocks)
{
	for my $statement (map { (SeqidPage::statements($_->{text}), $client || ()) } @blocks)
	{
		my ($error) = $session->full_outcome($statement) =~ /^(?!00000)([0-9A-Z]{5}): / or next;

		$session->full_outcome('ROLLBACK');
		return $error;
	}
	return '';
}

# A trigger of the user that sets a column of rows that clients insert
sub trigger_sql ($table, $name, $assignment)
{
	return "CREATE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN $assignment; RETURN NEW; END \$\$;
		CREATE TRIGGER $name BEFORE INSERT ON $table FOR EACH ROW EXECUTE FUNCTION assign()";
}

#
# integer_keys: triggers, and a replication worker, which fires no trigger but those of the recipe
#
my $visit = 'INSERT INTO visits (customer_id) VALUES (7)';
vary('integer_keys', trigger_sql('visits', 'zed', 'NEW.customer_id := 9'), 'CALL');
is(apply("$visit; SET session_replication_role = replica; $visit; RESET session_replication_role",
		SeqidPage::migration('integer_keys')), '', 'integer_keys: beside a trigger that changes the reference');
is($session->outcome('SELECT customer_id, count(*) > 5 FROM visits JOIN customers c ON c.id = customer_id WHERE visits.id > 200
	GROUP BY 1 ORDER BY 1'), "7|t\n9|t", 'integer_keys: no reference is lost, and the trigger is followed');

vary('integer_keys', trigger_sql('visits', 'zzzz', 'NEW.customer_id := 9'), 'CALL');
is(apply($visit, SeqidPage::migration('integer_keys')), '23514', 'integer_keys: a trigger that fires after all is refused');

#
# Times around changes of summer time, in a session of another zone.  An hour of local time
# that comes twice is read as the second one.  Blocks are run again, as after a crash.
#
for my $case (
	[ 'old_numbers', 'memos', 'snowflake', 'id, body', 'row_number() OVER (), NULL' ],
	[ 'random_uuids', 'documents', 'comb_uuid', 'title', "''" ],
	[ 'uuid_to_bigint', 'notes', 'snowflake', 'title', "''" ])
{
	my ($recipe, $table, $kind, $columns, $values) = @$case;

	my ($before, $rest) = vary($recipe, "TRUNCATE $table CASCADE; ALTER TABLE $table ADD instant timestamptz;
		INSERT INTO $table ($columns, instant, created_at) SELECT $values, i, i AT TIME ZONE 'America/New_York'
		  FROM (VALUES ('2024-03-10'), ('2024-11-03')) d(day),
			   generate_series(day::timestamptz - interval '1 day', day::timestamptz + interval '1 day', interval '10 minutes') i",
		"INTO ${table}_map");
	my $check = $rest->[-1]{text};

	$session->query("SET TimeZone = 'Europe/Berlin'");
	is(apply('', @$before, $rest->[0], @$rest), '', "$recipe: a block is repeated");
	is($session->outcome($check), 't|t', "$recipe: the sample has its zone");
	is($session->outcome("SELECT count(*) > 500, bool_and(t = instant
				OR t = instant + interval '1 hour' AND t AT TIME ZONE 'America/New_York' = created_at)
			FROM (SELECT ${kind}_timestamp(id) AS t, instant, created_at FROM $table) k"), 't|t', "$recipe: times are those of the rows");
	$session->query("UPDATE $table SET created_at = created_at + interval '45 minutes'");
	is($session->outcome($check), 't|f', "$recipe: times of another zone are found");
}

#
# old_numbers: rows that keep their numbers, and numbers of the old sequence
#
my ($before, $rest) = vary('old_numbers',
	"INSERT INTO memos (id, created_at) VALUES (201, NULL), (202, '2021-01-01'), (203, '2022-12-31 18:59')", 'INTO memos_map');
is(apply('', @$before) . apply('INSERT INTO memos (id) SELECT max(id) + 1 FROM memos WHERE id < 1000000', @$rest), '', 'old_numbers');
is(apply('', @$rest), '', 'old_numbers: again');
is($session->outcome('SELECT count(*) FILTER (WHERE id < 1000000), bool_and(snowflake_shard(new_id) = 31)
	FROM memos LEFT JOIN memos_map ON new_id = id'), '3|t', 'old_numbers: three rows have no time of this epoch');

#
# uuid_to_bigint: a value that is lost
#
($before, $rest) = vary('uuid_to_bigint', '', 'INDEX CONCURRENTLY replies');
is(apply('', @$before), '', 'uuid_to_bigint: the trigger');
$session->query(trigger_sql('replies', 'zzzz', 'NEW.new_note_id := NULL'));
is($session->outcome("INSERT INTO replies (note_id) SELECT id FROM notes WHERE title = 'note 7'"), '23503',
	'uuid_to_bigint: a reference that has no new value is refused');

$node->stop('immediate');
done_testing();

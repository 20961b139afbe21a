# Sessions that intern the same terms wait for each other: eight at once, while the
# dictionary is reindexed, rewritten and renamed, and one whose batch is cancelled while
# it waits.  A term keeps its id, no other term gets that id, and no term of a
# transaction that failed is kept.  The owner of a schema cannot exchange it under a session of
# a superuser.  What a session remembers is limited.
#
# A regression test has one session, and an isolation test runs one step at a time.  Only the
# kernel knows how much memory a process has taken.  (specs/intern_change.spec and
# specs/intern_rename.spec have what others do to a dictionary.)

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

my $node = new_server('main', conf => "max_connections = 30\nmax_prepared_transactions = 10");

# The terms of a dictionary with their ids: id|term, in the terms' order.
sub entries ($dictionary)
{
	return $node->safe_psql('postgres', "SELECT id, term FROM $dictionary ORDER BY term");
}

#
# Eight clients intern batches that overlap, each in an order of its own and with
# duplicates, and undo some of them.  Each keeps the rows that it was given in transactions that
# were kept.  Meanwhile the dictionary is reindexed, rewritten and renamed.
#
$node->safe_psql('postgres', q{SELECT intern_create('words');
	CREATE UNLOGGED TABLE given (id bigint, term text COLLATE "C")});
my $batch = "SELECT array_agg('term_' || ceil(3000 * random())) AS batch FROM generate_series(1, 150) \\gset\n";
my $intern = "INSERT INTO given SELECT unnest(intern_ids('words', ':batch')), unnest(':batch'::text[]);\n";
my $prepare = "${batch}BEGIN;\n${intern}PREPARE TRANSACTION 'client :client_id';\n";
$node->pgbench('--no-vacuum --client=8 --jobs=8 --transactions=80', 0, [qr{processed: 640/640}], [qr/^$/],
	'concurrently: no error, and no deadlock', {
		'kept@12' => $batch . $intern,
		'undone@2' => "${batch}BEGIN;\n${intern}ROLLBACK;\n",
		'twice@2' => "${batch}BEGIN;\nSAVEPOINT a;\n${intern}ROLLBACK TO a;\n${intern}COMMIT;\n",
		'prepared@2' => "${prepare}COMMIT PREPARED 'client :client_id';\n",
		'prepared_undone@2' => "${prepare}ROLLBACK PREPARED 'client :client_id';\n",
		'reindexed@1' => "REINDEX TABLE words;\n",
		'renamed@1' => "BEGIN;\nALTER TABLE words RENAME TO other;\nALTER TABLE other RENAME TO words;\nCOMMIT;\n",
		'rewritten@1' => "VACUUM FULL words;\n" });
is(outcome($node, <<'SQL'), 't|t|t|t', 'concurrently: a term has one id, an id one term, as in the dictionary');
SELECT count(*) > 2900, count(*) = count(DISTINCT id), count(*) = count(DISTINCT term),
       array_agg(ROW(id, term) ORDER BY term) = (SELECT array_agg(ROW(id, term) ORDER BY term) FROM words)
  FROM (SELECT DISTINCT id, term FROM given) g
SQL

#
# A batch of 100,000 terms is cancelled when it waits for one that another session holds, the
# first one or one in the middle, and a batch in a transaction that goes on.
#
my ($holder, $session) = map { SeqidSession->new($node) } 1 .. 2;

# Holds a term while the session sends a batch with it, which is then cancelled.
sub cancel ($held, $batch, $what)
{
	$holder->query("BEGIN; SELECT intern_id('large', '$held')");
	$session->send($batch);
	wait_until_blocked($node, $session);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
	like($session->answer . $session->errors, qr/\AERROR:  57014: /, "cancelled $what");
	$holder->query('ROLLBACK');
}

$node->safe_psql('postgres', "SELECT intern_create('large')");
my $first = $session->query("SELECT intern_id('large', 'first')");
for my $held ('000001', '050000')
{
	cancel($held, "SELECT cardinality(intern_ids('large',
		ARRAY(SELECT lpad(n::text, 6, '0') FROM generate_series(1, 100000) n)))", "at $held");
	is(entries('large'), "$first|first", "cancelled at $held: no term was kept");
}
my ($kept) = split /\n/, $session->query("BEGIN; SELECT intern_id('large', 'kept'); SAVEPOINT a");
cancel('held', "SELECT intern_ids('large', '{before,held,kept,zero}')", 'in a subtransaction');
$session->query('ROLLBACK TO a; COMMIT');
is(entries('large'), "$first|first\n$kept|kept", 'cancelled in a subtransaction: what was interned before it is kept');

# What the session knows of the dictionary is neither lost nor stuck.
$node->safe_psql('postgres', 'ALTER TABLE large RENAME TO larger; ALTER TABLE larger ADD COLUMN note text');
is($session->query("SELECT intern_ids('larger', '{first,kept,kept}'), intern_id('larger', 'again') > 0"),
	"{$first,$kept,$kept}|t", 'cancelled: the session goes on with the dictionary renamed');
$_->close for $session, $holder;

#
# The owner of the extension's schema exchanges the schema while a superuser's intern_create()
# waits: no function of the owner becomes the default of the superuser's table.
#
$node->safe_psql('postgres', 'CREATE ROLE regress_mallory; CREATE DATABASE theirs OWNER regress_mallory');
$node->safe_psql('theirs', 'SET ROLE regress_mallory; CREATE SCHEMA ids; CREATE EXTENSION seqid SCHEMA ids');
my ($superuser, $owner, $other) = map { SeqidSession->new($node, 'theirs') } 1 .. 3;
$_->query('SET ROLE regress_mallory') for $owner, $other;
$owner->query('BEGIN; CREATE TABLE public.terms ()');
$superuser->send("SELECT ids.intern_create('public.terms')");
wait_until_blocked($node, $superuser);
$other->query(q{ALTER SCHEMA ids RENAME TO other_ids; CREATE SCHEMA ids;
	CREATE FUNCTION ids.scatter_nextval(regclass, int) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'});
$owner->query('ROLLBACK');
is($superuser->answer, 'terms', 'schema exchanged: the dictionary is created');
is($superuser->query("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'public.terms'::regclass"),
	"other_ids.scatter_nextval('terms_id_seq'::regclass, 0)", 'schema exchanged: with the right function');
is(join('', map { $_->errors } $owner, $other, $superuser), '', 'schema exchanged: no error');
$_->close for $superuser, $owner, $other;

#
# What a session remembers of dictionaries is limited, and so is the memory that
# an array takes which cannot be made.
#
$session = SeqidSession->new($node);
is($session->query(<<'SQL'), '0', 'many dictionaries: each returns its terms, and no plan is kept');
SELECT FROM generate_series(1, 200) n, intern_create('tenant_' || n);
DO $$
DECLARE
	ids bigint[];
BEGIN
	FOR n IN 1 .. 400 LOOP
		ids := intern_ids('tenant_' || n % 200 + 1, ARRAY['a', n::text]);
		ASSERT intern_terms('tenant_' || n % 200 + 1, ids) = ARRAY['a', n::text];
	END LOOP;
END $$;
SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlan' AND ident ~ 'tenant_[0-9]';
SQL

# 10,000 times 200 kB, in the table and in memory 2 kB, would be 2 GB; and so would be
# a million times 2 kB, which are not compressed.
$session->query(<<'SQL');
SELECT intern_create(name) FROM unnest(ARRAY['long', 'incompressible']) name;
INSERT INTO long (term) VALUES (repeat('y', 200000));
INSERT INTO incompressible (term) SELECT string_agg(md5(n::text), '') FROM generate_series(1, 60) n;
SQL
is($session->full_outcome("SELECT intern_terms('$$_[0]', array_fill(0, ARRAY[$$_[1]]))"),
	'54000: array size exceeds the maximum allowed (1073741823)', "large array of $$_[0] terms: refused")
  for [ long => 10000 ], [ incompressible => 1000000 ];
# The term has the id 0, which a NULL must not be taken for.
is($session->query("SELECT array_remove(intern_terms('long', array_fill(NULL::bigint, ARRAY[10000])), NULL)"),
	'{}', 'large array: of NULLs');
my ($peak_kb) = slurp_file("/proc/$session->{pid}/status") =~ /^VmHWM:\s+(\d+) kB$/m;
cmp_ok($peak_kb, '<', 400000, 'large array: its memory was not taken first');
is($session->query("SELECT length(x[1]), length(x[100]) FROM intern_terms('long', array_fill(0, ARRAY[100])) x"),
	'200000|200000', 'large array: a smaller one is made');
is($session->query("SELECT length(x[1]), length(x[20000]) FROM intern_terms('incompressible', array_fill(0, ARRAY[20000])) x"),
	'1920|1920', 'large array: and one of 38 MB');
is($session->errors, '', 'no error');
$session->close;

$node->stop;
done_testing();

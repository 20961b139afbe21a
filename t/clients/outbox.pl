# The readers of docs/outbox.md, while eight sessions write, think and roll back: the
# recipe in psql and the programs in Python and Node must read each row once, in order.
# A reader that asks for ids above the last one it saw must miss rows, or the writers
# proved nothing.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidNode;
use SeqidPage;

my $page = SeqidPage->new('docs/outbox.md');
my $node = new_server('shop');
my $directory = PostgreSQL::Test::Utils::tempdir;

$node->safe_psql('postgres', $_->{text}) for map { $page->recipe($_) } 'table', 'outbox';
$node->safe_psql('postgres', slurp_file('examples/outbox/notify.sql'));
$node->safe_psql('postgres', <<'SQL');
INSERT INTO outbox_reader (name) VALUES ('psql'), ('python'), ('node');
CREATE TABLE naive_reader AS SELECT 0::bigint AS last_id;
SQL

sub file
{
	my ($name, $text) = @_;

	append_to_file("$directory/$name", $text);
	return "$directory/$name";
}

# The ids that a reader has printed.
sub ids
{
	return slurp_file("$directory/$_[0].read") =~ /^(\d+)(?: .*)?$/mg;
}

my $batch = <<'SQL';
BEGIN;
SELECT outbox_settle('psql') AS settled \gset
SELECT id FROM outbox_unread('psql') ORDER BY id;
UPDATE outbox_reader SET last_id = :settled WHERE name = 'psql';
COMMIT;
\! sleep 0.01
SQL
my %readers = (
	psql => [ 'psql', '-XAtqf', file('psql.sql', $batch x 20000) ],
	naive => [ 'psql', '-XAtf', file('naive.sql', <<'SQL') ],
WITH seen AS (SELECT id FROM outbox WHERE id > (SELECT max(last_id) FROM naive_reader) ORDER BY id),
	moved AS (INSERT INTO naive_reader SELECT max(id) FROM seen HAVING count(*) > 0)
SELECT id FROM seen \watch 0.01
SQL
	python => [ '/usr/bin/python3', 'examples/outbox/reader.py', 'python' ],
	node => [ 'node', 'examples/outbox/reader.js', 'node' ]);
my $writers = file('think.sql', <<'SQL');
\set think random(0, 40)
\set dice random(1, 10)
BEGIN;
INSERT INTO outbox (topic) VALUES ('first');
\sleep :think ms
\if :dice <= 2
ROLLBACK;
\elif :dice <= 4
SAVEPOINT tried;
INSERT INTO outbox (topic) VALUES ('rolled back');
ROLLBACK TO tried;
INSERT INTO outbox (topic) VALUES ('second');
COMMIT;
\else
INSERT INTO outbox (topic) SELECT 'more' FROM generate_series(1, 3);
COMMIT;
\endif
SQL
my $quick = file('quick.sql', 'INSERT INTO outbox (topic) VALUES ($$quick$$);');

$ENV{NODE_PATH} = SeqidNode::modules('examples/clients/node');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
spawn("$directory/$_.read", @{ $readers{$_} }) for keys %readers;
system_or_bail('pgbench', '-n', '-c8', '-T', int 60 * ($ENV{SEQID_MINUTES} // 0.2), '-f', "$writers\@8", '-f', "$quick\@1");

my @all = split /\n/, $node->safe_psql('postgres', 'SELECT id FROM outbox ORDER BY id');
for my $reader (qw(psql python node))
{
	poll_until { grep { $_ eq $all[-1] } ids($reader) };
	is_deeply([ ids($reader) ], \@all, "$reader: reads each row once, in order")
	  or diag(slurp_file("$directory/$reader.read") =~ /^(?!\d).*/mg);
}
my %read = map { $_ => 1 } ids('naive');
my $missed = grep { !$read{$_} } @all;
cmp_ok($missed, '>', 0, "naive: misses rows ($missed of " . @all . ')');

$node->stop('immediate');
done_testing();

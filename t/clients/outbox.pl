# The readers of docs/outbox.md, while eight sessions write, think and roll back: the
# SELECT in psql and the programs in Python and Node, and readers on a standby, beside
# two copies of settle.py and with the primary, must read each row once, in order.
# Readers that ask for ids above the last one they saw must miss rows, or the writers
# proved nothing.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidNode;
use SeqidPage;

my $page = SeqidPage->new('docs/outbox.md');
my $node = new_server('shop', streaming => 1, conf => "max_connections = 40\n");
my $standby = new_standby($node, 'replica');
my $directory = PostgreSQL::Test::Utils::tempdir;

$node->safe_psql('postgres', $_->{text}) for map { $page->recipe($_) } 'table', 'outbox';
$node->safe_psql('postgres', $_)
  for slurp_file('examples/outbox/notify.sql'), "INSERT INTO outbox_reader (name) VALUES ('python'), ('node'), ('both')";

sub file ($name, $text)
{
	append_to_file("$directory/$name", $text);
	return "$directory/$name";
}

# The ids that a reader has printed.
sub ids
{
	return slurp_file("$directory/$_[0].read") =~ /^(\d+)(?: .*)?$/mg;
}

# A reader in psql, with a condition on id: one statement for the rows and the position.
sub in_psql ($name, $server, $condition)
{
	my $poll = <<"SQL";
SELECT coalesce(string_agg(id::text, E'\\n' ORDER BY id), '') AS ids, coalesce(max(id), :last) AS last
  FROM outbox WHERE id > :last $condition \\gset
\\echo :ids
\\! sleep 0.01
SQL

	return [ 'psql', '-XAtq', '-d', $server->connstr('postgres'), '-f', file("$name.sql", "\\set last 0\n" . $poll x 20000) ];
}

my %readers = (
	psql => in_psql('psql', $node, "AND id < seqid.settled('outbox_id_seq')"),
	naive => in_psql('naive', $node, ''),
	standby => in_psql('standby', $standby, 'AND id < (SELECT bound FROM outbox_settled)'),
	naive_standby => in_psql('naive_standby', $standby, ''),
	python => [ '/usr/bin/python3', 'examples/outbox/reader.py', 'python' ],
	both => [ '/usr/bin/python3', 'examples/outbox/reader_standby.py', (map { $_->connstr('postgres') } $node, $standby), 'both' ],
	node => [ 'node', 'examples/outbox/reader.js', 'node' ]);
my $writers = file('think.sql', <<'SQL');
\set think random(0, 40)
\set dice random(1, 10)
BEGIN;
INSERT INTO outbox (topic) VALUES ('first');
\sleep :think ms
\if :dice <= 2
ROLLBACK;
\else
INSERT INTO outbox (topic) SELECT 'more' FROM generate_series(1, 3);
COMMIT;
\endif
SQL
my $quick = file('quick.sql', 'INSERT INTO outbox (topic) VALUES ($$quick$$);');

$ENV{NODE_PATH} = SeqidNode::modules('examples/clients/node');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
$node->safe_psql('postgres', 'CREATE ROLE settler LOGIN; GRANT SELECT ON SEQUENCE outbox_id_seq TO settler; GRANT CREATE ON SCHEMA public TO settler');

sub settle ($file)
{
	local $ENV{PGUSER} = 'settler';
	return spawn("$directory/$file", '/usr/bin/python3', 'examples/outbox/settle.py');
}
my @settle = settle('settle.read');
poll_until { outcome($standby, 'SELECT bound > 2 FROM outbox_settled') eq 't' } or die 'no bound comes';
push @settle, settle('second_settle.read');
spawn("$directory/$_.read", @{ $readers{$_} }) for keys %readers;
system_or_bail('pgbench', '-n', '-c8', '-T', int 60 * ($ENV{SEQID_MINUTES} // 0.2), '-f', "$writers\@8", '-f', "$quick\@1");

my @all = split /\n/, $node->safe_psql('postgres', 'SELECT id FROM outbox ORDER BY id');
for my $reader (qw(psql python node standby both))
{
	poll_until { grep { $_ eq $all[-1] } ids($reader) };
	is_deeply([ ids($reader) ], \@all, "$reader: reads each row once, in order")
	  or diag(slurp_file("$directory/$reader.read") =~ /^(?!\d).*/mg);
}
for my $reader (qw(naive naive_standby))
{
	my %read = map { $_ => 1 } ids($reader);
	my $missed = grep { !$read{$_} } @all;

	cmp_ok($missed, '>', 0, "$reader: misses rows ($missed of " . @all . ')');
}

# With the old bound, a reader could pass an uncommitted row that reuses a value below it.
$node->safe_psql('postgres', 'TRUNCATE outbox RESTART IDENTITY');
ok((poll_until { outcome($standby, 'SELECT bound = 1 FROM outbox_settled') eq 't' }), 'settle.py follows a sequence that was set back');

# The alarm of docs/standby.md
my ($copies) = map { /`(SELECT count\(\*\) FROM pg_stat_activity .*)`/ } values %{ SeqidPage->new('docs/standby.md')->{text} };
$copies =~ s/'shop'/'postgres'/;
$copies =~ s/'10 s'/'1 s'/;
ok((poll_until { outcome($node, $copies) > 0 }), 'the alarm: settle.py runs');
kill 'STOP', @settle;
ok((poll_until { outcome($node, $copies) == 0 } 20), 'the alarm: all copies of settle.py are stopped');
is(outcome($node, "SET application_name = 'settle.py public.outbox_settled'; $copies"),
	0, 'the alarm: another role cannot silence it');
kill 'CONT', @settle;

# A copy of settle.py for another bound does not overwrite this one.
sub changed ($program, %constants)
{
	my $text = slurp_file("examples/outbox/$program");

	for my $name (keys %constants)
	{
		my $value = $constants{$name} =~ /^\d+$/ ? $constants{$name} : "'$constants{$name}'";

		$text =~ s/^$name = .*/$name = $value/m or die "$program: $name";
	}
	unlink "$directory/changed_$program";
	return file("changed_$program", $text);
}
command_fails_like([ 'timeout', 60, '/usr/bin/python3', changed('settle.py', BOUND => 'seqid.settled_snowflake()') ],
	qr/^public\.outbox_settled contains .*, so choose another TABLE/, 'two bounds need two tables');

# reader_standby.py for snowflakes
$node->safe_psql('postgres', q{
	ALTER TABLE outbox ALTER id SET DEFAULT snowflake_nextval(5);
	INSERT INTO outbox_reader (name) VALUES ('snowflakes');
	INSERT INTO outbox (topic) SELECT 'snowflake' FROM generate_series(1, 3)});
spawn("$directory/snowflakes.read", '/usr/bin/python3',
	changed('reader_standby.py', CALL => 'CALL seqid.horizon()', HORIZON => 'snowflake'),
	(map { $_->connstr('postgres') } $node, $standby), 'snowflakes');
ok((poll_until { -e "$directory/snowflakes.read" && (() = ids('snowflakes')) == 3 }), 'reader_standby.py reads snowflakes');

# reader_standby.py leaves a standby that does not replay.
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
wait_until($standby, q{SELECT pg_get_wal_replay_pause_state() = 'paused'}) or die 'the standby does not pause';
$node->safe_psql('postgres', q{INSERT INTO outbox_reader (name) VALUES ('paused')});
command_fails_like([ 'timeout', 60, '/usr/bin/python3', changed('reader_standby.py', PATIENCE_S => 1),
		(map { $_->connstr('postgres') } $node, $standby), 'paused' ],
	qr/^the standby has not replayed /, 'reader_standby.py leaves a standby that does not replay');

$node->stop('immediate');
done_testing();

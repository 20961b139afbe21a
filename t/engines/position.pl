# Readers of an outbox over failovers that lose WAL.
#
# Two standbys that do not know of each other are promoted from one point: their timelines
# have one number, and their rows the same keys.  The programs of examples/outbox, with the
# position in the database and outside of it, read each row of each server.  A reader that
# begins again when the timeline changes does not, and neither does one that continues at its
# position.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $programs = "$FindBin::RealBin/../../examples/outbox";
my $directory = PostgreSQL::Test::Utils::tempdir;
my %got = map { $_ => {} } qw(reader reader_outside);

sub add_rows ($server)
{
	my $name = $server->name;

	$server->safe_psql('postgres', "INSERT INTO outbox (topic) SELECT '$name ' || n FROM generate_series(1, 50) n");
}

# read_all($server): programs read until they have the last row of the server and have saved
# that position, and must have got each row.
sub read_all ($server)
{
	my @rows = split /\n/, $server->safe_psql('postgres', 'SELECT id || $$ $$ || topic FROM outbox ORDER BY id');
	my ($last) = $rows[-1] =~ /^(\d+)/;
	my $end = $last + 1;
	my %saved = (
		reader => sub { outcome($server, 'SELECT last_id FROM outbox_reader') eq $last },
		reader_outside => sub { -e "$directory/positions" && slurp_file("$directory/positions") =~ / $end \.\n\z/ });

	for my $reader (sort keys %got)
	{
		my $printed = "$directory/$reader." . $server->name;
		local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($server->host, $server->port, 'postgres');

		unlink $printed;
		my $pid = spawn($printed, 'python3', "$programs/$reader.py",
			$reader eq 'reader' ? 'mail' : "$directory/positions");
		poll_until { -e $printed && slurp_file($printed) =~ /^\Q$rows[-1]\E$/m && $saved{$reader}->() }
		or die "the last row does not arrive: " . slurp_file($printed);
		kill 'KILL', $pid;
		$got{$reader}{$_} = 1 for split /\n/, slurp_file($printed);
		is(scalar(grep { !$got{$reader}{$_} } @rows), 0, $server->name . ": $reader misses no row");
	}
}

my $first = new_server('first', streaming => 1);
$first->safe_psql('postgres', q{
	CREATE TABLE outbox (id bigserial PRIMARY KEY, topic text NOT NULL, payload jsonb NOT NULL DEFAULT '{}');
	CREATE TABLE outbox_token (token uuid PRIMARY KEY, written timestamptz DEFAULT now());
	CREATE TABLE outbox_reader (name text PRIMARY KEY, last_id bigint NOT NULL DEFAULT 0);
	INSERT INTO outbox_reader VALUES ('mail')});
add_rows($first);
read_all($first);
my @twin = map { new_standby($first, $_) } qw(second third);
$first->wait_for_catchup($_) for @twin;
$_->stop for @twin;

# A full disk has cut off the last line, so that the token has another position.
$first->safe_psql('postgres', "INSERT INTO outbox_token (token) VALUES ('01234567-89ab-4def-8123-456789abcdef')");
append_to_file("$directory/positions", '01234567-89ab-4def-8123-456789abcdef 123456');

# These are lost, and the readers have handled them.
add_rows($first);
read_all($first);
$first->stop('immediate');

# The timeline and the position of a reader without tokens that has read all rows
my (@timelines, @positions);
for my $server (@twin)
{
	$server->append_conf('postgresql.conf', q(primary_conninfo = ''));
	$server->start;
	$server->promote;
	add_rows($server);
	read_all($server);
	push @timelines, outcome($server, 'SELECT timeline FROM seqid.stat_server');
	push @positions, outcome($server, 'SELECT max(id) FROM outbox');
}
cmp_ok($positions[1], '<=', $positions[0], 'a reader that continues at its position gets no row');
is("@timelines", '2 2', 'and the timeline has not changed');

# Back to a primary that continued.
add_rows($twin[0]);
read_all($twin[0]);

# Behind a connection pool, the session can continue on a server that has lost rows and tokens,
# here the same server without them.  A reader that keeps its position gets no row below it.
my ($server, $printed) = ($twin[0], "$directory/pool");
my $kept = outcome($server, 'SELECT max(id) / 2 FROM outbox');
sub has_printed ($text) { return poll_until { -e $printed && slurp_file($printed) =~ /^\d+ \Q$text\E$/m } }

local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($server->host, $server->port, 'postgres');
my $pid = spawn($printed, 'python3', "$programs/reader_outside.py", "$directory/positions");
$server->safe_psql('postgres', "INSERT INTO outbox (topic) VALUES ('before')");
ok(has_printed('before'), 'pool: a session has passed the rows');
$server->safe_psql('postgres', "DELETE FROM outbox WHERE id > $kept; TRUNCATE outbox_token; SELECT setval('outbox_id_seq', $kept);
	INSERT INTO outbox (topic) VALUES ('after')");
ok(has_printed('after'), 'pool: the session gets a row with the key of a lost one');
kill 'KILL', $pid;
done_testing();

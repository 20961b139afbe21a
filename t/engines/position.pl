# A position outside of the database, over failovers that lose WAL.
#
# Two standbys that do not know of each other are promoted from one point: their timelines
# have one number, and their rows the same keys.  The program of examples/outbox reads each
# row of each server.  A reader that begins again when the timeline changes does not, and
# neither does one that continues at its position.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

my $program = "$FindBin::RealBin/../../examples/outbox/reader_outside.py";
my $directory = PostgreSQL::Test::Utils::tempdir;

sub add_rows ($server)
{
	my $name = $server->name;

	$server->safe_psql('postgres', "INSERT INTO outbox (topic) SELECT '$name ' || n FROM generate_series(1, 50) n");
}

# read_all($server): the program reads until it has returned the last row of the server.
sub read_all ($server)
{
	my ($rows, $last) = ("$directory/" . $server->name, $server->safe_psql('postgres', 'SELECT id || $$ $$ || topic FROM outbox ORDER BY id DESC LIMIT 1'));
	my $pid;

	unlink $rows;
	{
		local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($server->host, $server->port, 'postgres');
		$pid = spawn($rows, 'python3', $program, "$directory/positions");
	}
	my $arrived = poll_until { -e $rows && slurp_file($rows) =~ /^\Q$last\E$/m };
	# The position is saved after the rows were handled.
	my $end = 1 + ($last =~ s/ .*//r);
	$arrived &&= poll_until { -e "$directory/positions" && slurp_file("$directory/positions") =~ / $end\n\z/ };
	kill 'KILL', $pid;
	$arrived or die 'the last row does not arrive: ' . slurp_file($rows);
	return { map { /^(\d+ \S+ \d+)$/ ? ($1 => 1) : () } split /\n/, slurp_file($rows) };
}

# The rows of a server that are not among those that a reader got.
sub missed ($server, %read)
{
	return scalar grep { !$read{$_} } split /\n/, $server->safe_psql('postgres', 'SELECT id || $$ $$ || topic FROM outbox');
}

my $first = new_server('first', streaming => 1);
$first->safe_psql('postgres', q{
	CREATE TABLE outbox (id bigserial PRIMARY KEY, topic text NOT NULL, payload jsonb NOT NULL DEFAULT '{}');
	CREATE TABLE outbox_token (token uuid PRIMARY KEY, written timestamptz DEFAULT now());});
add_rows($first);
my %read = %{ read_all($first) };
my @twin = map { new_standby($first, $_) } qw(second third);
$first->wait_for_catchup($_) for @twin;
$_->stop for @twin;

# These are lost, and the reader has handled them.
add_rows($first);
%read = (%read, %{ read_all($first) });
is(missed($first, %read), 0, 'the first primary: no row is missed');
$first->stop('immediate');

# (timeline, position) of two readers without tokens, which have read all rows.
my $at = "SELECT timeline, (SELECT max(id) FROM outbox) FROM seqid.stat_server";
my (%missed, @before);
for my $server (@twin)
{
	$server->append_conf('postgresql.conf', q(primary_conninfo = ''));
	$server->start;
	$server->promote;
	add_rows($server);
	%read = (%read, %{ read_all($server) });
	is(missed($server, %read), 0, $server->name . ': no row is missed with tokens');
	my @now = split /\|/, outcome($server, $at);
	is($now[0], 2, $server->name . ': timeline 2');
	cmp_ok($now[1], '<=', $before[1], $server->name . ': a reader that continues at its position gets no row') if @before;
	is($now[0], $before[0], 'and the timeline has not changed') if @before;
	@before = @now;
}

# Back to a primary that continued.
add_rows($twin[0]);
%read = (%read, %{ read_all($twin[0]) });
is(missed($twin[0], %read), 0, 'back on the second: no row is missed');
done_testing();

# An old primary that continues beside a promoted standby, both with one fixed shard.
#
# A reader that has used the old primary keeps a position outside of the database, which
# is ahead of rows of the new one.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;
use SeqidPage;

my $page = SeqidPage->new("$FindBin::RealBin/../docs/failover.md");
my $conf = "seqid.shards = '0-3'\nseqid.allowed_shards = '0-3'\n";
my $old = new_server('old', streaming => 1, conf => $conf);

my ($where) = $page->recipe('where');
like(outcome($old, $where->{text}), qr/^1\|0\|configuration file$/, 'the shard is from the configuration file');

$old->safe_psql('postgres', q{
	CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(2), note text);
	CREATE TABLE positions (reader text PRIMARY KEY, position bigint);
	INSERT INTO events (note) VALUES ('before');
	INSERT INTO positions VALUES ('inside', 0);});
my $new = new_standby($old, 'new');
$old->wait_for_catchup($new);
$new->promote;

# read_events($node, $position): the notes from there up to the horizon.
sub read_events ($node, $position)
{
	return $node->safe_psql('postgres', "CALL seqid.horizon() \\gset
		SELECT note FROM events WHERE id >= $position AND id < :snowflake ORDER BY id");
}

# The old primary continues, and its reader stores a position.
$old->safe_psql('postgres', "CALL seqid.horizon() \\gset\nUPDATE positions SET position = :snowflake");
my $added = $new->safe_psql('postgres', "INSERT INTO events (note) VALUES ('after') RETURNING id");
my $outside;
poll_until
{
	($outside) = $old->safe_psql('postgres', 'CALL seqid.horizon()') =~ /\|1\|(\d+)\|/;
	$outside > $added;
} or die 'the horizon of the old primary stands still';
my ($inside) = $new->safe_psql('postgres', "SELECT position FROM positions WHERE reader = 'inside'");
wait_until($new, "CALL seqid.horizon() \\gset\nSELECT :snowflake > $added") or die 'the horizon stands still';
is(read_events($new, $inside), "before\nafter", 'a position in the database: a row comes again, and none is missing');
is(read_events($new, $outside), '', 'a position outside: a row is missing after reads on the old primary');

done_testing();

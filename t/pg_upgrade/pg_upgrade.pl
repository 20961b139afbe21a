# pg_upgrade from PostgreSQL 15, in each mode that this version has: the new server keeps
# keys, terms and a setting, and new keys and values are above the old ones although the clock
# is behind.  So are those after a crash, and those of a new replica.
#
# It takes the programs of both versions.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidBuild;
use SeqidTest;

# pg_upgrade has it too: otherwise the time of its last checkpoint would be above all keys.
my $clock = SeqidClock->new('-10m');
my $conf = "autovacuum = off\nseqid.max_lead = '1h'\n";
my @init = (extra => ['--data-checksums']);
chomp(my $bin = `pg_config --bindir`);

# In C23 its headers would be wrong.
my $old_build = SeqidBuild->new_for('/usr/lib/postgresql/15/bin', '-std=gnu17');

my $create = <<'SQL';
ALTER DATABASE shop SET seqid.shards = '7';
CREATE EXTENSION seqid;
CREATE TABLE keys (
	snowflake bigint UNIQUE DEFAULT snowflake_nextval(),
	snowflake53 bigint UNIQUE DEFAULT snowflake53_nextval(),
	comb uuid UNIQUE DEFAULT comb_uuid());
CREATE TABLE events (id bigserial PRIMARY KEY);
SELECT intern_create('words');
SQL

# UNIQUE lets it fail if anything comes again.
my $fill = <<'SQL';
INSERT INTO keys SELECT FROM generate_series(1, 1000);
INSERT INTO events SELECT FROM generate_series(1, 10);
SELECT intern_id('words', gen_random_uuid()::text);
SQL

# What stays the same: keys, terms and the setting.
sub kept ($node)
{
	return $node->safe_psql('shop', <<'SQL');
SELECT count(*), md5(string_agg(k::text, ',' ORDER BY snowflake)), (SELECT max(id) FROM events),
       current_setting('seqid.shards') FROM keys k;
SELECT id, term, intern_id('words', term) = id, intern_term('words', id) = term FROM words ORDER BY id;
SQL
}

# New keys and values, and the bounds that a reader then gets; each is above the one of before.
my @ascending = qw(snowflake snowflake53 comb event term settled_snowflake settled_event);

sub issued ($node)
{
	my %issued;

	@issued{@ascending} = split /[|\n]/, outcome($node, 'shop', <<'SQL');
SELECT snowflake_nextval(), snowflake53_nextval(), comb_uuid(), nextval('events_id_seq'),
       intern_id('words', gen_random_uuid()::text);
SELECT seqid.settled_snowflake(), seqid.settled('events_id_seq');
SQL
	return \%issued;
}

# Returns what was issued.
sub goes_on ($node, $before, $what)
{
	my $now = issued($node);

	is(outcome($node, 'shop', "SELECT snowflake_timestamp($before->{snowflake}) > clock_timestamp() + '5 min'"),
		't', "$what: the clock is behind");
	ok(defined $now->{$_} && ($_ eq 'comb' ? $now->{$_} gt $before->{$_} : $now->{$_} > $before->{$_}), "$what: $_ ascends")
	  or diag("$_ after $before->{$_}: " . ($now->{$_} // 'nothing'))
	  for @ascending;
	unlike(outcome($node, 'shop', $fill), qr/^\w{5}$/m, "$what: new rows");
	return issued($node);
}

# A server of 15 on its second timeline, stopped; what it contains, what it has issued, and
# the position of its last bounds.
sub old_server ($name)
{
	my $old = PostgreSQL::Test::Cluster->new($name, install_path => $old_build->{install});

	$old->init(@init);
	$old->append_conf('postgresql.conf', "${conf}wal_level = replica\nrestore_command = 'false'");
	$old->start;
	$old->safe_psql('postgres', 'CREATE DATABASE shop');
	$old->safe_psql('shop', $_) for $create, $fill;
	$old->stop;
	$old->set_recovery_mode;
	$old->start;
	wait_until($old, 'SELECT NOT pg_is_in_recovery()') or die 'the server is still in recovery';

	my $issued = issued($old);
	my $kept = kept($old);
	my $position = outcome($old, 'shop', 'CALL seqid.horizon()') =~ /^[^|]*\|([^|]*)\|2\|/ ? $1 : die 'not on timeline 2';
	$old->stop;
	return ($old, $kept, $issued, $position);
}

sub upgrade ($old, $new, @mode)
{
	local %ENV = (%ENV, $clock->environment);

	$new->init(@init, allows_streaming => 1);
	$new->append_conf('postgresql.conf', $conf);
	chdir PostgreSQL::Test::Utils::tempdir or die $!;
	return ok(
		run_log([
			'pg_upgrade', @mode,
			'--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
			'--old-bindir', "$old_build->{install}/bin", '--new-bindir', $bin,
			'--old-port', $old->port, '--new-port', $new->port,
			'--socketdir', $new->host
		]),
		"pg_upgrade @mode");
}

for my $mode ([], ['--link'], ['--swap'])
{
	my $what = substr $mode->[0] // '--copy', 2;
	my $new = PostgreSQL::Test::Cluster->new("new_$what");

	next if $what eq 'swap' && $new->pg_version < 18;
	my ($old, $kept, $issued, $position) = old_server("old_$what");

	upgrade($old, $new, @$mode) or next;
	$clock->start($new);
	is(kept($new), $kept, "$what: keys, terms and the setting are kept");
	is(outcome($new, 'shop', "SELECT seqid.has_replayed('$position', 2, 1)"), 'f', "$what: positions begin again");
	$issued = goes_on($new, $issued, $what);

	$clock->crash($new);
	$issued = goes_on($new, $issued, "$what, crash");

	my $replica = new_standby($new, "replica_$what", clock => $clock);
	$new->wait_for_catchup($replica, 'replay', $new->lsn('insert'));
	is(kept($replica), kept($new), "$what: a new replica has the same");
	$new->stop;
	$replica->promote;
	goes_on($replica, $issued, "$what, replica");
	$replica->stop;
}

done_testing();

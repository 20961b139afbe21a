# A crash after each flush of WAL and after each answer, torn pages, and a flush that fails:
# no key comes twice, and no mark, dictionary or horizon is behind what a client has.
#
# torture kills the server at random times.  Here a preloaded library copies the data
# directory while a flush of the session has just ended, and the test copies it when the
# session has its answer, so that WAL which is in memory only is lost.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use File::Path qw(remove_tree);

my $directory = PostgreSQL::Test::Utils::tempdir;
my ($watched, $fails) = map { "$directory/$_" } 'watched', 'fails';
append_to_file("$directory/shim.c", <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
fdatasync(int fd)
{
	int			(*real) (int) = dlsym(RTLD_NEXT, "fdatasync");
	char		text[1024];
	char		path[1024] = "";

	/* Only WAL, and only of the session whose pid is in the name of a file. */
	snprintf(text, sizeof text, "%s.%d", getenv("SHIM_WATCHED"), getpid());
	if (access(text, F_OK) != 0)
		return real(fd);
	snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
	if (readlink(text, path, sizeof path - 1) < 0 || !strstr(path, "pg_wal"))
		return real(fd);
	if (unlink(getenv("SHIM_FAILS")) == 0)
	{
		errno = EIO;
		return -1;
	}
	return real(fd) == 0 ? system(getenv("SHIM_COPY")) : -1;
}
C

# The server; its clock is right.
sub init ($self, $node, @parameters) { return $node->init(@parameters) }

sub start ($self, $node)
{
	local %ENV = (%ENV, LD_PRELOAD => "$directory/shim.so", SHIM_WATCHED => $watched, SHIM_FAILS => $fails,
		SHIM_COPY => "sh $directory/copy.sh .");

	SeqidTest::start_again($node);
}

my ($compiler) = split ' ', `pg_config --cc`;
system_or_bail($compiler, '-O2', '-shared', '-fPIC', '-o', "$directory/shim.so", "$directory/shim.c", '-ldl');
my $node = new_server('main', clock => bless({}), init => [ extra => ['--wal-segsize=1'] ],
	conf => "fsync = on\nseqid.shards = '5'\nseqid.max_lead = '1d'\nwal_writer_delay = 10s\nbgwriter_lru_maxpages = 0\nrestart_after_crash = on\n");
my $points = $node->backup_dir;
mkdir $points;
append_to_file("$directory/copy.sh", <<"SH");
unset LD_PRELOAD
n=\$(ls $points | wc -l)
cp -r \$1 $points/\$(printf %04d \$n) && rm -f $points/*/postmaster.pid
SH

# What the client has: the greatest keys, exclusive bounds, and terms with their ids.
my %has = (snowflake => 0, snowflake53 => 0, comb => '00000000-0000-7000-8000-000000000000', serial => 0, horizon => 0, bound => 0);
my %id_of;
my ($checked, $torn) = (0, 0);

# Whether the answers of a server go on from there.
sub check ($server, $what)
{
	my $terms = join ',', sort keys %id_of;
	my $ids = join ',', map { $id_of{$_} } sort keys %id_of;
	my $answer = outcome($server, <<"SQL");
SELECT last_value >= extract(epoch FROM greatest(snowflake_timestamp($has{snowflake}), snowflake53_timestamp($has{snowflake53}))) * 1000
   AND last_value >= floor(extract(epoch FROM comb_uuid_timestamp('$has{comb}')) * 1000) AS mark
  FROM seqid.clock_mark \\gset
WITH n AS MATERIALIZED (SELECT snowflake_nextval() AS id)
SELECT concat_ws(' ', CASE WHEN NOT :'mark' THEN 'mark' END, CASE WHEN id <= $has{snowflake} THEN 'snowflake' END, CASE WHEN id < $has{horizon} THEN 'horizon' END,
	CASE WHEN snowflake53_nextval() <= $has{snowflake53} THEN 'snowflake53' END, CASE WHEN comb_uuid() <= '$has{comb}' THEN 'comb' END,
	CASE WHEN intern_terms('words', '{$ids}') <> '{$terms}' OR intern_ids('words', '{$terms}') <> '{$ids}' THEN 'terms' END,
	CASE WHEN intern_id('words', 'new') = ANY ('{$ids}') THEN 'new term' END) FROM n;
INSERT INTO outbox DEFAULT VALUES RETURNING CASE WHEN id <= $has{serial} THEN 'serial' WHEN id < $has{bound} THEN 'sequence horizon' ELSE '' END;
SQL
	$checked++;
	is($answer =~ s/\n//gr, '', $what =~ s/\n/; /r) or diag explain \%has;
}

# Starts a server of each copy that was made, and checks it.
sub check_copies ($what)
{
	for my $path (glob "$points/*.torn $points/????")
	{
		my ($name) = $path =~ m{([^/]+)$};
		my $copy = PostgreSQL::Test::Cluster->new("point_${name}_$checked");

		$copy->init_from_backup($node, $name);
		$copy->append_conf('postgresql.conf', 'fsync = off');
		$copy->start;
		check($copy, "$what, crash at $name");
		$copy->stop('immediate');
		remove_tree($copy->data_dir, $path);
	}
}

# Tears pages that have changed since the checkpoint: the second half was not written.
sub tear ($from)
{
	system_or_bail('cp', '-r', $from, "$from.torn");
	for my $file (split /\n/, $node->safe_psql('postgres', "SELECT pg_relation_filepath(c::regclass)
		FROM unnest(ARRAY['seqid.clock_mark', 'outbox_id_seq', 'words', 'words_id_seq']) c"))
	{
		open my $page, '+<', "$from.torn/$file" or next;
		sysseek $page, 4096, 0;
		syswrite $page, "\xa5" x 4096;
		$torn++;
	}
}

$node->safe_psql('postgres', q{CREATE TABLE outbox (id bigserial PRIMARY KEY); SELECT intern_create('words');
	CREATE FUNCTION ahead(minutes int) RETURNS timestamptz LANGUAGE sql AS $$ SELECT date_trunc('hour', clock_timestamp()) + minutes * interval '1 min' $$});
my $session = SeqidSession->new($node);
append_to_file("$watched.$session->{pid}", '');

# Runs a statement; returns its answer, after checking servers that crash before it came.
sub run ($sql)
{
	my $answer = $session->full_outcome($sql);

	check_copies("before the answer to $sql");
	return $answer;
}

# Keys are ahead of the clock, so that a server which has lost the mark generates them again.
for my $round (1, 2)
{
	my $minutes = 60 + 10 * $round;
	my $bound = "CALL seqid.sequence_horizon('outbox_id_seq') \\gset\nSELECT :horizon";

	$node->safe_psql('postgres', 'CHECKPOINT');
	for my $step (
		[ snowflake => "SELECT snowflake_witness(snowflake_first(ahead($minutes))); SELECT snowflake_nextval()" ],
		[ snowflake53 => "SELECT snowflake53_witness(snowflake53_first(ahead($minutes + 2))); SELECT snowflake53_nextval()" ],
		[ comb => "SELECT comb_uuid_witness(comb_uuid_first(ahead($minutes + 4))); SELECT comb_uuid()" ],
		[ horizon => "CALL seqid.horizon() \\gset\nSELECT :snowflake" ],
		[ serial => 'INSERT INTO outbox DEFAULT VALUES RETURNING id' ],
		[ bound => $bound ],
		[ terms => "SELECT intern_ids('words', '{a$round,b$round}')" ],
		[ serial => 'ALTER SEQUENCE outbox_id_seq MAXVALUE ' . 1000 * $round . '; INSERT INTO outbox DEFAULT VALUES RETURNING id' ],
		[ last => $bound ])
	{
		my ($kind, $sql) = @$step;
		my ($answer) = run($sql) =~ /([^\n]*)\z/;

		if ($kind eq 'terms') { @id_of{"a$round", "b$round"} = $answer =~ /\d+/g; }
		else { $has{ $kind eq 'last' ? 'bound' : $kind } = $answer; }
		system_or_bail('sh', "$directory/copy.sh", $node->data_dir);
		tear(glob "$points/????") if $kind eq 'last';
		check_copies("after the answer to $sql");
	}
}
cmp_ok($checked, '>', 30, "$checked crashes");
cmp_ok($torn, '>=', 8, "$torn torn pages");

# A flush that fails takes the server down, and no key is returned.
append_to_file($fails, '');
$session->send('SELECT snowflake_witness(snowflake_first(ahead(300))); SELECT snowflake_nextval()');
poll_until { !-e $fails } or die 'no flush';
$session->abandon;
wait_until($node, 'SELECT true') or die 'the server does not restart';
like(slurp_file($node->logfile), qr/PANIC: .*could not fdatasync/, 'a flush fails: the server goes down');
check($node, 'a flush fails: it goes on');

$node->stop;
done_testing();

# The tests of codecs and interning under valgrind's memcheck.
#
# Debian's server does not describe palloc() to it.  So memcheck knows which variables on
# the stack were set, and the ends of blocks of malloc().  An allocation of up to 8 kB is
# a chunk of a larger block, whose ends it does not know, and which stays set when palloc()
# gives it again.  t/fuzz/texts.pl has texts in buffers that end where they should.
#
# Every finding counts, wherever it is, because a value that was not set travels far.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;

# Findings in Debian's own server:
my $known = join '|',
  'pwrite64\(buf\)',    # the gaps of pages and of WAL
  'write\(buf\).*RelationCacheInitializePhase3',    # the gaps of structs in its file
  'hash_search_with_hash_value.*smgrclose',    # the gaps of messages that relations are closed
  'overlap in (?:__)?memcpy_chk.*RE_compile_and_cache';    # a cache that moves its entries

$ENV{PGCTLTIMEOUT} = 600;
sub start_under_memcheck
{
	my ($build, $name) = @_;
	# Background work and parallel workers would take most of the time.
	my $node = $build->server($name, <<'CONF');
authentication_timeout = 600
autovacuum = off
jit = off
max_worker_processes = 0
max_logical_replication_workers = 0
max_parallel_workers_per_gather = 0
CONF

	$build->wrap("valgrind --quiet --num-callers=30 --trace-children=yes --log-file=$build->{findings}/%p");
	$node->start;
	return $node;
}

my $build = SeqidBuild->new('-O1 -g');
# 90 dictionaries take longer than everything else.
$build->edit($_, qr/.*/s, qr/^-- The recipe: for all pairs.*?(?=^-- Fewer bits need)/ms, '')
  for 'sql/intern.sql', 'expected/intern.out';
$build->installcheck(start_under_memcheck($build, 'memcheck'),
	'REGRESS=install intern vectors snowflake_codec snowflake53_codec comb_codec scatter tenant_key bitpack'
	  . ' jump_hash textcodec extremes');
is(join("\n", grep { !/$known/s } split /\n\n+/, $build->findings), '', 'no findings');

# Planted faults are found.
my $faulty = SeqidBuild->new('-O1 -g',
	[ 'bits/text_forms.h', 'crockford32_write', qr/i >= 0/, 'i > 0' ],	# the first digit is not set
	[ 'bits/jump_hash.h', 'jump_hash_bucket', qr/int64\s+next = 0/, 'volatile int64 next' ],
	[ 'intern/intern.c', 'intern_ids', qr/terms = alloc_many\(parts.count\K/, ' - 1' ]);
my $node = start_under_memcheck($faulty, 'faulty');
$node->psql('postgres', $_) for 'CREATE EXTENSION seqid',
  'SELECT jump_hash(1, 100)',
  q{SELECT crockford32_encode_uuid('00000000-0000-0000-0000-000000000000') = repeat('0', 26)},
  q{SELECT intern_create('words')},
  q{SELECT intern_ids('words', ARRAY(SELECT n::text FROM generate_series(1, 2000) n))};
$node->stop('immediate');
my @findings = split /\n\n+/, $faulty->findings;
for my $fault (qr/depends on uninitialised.*jump_hash_bucket/s, qr/depends on uninitialised.*texteq/s,
	qr/Invalid write.*intern_ids/s)
{
	ok(scalar(grep { /$fault/ } @findings), "found: $fault");
}

done_testing();

# libFuzzer on the arithmetic of src/bits/; see rooms.c.
#
# AddressSanitizer and UndefinedBehaviorSanitizer watch, then MemorySanitizer, which finds
# a value that was not set.  SEQID_MINUTES is the time of both (1), and SEQID_SEED repeats
# a run.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use IPC::Run ();

my $seconds = 30 * ($ENV{SEQID_MINUTES} // 1);
my $seed = $ENV{SEQID_SEED} // 1 + int rand 1_000_000;
my $directory = PostgreSQL::Test::Utils::tempdir;
my ($include) = run_command([ 'pg_config', '--includedir-server' ]);

# What libFuzzer prints, and whether it ends without a finding.
sub fuzz
{
	my ($src, $sanitizers, @limit) = @_;
	my $program = "$directory/rooms.$sanitizers";
	my $log;

	mkdir "$program.corpus";
	system_or_bail('clang', qw(-g -O1 -std=gnu11 -fno-sanitize-recover=all -Wno-ignored-attributes -D_GNU_SOURCE),
		"-fsanitize=fuzzer,$sanitizers", "-I$src", "-I$include", '-o', $program, 't/fuzz/rooms.c', "$src/bits/shard_list.c");
	my $passed = IPC::Run::run([ $program, "-seed=$seed", '-max_len=128', "-artifact_prefix=$directory/", '-print_final_stats=1',
			@limit, "$program.corpus" ], '<', \'', '>&', \$log);
	return ($log, $passed);
}

# Planted faults are found: a read beyond a text, and a digit that is not set.
for ([ 'address,undefined', 'text_forms.h', '/^base62_read/,/^}/s/\*number = 0;/& *(volatile const char *) (text + length);/',
		qr/buffer-overflow.*base62_read/s ],
	[ 'memory', 'text_forms.h', '/^crockford32_write/,/^}/s/i >= 0/i > 0/', qr/use-of-uninitialized-value.*crockford32/s ])
{
	my ($sanitizers, $file, $fault, $expected) = @$_;
	my $src = "$directory/faulty.$sanitizers";

	system_or_bail('cp', '-r', 'src', $src);
	system_or_bail('sed', '-i', $fault, "$src/bits/$file");
	like((fuzz($src, $sanitizers, '-runs=100000'))[0], $expected, "$sanitizers: a fault is found");
}

note "seed $seed";
for my $sanitizers ('address,undefined', 'memory')
{
	my ($log, $passed) = fuzz('src', $sanitizers, "-max_total_time=$seconds");

	ok($passed, "$sanitizers: " . join ' ', $log =~ /number_of_executed_units: *(\d+)/, 'inputs') or diag "seed $seed\n$log";
}

done_testing();

# libFuzzer on the readers of texts in src/bits/, with AddressSanitizer and
# UndefinedBehaviorSanitizer; see texts.c.
#
# SEQID_MINUTES is the time (1), and SEQID_SEED repeats a run.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use IPC::Run ();

my $seconds = 60 * ($ENV{SEQID_MINUTES} // 1);
my $seed = $ENV{SEQID_SEED} // 1 + int rand 1_000_000;
my $directory = PostgreSQL::Test::Utils::tempdir;
my ($include) = run_command([ 'pg_config', '--includedir-server' ]);

# What libFuzzer prints, and whether it ends without a finding.
sub fuzz
{
	my ($src, $limit) = @_;
	my $log;

	mkdir "$directory/corpus";
	system_or_bail('clang', qw(-g -O1 -std=gnu11 -fno-sanitize-recover=all -Wno-ignored-attributes -D_GNU_SOURCE),
		'-fsanitize=fuzzer,address,undefined', "-I$src", "-I$include", '-o', "$directory/texts",
		't/fuzz/texts.c', "$src/bits/shard_list.c");
	my $passed = IPC::Run::run([ "$directory/texts", "-seed=$seed", '-max_len=128', "-artifact_prefix=$directory/",
			'-print_final_stats=1', $limit, "$directory/corpus" ], '<', \'', '>&', \$log);
	return ($log, $passed);
}

note "seed $seed";
my ($log, $passed) = fuzz('src', "-max_total_time=$seconds");
ok($passed, join ' ', $log =~ /number_of_executed_units: *(\d+)/, 'inputs') or diag "seed $seed\n$log";

# A planted fault is found: a read beyond a text.
system_or_bail('cp', '-r', 'src', "$directory/src");
system_or_bail('sed', '-i', '/^base62_read/,/^}/s/\*number = 0;/& *(volatile const char *) (text + length);/',
	"$directory/src/bits/text_forms.h");
like((fuzz("$directory/src", '-runs=100000'))[0], qr/buffer-overflow.*base62_read/s, 'a fault is found');

done_testing();

# The files in which sessions meet without a lock, as threads under ThreadSanitizer; see
# t/models/threads/threads.c.
#
# They must pass, and the fault in each copy with a planted one must be found.  Neither
# the other tests nor the models find these; a litmus test finds them in a transcription.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use Cwd qw(getcwd);
use IPC::Run ();

my $state = 'state/database_state.c';
my $slot = 'clock/transaction_slot.c';
my $horizon = 'clock/settled_horizon.c';

# Name, what is found, file, and the code that is replaced, and by what
my @faults = (
	# A later load overtakes the store of the slot, or of the least time of keys.
	[ 'no barrier of a writer', 'no row is below', $slot, qr/^\t\tpg_memory_barrier\(\);/m, '' ],
	[ 'no barrier of a reader', 'no row is below', $horizon, qr/^\tpg_memory_barrier\(\);/m, '' ],

	# An entry is found before it is initialized.
	[ 'no write barrier of an entry', 'data race', $state, qr/^\tpg_write_barrier\(\);/m, '' ],
	[ 'no read barrier of an entry', 'data race', $state, qr/^\tpg_read_barrier\(\);/m, '' ],
	[ 'no lock of an entry', 'data race', $state, qr/LWLock(?:Acquire|Release)\(AddinShmem.*;/, ';' ],

	# Words that other sessions read are written as plain ones.
	[ 'plain owner', 'data race', $state, qr/pg_atomic_write_u32(?=\(&owner->database)/, 'pg_atomic_init_u32' ],
	[ 'plain slot', 'data race', $slot, qr/pg_atomic_write_u64\(slot, /, '(void) (slot->value = ' ]);

my $threads = getcwd() . '/t/models/threads';
my $directory = PostgreSQL::Test::Utils::tempdir;
my ($include) = run_command([ 'pg_config', '--includedir-server' ]);
my ($machine) = run_command([ 'uname', '-m' ]);

# ThreadSanitizer of gcc 12 needs addresses that are less random.  A container can forbid
# that, and then mostly has them.
my @addresses = ('setarch', $machine, '-R');
@addresses = () unless IPC::Run::run([ @addresses, 'true' ], '>&', \my $refused);

# One thread runs at a time, so one processor is faster.
my ($processor) = (run_command([ 'taskset', '-cp', $$ ]))[0] =~ /: (\d+)/;

# compile($object, $source, options)
sub compile
{
	my ($object, $source, @options) = @_;

	system_or_bail('gcc', qw(-std=gnu11 -g -O1 -fPIC -Wall -Wextra -Werror -D_GNU_SOURCE),
		"-I$threads/stand_ins", "-I$threads", @options, '-isystem', $include, '-c', '-o', $object, $source);
	return $object;
}

# The libraries of the sessions.  They are copies, because the loader does not load a
# file twice.
sub build_sessions
{
	my ($src, @options) = @_;
	my @objects = map { compile("$src/" . s/.*\/|\.c$//gr . '.o', $_, "-I$src", '-fsanitize=thread',
			'-Dclock_gettime=machine_clock_gettime', @options) }
	  "$threads/backend.c", map { "$src/$_" } $state, $slot, $horizon;
	my @libraries = map { "$src/session$_.so" } 0 .. 3;

	system_or_bail('gcc', '-shared', '-fsanitize=thread', '-Wl,-z,lazy', '-Wl,-Bsymbolic', '-o', $libraries[0], @objects);
	system_or_bail('cp', $libraries[0], $_) for @libraries[ 1 .. 3 ];
	return @libraries;
}

# What threads print with a seed: nothing if no fault is found.
sub run_threads
{
	my ($seed, @libraries) = @_;
	my $log;

	local $ENV{TSAN_OPTIONS} = 'halt_on_error=1 exitcode=66';
	IPC::Run::run([ @addresses, 'taskset', '-c', $processor, "$directory/threads", $seed, @libraries ],
		'>&', \$log) and return '';
	return $log || 'no message';
}

system_or_bail('gcc', '-fsanitize=thread', '-rdynamic', '-o', "$directory/threads",
	compile("$directory/turns.o", "$threads/turns.c"),
	map({ compile("$directory/$_.o", "$threads/$_.c", '-fsanitize=thread', '-Isrc') } 'memory', 'threads'),
	'-ldl', '-lpthread');

system_or_bail('cp', '-r', 'src', "$directory/right");
my @right = build_sessions("$directory/right");
is(run_threads($_, @right), '', "no fault, seed $_") for 1 .. 5;

for (@faults)
{
	my ($name, $expected, $file, $code, $fault) = @$_;
	my $copy = "$directory/" . $name =~ s/ /_/gr;
	my ($found, @libraries) = ('');

	system_or_bail('cp', '-r', 'src', $copy);
	my $source = slurp_file("$copy/$file");
	$source =~ s/$code/$fault/g or die "$name: $file has changed";
	unlink "$copy/$file";
	append_to_file("$copy/$file", $source);
	@libraries = build_sessions($copy, '-w');
	for my $seed (1 .. 10)
	{
		last if $found = run_threads($seed, @libraries);
	}
	like($found, qr/$expected/, "$name: found");
}

done_testing();

# Torture.pm
#	  Clients that run beside random faults, and the keys that they were given.
#
# SEQID_MINUTES and SEQID_SEED set length and seed. With one seed, the same faults
# come in the same order.

package Torture;

use v5.36;

use Exporter qw(import);
use File::Basename qw(basename);
use List::Util qw(shuffle);
use POSIX ();
use Time::HiRes qw(sleep time);

use SeqidTest;

our @EXPORT = qw($directory %count repeatedly finish run_script ask kill_server cut_power server_faults torture
  keys_are_unique errors_like);

my $minutes = $ENV{SEQID_MINUTES} // 1;
my $seed = $ENV{SEQID_SEED} // int rand 1_000_000_000;
our $directory = PostgreSQL::Test::Utils::tempdir;
our %count;
my @children;

srand($seed);
diag("seed $seed, $minutes minutes");

# Repeats something in a process of its own until finish(), after a pause if it returns
# false.
sub repeatedly ($run)
{
	my $pid = fork // die "fork: $!";

	if ($pid == 0)
	{
		srand($seed + @children + 1);
		until (-e "$directory/stop")
		{
			my $succeeded = eval { $run->() };

			append_to_file("$directory/died", $@) if $@;
			sleep 0.2 unless $succeeded;
		}
		POSIX::_exit(0);
	}
	push @children, $pid;
}

sub finish
{
	append_to_file("$directory/stop", '');
	waitpid $_, 0 for splice @children;
	ok(!-e "$directory/died", 'clients ran to the end') or diag(slurp_file("$directory/died"));
}

END
{
	local $?;

	kill 9, @children;
}

# Runs a psql script, and appends its output and its errors to files. True if it succeeds.
# psql prints a result when it is complete, so that each key returned is in the file.
sub run_script ($name, $where, $script, $output)
{
	my $file = "$directory/$name.sql";

	open my $out, '>', $file or die "$file: $!";
	print $out $script;
	close $out;
	return system(qq(psql -XqAt -v VERBOSITY=verbose -d "$where" -f $file)
		  . " >>$directory/$output 2>>$directory/$name.errors") == 0;
}

# The result of a statement, or undef if it fails.
sub ask ($node, $database, $sql)
{
	my ($status, $out) = eval { $node->psql($database, $sql) };

	return defined $status && $status == 0 ? $out : undef;
}

# Whether a process of the server runs; its number can belong to another one by now.
sub is_of_server ($pid, $name)
{
	open my $file, '<', "/proc/$pid/cmdline" or return 0;
	return (<$file> // '') =~ /^postgres: $name:/;
}

sub processes_of ($postmaster) { return split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children") }

# Kills a postmaster.  The others end when they notice that, but a process that waits for a
# lock of a killed process does not notice.
sub kill_server ($node)
{
	my @processes = processes_of($node->{_pid});

	$node->kill9;
	for (1 .. 50)
	{
		@processes = grep { is_of_server($_, $node->name) } @processes or last;
		sleep 0.1;
	}
	kill 9, @processes;
}

# Kills all processes of a server at once, as a loss of power does.  If only the postmaster
# were killed, a session that waits for a standby would end the wait, and a statement that
# still runs would see its commit, which a promotion can lose.
sub cut_power ($node)
{
	my $postmaster = $node->{_pid};

	kill 'STOP', $postmaster;
	kill 9, processes_of($postmaster);
	$node->kill9;
}

# Faults of a server, each with its weight.  Each returns whether it happened.
sub server_faults ($node, $start)
{
	return (
		'postmaster kills' => [ 4, sub { kill_server($node->()); $start->(); } ],
		'immediate restarts' => [ 1, sub { $node->()->stop('immediate'); $start->(); } ],
		'clean restarts' => [ 1, sub { $node->()->stop('fast'); $start->(); } ],
		'backend kills' => [ 3, sub {
			# The server can still be busy with the last crash.
			my $pid = ask($node->(), 'postgres', "SELECT pid FROM pg_stat_activity
				WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1");

			# When it is gone, the server has noticed, and refuses sessions until it has recovered.
			return $pid && kill(9, $pid) && poll_until { !-e "/proc/$pid" };
		} ]);
}

# Injects each fault once, and then as weights and chance decide, until the time is over
# and enough has happened.
sub torture ($settle, $enough, %faults)
{
	my @first = shuffle(sort keys %faults);
	my @lot = map { ($_) x $faults{$_}[0] } sort keys %faults;
	my $end = time + 60 * $minutes;

	$count{$_} //= 0 for @first;
	while (@first || time < $end || !$enough->() && time < $end + 900)
	{
		my $fault = shift @first // $lot[ rand @lot ];

		sleep 0.2 + rand;
		$count{$fault}++ if $faults{$fault}[1]->();
		$settle->();
	}
	ok($enough->(), 'enough has happened');
	diag(join ', ', map { "$count{$_} $_" } sort keys %count);
}

# Asserts that no key occurs twice in the files DATABASE.*.keys of a database.
sub keys_are_unique
{
	my %given = map { $_ => 0 } qw(snowflake snowflake53 COMB);

	open my $sort, '|-', "LC_ALL=C sort -T $directory | uniq -d >$directory/repeated" or die $!;
	for my $file (glob "$directory/*.keys")
	{
		my ($database) = split /\./, basename($file);

		open my $in, '<', $file or die "$file: $!";
		while (my $line = <$in>)
		{
			# Snowflakes have more digits than a snowflake53 can have, other numbers fewer.
			for my $key ($line =~ /[\w-]{12,}/g)
			{
				my $kind = $key =~ /-/ ? 'COMB' : length $key > 16 ? 'snowflake' : 'snowflake53';

				$given{$kind}++;
				print $sort "$kind $database $key\n";
			}
		}
	}
	close $sort or die 'sort failed';
	my @repeated = split /\n/, slurp_file("$directory/repeated");

	cmp_ok($given{$_}, '>', 1000, "${_}s were generated") for sort keys %given;
	is(scalar(@repeated), 0, 'no key was generated twice in a database') or diag($repeated[0]);
	diag(join ', ', (map { "$given{$_} ${_}s" } sort keys %given), @repeated . ' duplicates');
}

# The errors of clients that match a pattern.
sub errors_like ($pattern)
{
	return grep { /$pattern/ } map { split /\n/, slurp_file($_) } glob "$directory/*.errors";
}

1;

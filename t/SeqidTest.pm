# SeqidTest.pm
#	  What the tests share: servers, a clock that a test can set, sessions, and polls.
#
# "use SeqidTest" also turns on strict and warnings, and imports Test::More and
# PostgreSQL::Test.  A test needs no other line than this:
#
#	use FindBin;
#	use lib $FindBin::RealBin;
#	use SeqidTest;

package SeqidTest;

use strict;
use warnings;

use Exporter ();
use POSIX    ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();

our @EXPORT = qw(error_in full_outcome new_server new_standby outcome poll_until spawn start_again
  wait_until wait_until_blocked wait_until_synchronous);

sub import
{
	my $caller = caller;

	strict->import;
	warnings->import;
	eval "package $caller; Test::More->import; PostgreSQL::Test::Utils->import; 1" or die $@;
	goto &Exporter::import;
}

# poll_until { condition } $seconds: returns true as soon as the condition holds, and
# false if it does not within that time, 180 seconds by default.
sub poll_until(&;$)
{
	my ($condition, $seconds) = @_;

	for my $try (1 .. 10 * ($seconds // 180))
	{
		return 1 if $condition->();
		select undef, undef, undef, 0.1;
	}
	return 0;
}

#
# Servers
#

# new_server($name, conf => settings, clock => a SeqidClock or SeqidShim,
#	streaming => 1, init => [ arguments of init ], extension => 0)
# Starts a server whose database postgres has the extension.
sub new_server
{
	my ($name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my @init = @{ $option{init} // [] };

	push @init, allows_streaming => 1 if $option{streaming};
	($option{clock} // 'SeqidClock')->init($node, @init);
	$node->append_conf('postgresql.conf', "autovacuum = off\n" . ($option{conf} // ''));
	start_node($node, $option{clock});
	$node->safe_psql('postgres', 'CREATE EXTENSION seqid') if $option{extension} // 1;
	return $node;
}

# new_standby($primary, $name, conf, clock, start => 0): starts a standby that streams
# from a new backup of the primary.
sub new_standby
{
	my ($primary, $name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$primary->backup("for_$name");
	$node->init_from_backup($primary, "for_$name", has_streaming => 1);
	$node->append_conf('postgresql.conf', $option{conf}) if defined $option{conf};
	start_node($node, $option{clock}) if $option{start} // 1;
	return $node;
}

sub start_node
{
	my ($node, $clock) = @_;

	return $clock ? $clock->start($node) : $node->start;
}

# Starts a server after a crash: processes of the old one can keep its shared memory
# for a while.
sub start_again
{
	my ($node) = @_;

	poll_until
	{
		return 1 if $node->start(fail_ok => 1);

		# The node took the pid from the old server's file.
		$node->{_pid} = undef;
		return 0;
	} or die 'the server does not start';
	return;
}

# wait_until($node, $query): waits until the query returns true, also while the server
# does not accept connections.  (poll_query_until() dies if psql ends before it has
# read the query.)
sub wait_until
{
	my ($node, $query) = @_;

	return poll_until
	{
		my ($status, $answer) = eval { $node->psql('postgres', $query) };

		return defined $status && $status == 0 && $answer eq 't';
	};
}

# Waits until a lock that another session holds blocks each of these.
sub wait_until_blocked
{
	my ($node, @sessions) = @_;
	my $pids = join ', ', map { $_->{pid} } @sessions;

	$node->poll_query_until('postgres',
		"SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0) FROM unnest(ARRAY[$pids]) AS pid")
	  or die join("\n", 'the sessions are not blocked', map { $_->answered; $_->errors } @sessions);
	return;
}

# Waits until a standby is synchronous and commits wait for it.  Commits wait once the
# checkpointer has read the configuration file, which it does before the checkpoint.
sub wait_until_synchronous
{
	my ($node) = @_;

	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
	  or die 'no synchronous standby';
	$node->safe_psql('postgres', 'CHECKPOINT');
	return;
}

#
# Outcomes: the answer of statements, or the error of the first that fails, as one value
#

# SQLSTATE and message of the error that psql printed with VERBOSITY verbose.
sub error_in
{
	my ($err) = @_;

	return $err =~ /ERROR:  (.*)/ ? $1 : $err;
}

# full_outcome($node, [$database,] $sql): the answer, or "SQLSTATE: message".
sub full_outcome
{
	my ($node, $sql) = ($_[0], pop);
	my ($status, $out, $err) = $node->psql($_[1] // 'postgres', "\\set VERBOSITY verbose\n$sql");

	return $status == 0 ? $out : error_in($err);
}

# outcome($node, [$database,] $sql): the answer, or the SQLSTATE.
sub outcome
{
	my ($node, $sql) = ($_[0], pop);
	my ($status, $out, $err) = $node->psql($_[1] // 'postgres', "\\set VERBOSITY verbose\n$sql");

	return $status == 0 ? $out : error_in($err) =~ s/^(\w{5}): .*/$1/r;
}

#
# Programs
#

my (@spawned, @sharing);

# spawn($file, @command): starts a program that ends with the test; what it prints is
# appended to the file.  Returns its pid.
sub spawn
{
	my ($file, @command) = @_;
	my $pid = fork // die "fork: $!";

	if ($pid == 0)
	{
		open STDOUT, '>>', $file and open STDERR, '>&', \*STDOUT and exec @command;
		POSIX::_exit(127);
	}
	push @spawned, $pid;
	return $pid;
}

END
{
	local $?;

	kill 'TERM', @spawned;
	close $_->{in} for @sharing;
	waitpid $_, 0 for @spawned, map { $_->{pid} } @sharing;
}

#
# SeqidClock: a clock that a test can set, for one server, by libfaketime.
#
# A process that interrupts libfaketime reads the real clock.  Up to 15 that includes
# parallel workers for as long as they live, because the postmaster forks them in a
# signal handler, which interrupts its select().  So generate keys in workers only
# while the clock is right.
#
# Set no statement_timeout under it: the handler of a timer's signal reads the clock,
# and libfaketime then opens its file, even within malloc().  pg_cancel_backend()
# cancels a statement without a timer.
#
# Programs that one program starts share a segment of libfaketime, which is removed
# when the first one ends.  That would be pg_ctl, before the server runs an
# archive_command, and each such command would then create a segment named after its
# own pid and fail where one is left of a process that was killed.  So the first
# program is one that does nothing and stays until the test ends.
#
package SeqidClock;

use IPC::Open2 qw(open2);

sub new
{
	my ($class) = @_;
	my ($library) = glob('/usr/lib/*/faketime/libfaketime.so.1');
	die 'libfaketime is not installed' unless defined $library;

	my $self = bless {
		library => $library,
		file => PostgreSQL::Test::Utils::tempdir . '/clock'
	}, $class;
	$self->set('+0s');
	SeqidTest::poll_until { $self->share } or die 'libfaketime shares nothing';
	return $self;
}

# Starts the program that others share with; false if a killed process with the same
# pid has left a segment.
sub share
{
	my ($self) = @_;
	local %ENV = (%ENV, $self->environment);
	my $pid = open2(my $out, my $in, $^X, '-e',
		'$| = 1; print $ENV{FAKETIME_SHARED} // "", "\n"; <STDIN>');

	push @sharing, { pid => $pid, in => $in };
	chomp(my $shared = <$out> // '');
	$self->{shared} = $shared if $shared ne '';
	return defined $self->{shared};
}

# In libfaketime's syntax: '-5s', '+1d', '@2022-01-01 00:00:00' for a clock that starts
# there, the same without @ for one that stands still.  Takes effect in a running
# server.
sub set
{
	my ($self, $spec) = @_;

	open my $file, '>', "$self->{file}.new" or die $!;
	print $file "$spec\n";
	close $file;
	rename "$self->{file}.new", $self->{file} or die $!;
	return;
}

# The environment of a program that reads this clock.
sub environment
{
	my ($self) = @_;

	return (
		LD_PRELOAD => $self->{library},
		FAKETIME_TIMESTAMP_FILE => $self->{file},
		FAKETIME_NO_CACHE => 1,
		FAKETIME_DONT_FAKE_MONOTONIC => 1,
		DONT_FAKE_MONOTONIC => 1,
		# The times of files are those of the real clock, as they are without it.
		NO_FAKE_STAT => 1,
		TZ => 'UTC',
		defined $self->{shared} ? (FAKETIME_SHARED => $self->{shared}) : ());
}

# Creates a cluster whose first checkpoint has this clock's time.  Without a clock:
# SeqidClock->init($node).
sub init
{
	my ($self, $node, @parameters) = @_;
	local %ENV = (%ENV, ref $self ? $self->environment : ());

	$node->init(@parameters);
	return;
}

sub start
{
	my ($self, $node) = @_;
	local %ENV = (%ENV, $self->environment);

	SeqidTest::start_again($node);
	return;
}

# Stops a server in a mode, sets the clock, and starts the server.
sub restart
{
	my ($self, $node, $spec, $mode) = @_;

	$node->stop($mode);
	$self->set($spec);
	$self->start($node);
	return;
}

# Kills a server, sets the clock if $spec is given, and starts the server.
sub crash
{
	my ($self, $node, $spec) = @_;

	$node->kill9;
	$self->set($spec) if defined $spec;
	$self->start($node);
	return;
}

#
# SeqidShim: a clock that steps while a call is under way, for one server; see
# clock_shim.c.
#
package SeqidShim;

use File::Basename qw(dirname);

# The fields of its struct Control, in order.
my @fields = qw(offset_ns pid frozen_ns readings step_at step_ns steps napped_ns longest_ns);
my %place = map { $fields[$_] => 8 * $_ } 0 .. $#fields;

# Compiles the library with the compiler that built the server.
sub new
{
	my ($class) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $self = bless {
		library => "$directory/clock_shim.so",
		control => "$directory/clock_shim.control"
	}, $class;
	my ($compiler) = split ' ', `pg_config --cc`;

	PostgreSQL::Test::Utils::system_or_bail($compiler, '-O2', '-shared', '-fPIC',
		'-o', $self->{library}, dirname(__FILE__) . '/clock_shim.c', '-ldl');
	open $self->{file}, '+>', $self->{control} or die "$self->{control}: $!";
	$self->set(map { $_ => 0 } @fields);
	return $self;
}

# Sets fields, in the order of the arguments.
sub set
{
	my ($self, @values) = @_;

	while (my ($field, $value) = splice @values, 0, 2)
	{
		sysseek $self->{file}, $place{$field}, 0;
		syswrite($self->{file}, pack 'q', $value) == 8 or die "$self->{control}: $!";
	}
	return;
}

sub get
{
	my ($self, $field) = @_;

	sysseek $self->{file}, $place{$field}, 0;
	sysread($self->{file}, my $value, 8) == 8 or die "$self->{control}: $!";
	return unpack 'q', $value;
}

# Watches a process from now on: its clock steps at its k-th reading, or never if k is 0.
sub watch
{
	my ($self, $pid, $k, $step_ns) = @_;

	$self->set(step_at => 0, readings => 0, napped_ns => 0, steps => 0,
		step_ns => $step_ns // 0, pid => $pid, step_at => $k // 0);
	return;
}

sub environment
{
	my ($self) = @_;

	return (LD_PRELOAD => $self->{library}, CLOCK_SHIM_CONTROL => $self->{control});
}

*init = \&SeqidClock::init;
*start = \&SeqidClock::start;

#
# SeqidSession: a psql that stays connected, so that a test can have several at once.
# PostgreSQL::Test's own sessions differ between 15 and 19.
#
package SeqidSession;

use IPC::Run ();

# SeqidSession->new($node, $database): returns when connected; {pid} is the backend's
# pid.  Each statement can take three minutes, however old the session is.
sub new
{
	my ($class, $node, $database) = @_;
	my $self = bless { in => '', out => '', err => '', marks => 0 }, $class;

	$self->{timer} = IPC::Run::timeout(180);
	$self->{run} = IPC::Run::start(
		[
			'psql', '--no-psqlrc', '--quiet', '--no-align', '--tuples-only',
			'--set', 'VERBOSITY=verbose',
			'--dbname', $node->connstr($database // 'postgres')
		],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err},
		$self->{timer});
	$self->{pid} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

# Sends statements, or a psql command, without waiting for the answer.
sub send
{
	my ($self, $sql) = @_;

	$self->{mark} = 'end-of-answer-' . ++$self->{marks};
	$sql .= ';' unless $sql =~ /^\\/;
	$self->{timer}->start;
	$self->{in} .= "$sql\n\\echo $self->{mark}\n";
	$self->{run}->pump_nb;
	return;
}

# Whether the answer is complete.
sub answered
{
	my ($self) = @_;

	$self->{run}->pump_nb;
	return $self->{out} =~ /^\Q$self->{mark}\E$/m;
}

# Waits until the session waits for an event; false if it answers instead.
sub waits_for
{
	my ($self, $node, $event) = @_;
	my $answered;

	SeqidTest::poll_until
	{
		return 1 if $answered = $self->answered;
		return $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE pid = $self->{pid} AND wait_event = '$event'");
	}
	or die "neither answered nor waiting for $event";
	return !$answered;
}

# Kills the backend, and returns when it is gone: the server then accepts no connection
# until it has restarted.
sub kill_backend
{
	my ($self) = @_;
	my $killed = kill 9, $self->{pid};

	SeqidTest::poll_until { !kill 0, $self->{pid} } or die "process $self->{pid} is not gone";
	return $killed;
}

# The output so far, complete or not.
sub so_far
{
	my ($self) = @_;

	eval { $self->{run}->pump_nb };
	return $self->{out};
}

# Waits for the answer, and returns it.
sub answer
{
	my ($self) = @_;
	my $mark = $self->{mark};

	$self->{run}->pump until $self->{out} =~ /^\Q$mark\E$/m;
	my ($answer) = $self->{out} =~ /\A(.*?)^\Q$mark\E$/ms;
	$self->{out} = '';
	chomp $answer;
	return $answer;
}

sub query
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->answer;
}

# What the session printed as errors since the last call.
sub errors
{
	my ($self) = @_;
	my $errors = $self->{err};

	$self->{err} = '';
	return $errors;
}

# The answer of a statement, or "SQLSTATE: message" of its error.
sub full_outcome
{
	my ($self, $sql) = @_;
	my $answer = $self->query($sql);
	my $errors = $self->errors;

	return $errors eq '' ? $answer : SeqidTest::error_in($errors);
}

# The answer of a statement, or its SQLSTATE.
sub outcome
{
	my ($self, $sql) = @_;

	return $self->full_outcome($sql) =~ s/^(\w{5}): .*/$1/r;
}

# Ends a session whose server is gone, or that waits.
sub abandon
{
	my ($self) = @_;

	eval { $self->{run}->kill_kill };
	return;
}

sub close
{
	my ($self) = @_;

	$self->{timer}->start;
	$self->{in} .= "\\q\n";
	$self->{run}->finish;
	return;
}

#
# SeqidCollector: clients that write down each key they get, and the search for a key
# that came twice.
#
package SeqidCollector;

sub new
{
	my ($class) = @_;

	return bless { directory => PostgreSQL::Test::Utils::tempdir, files => [] }, $class;
}

# Starts a client that repeats a statement until its server is gone.
sub start
{
	my ($self, $node, $database, $statement) = @_;
	my $session = SeqidSession->new($node, $database);
	my $file = "$self->{directory}/" . scalar(@{ $self->{files} });

	push @{ $self->{files} }, $file;
	PostgreSQL::Test::Utils::append_to_file("$file.sql", "$statement;\n" x 20000);
	$session->query("\\o $file");
	$session->send("\\i $file.sql");
	return { session => $session, file => $file };
}

# Waits until each client has got so many bytes of keys.
sub wait_for
{
	my ($self, $size, @clients) = @_;

	SeqidTest::poll_until { !grep { (-s $_->{file} // 0) < $size } @clients }
	  or die 'the clients got no keys';
	return;
}

# Ends clients whose server is gone.
sub finish
{
	my ($self, @clients) = @_;

	for my $client (@clients)
	{
		eval { $client->{session}->answer };
		$client->{session}->abandon;
	}
	return;
}

# The number of keys, and of those that had come before.
sub count
{
	my ($self) = @_;
	my ($keys, $twice, %seen) = (0, 0);

	for my $file (grep { -e } @{ $self->{files} })
	{
		# A line that a crash cut off is not a key that a client got.
		for my $line (grep { /\n\z/ } split /(?<=\n)/, PostgreSQL::Test::Utils::slurp_file($file))
		{
			chomp $line;
			for my $key (split /\|/, $line)
			{
				$keys++;
				$twice++ if $seen{$key}++;
			}
		}
	}
	return ($keys, $twice);
}

# The older names.
package SeqidSession;

*wait_until = \&SeqidTest::wait_until;
*wait_until_blocked = \&SeqidTest::wait_until_blocked;
*wait_until_synchronous = \&SeqidTest::wait_until_synchronous;

1;

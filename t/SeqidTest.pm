# SeqidTest.pm
#	  What the tests share: servers, a clock that a test can set, sessions, and polls.
#
# It imports Test::More and PostgreSQL::Test for the test.

package SeqidTest;

use v5.36;

use Exporter ();
use POSIX    ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();

our @EXPORT = qw(add_database crash error_in full_outcome is_no_earlier keys_ascend make_synchronous
  new_keys new_server new_standby outcome poll_until promote_standby reconfigure settled_horizon
  spawn start_again wait_for_clock wait_until wait_until_blocked);

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
sub poll_until : prototype(&;$) ($condition, $seconds = 180)
{
	for my $try (1 .. 10 * $seconds)
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
sub new_server ($name, %option)
{
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
sub new_standby ($primary, $name, %option)
{
	my $node = PostgreSQL::Test::Cluster->new($name);

	$primary->backup("for_$name");
	$node->init_from_backup($primary, "for_$name", has_streaming => 1);
	$node->append_conf('postgresql.conf', $option{conf}) if defined $option{conf};
	start_node($node, $option{clock}) if $option{start} // 1;
	return $node;
}

# Creates a database that has the extension.
sub add_database ($node, $name)
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION seqid');
}

sub start_node ($node, $clock)
{
	return $clock ? $clock->start($node) : $node->start;
}

# Starts a server after a crash: processes of the old one can keep its shared memory
# for a while.
sub start_again ($node)
{
	poll_until
	{
		return 1 if $node->start(fail_ok => 1);

		# The node took the pid from the old server's file.
		$node->{_pid} = undef;
		return 0;
	} or die 'the server does not start';
}

# Kills a server, which loses its shared memory and the WAL that was not flushed, and
# starts it.  (A server with a clock of its own: SeqidClock::crash().)
sub crash ($node)
{
	$node->kill9;
	start_again($node);
}

# reconfigure($node, $name => $value, ...): changes the configuration file, and returns
# when new sessions have read it.
sub reconfigure ($node, %setting)
{
	$node->append_conf('postgresql.conf', join "\n", map { "$_ = '$setting{$_}'" } keys %setting);
	$node->reload;
	$node->poll_query_until('postgres',
		'SELECT ' . join ' AND ', map { "current_setting('$_', true) = '$setting{$_}'" } keys %setting)
	  or die 'the server does not read its configuration file';
}

# Makes the only standby of a server synchronous.  Commits wait for it once the
# checkpointer has read the configuration file, which it does before the checkpoint.
sub make_synchronous ($node)
{
	reconfigure($node, synchronous_standby_names => '*');
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
	  or die 'no synchronous standby';
	$node->safe_psql('postgres', 'CHECKPOINT');
}

# Promotes a standby, whose commits do not wait for another.
sub promote_standby ($node)
{
	reconfigure($node, synchronous_standby_names => '');
	$node->promote;
}

# wait_until($node, $query): waits until the query returns true, also while the server
# does not accept connections.  (poll_query_until() dies if psql ends before it has
# read the query.)
sub wait_until ($node, $query)
{
	return poll_until
	{
		my ($status, $answer) = eval { $node->psql('postgres', $query) };

		return defined $status && $status == 0 && $answer eq 't';
	};
}

# Waits until a lock that another session holds blocks each of these.
sub wait_until_blocked ($node, @sessions)
{
	my $pids = join ', ', map { $_->{pid} } @sessions;

	$node->poll_query_until('postgres',
		"SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0) FROM unnest(ARRAY[$pids]) AS pid")
	  or die join("\n", 'the sessions are not blocked', map { $_->answered; $_->errors } @sessions);
}

#
# Outcomes: the answer of statements, or the error of the first that fails, as one value
#

# SQLSTATE and message of the error that psql printed with VERBOSITY verbose.
sub error_in ($err)
{
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
	return full_outcome(@_) =~ s/\A(\w{5}): .*/$1/sr;
}

#
# Keys
#

# new_keys($node, $database): a snowflake and a snowflake53 of shard 5, and a COMB.
sub new_keys ($node, $database = 'postgres')
{
	return split /\|/, outcome($node, $database, 'SELECT snowflake_nextval(5), snowflake53_nextval(5), comb_uuid()');
}

# keys_ascend($node, \@keys, $what, $database): new keys, which must follow those.
sub keys_ascend ($node, $keys, $what, $database = 'postgres')
{
	my @new = new_keys($node, $database);

	Test::More::ok(@new == 3 && $new[0] > $keys->[0] && $new[1] > $keys->[1] && $new[2] gt $keys->[2], "$what: keys ascend")
	  or Test::More::diag("@new after @$keys");
	return @new;
}

#
# Horizons
#

# settled_horizon($node, $database): the settled horizon, or the SQLSTATE.
sub settled_horizon ($node, $database = 'postgres')
{
	return outcome($node, $database, 'CALL seqid.horizon()') =~ s/\|.*//r;
}

# Waits until the clock does not keep the horizon from passing a time.
sub wait_for_clock ($node, $time)
{
	$node->poll_query_until('postgres', "SELECT clock_timestamp() > '$time'::timestamptz + interval '1 ms'")
	  or die "the clock does not reach $time";
}

# is_no_earlier($node, $later, $earlier, $what): compares two times.
sub is_no_earlier ($node, $later, $earlier, $what)
{
	Test::More::is(outcome($node, "SELECT '$later'::timestamptz >= '$earlier'"), 't', $what)
	  or Test::More::diag("$later, $earlier");
}

#
# Programs
#

my (@spawned, @sharing);

# A signal ends servers and programs too: exit runs END blocks, and no eval catches it.
$SIG{$_} = sub { exit 1 } for qw(INT TERM);

# spawn($file, @command): starts a program in a process group of its own, which the end
# of the test kills; what it prints is appended to the file.  Returns its pid.
sub spawn ($file, @command)
{
	my $pid = fork // die "fork: $!";

	if ($pid == 0)
	{
		POSIX::setsid();
		open STDOUT, '>>', $file and open STDERR, '>&', \*STDOUT and exec @command;
		POSIX::_exit(127);
	}
	push @spawned, $pid;
	return $pid;
}

END
{
	local $?;

	kill 'KILL', @spawned, map { -$_ } @spawned;
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
# Programs that one program starts share a segment of libfaketime, named after its pid and
# removed when it ends.  If it were pg_ctl, each archive_command would create one later, and fail
# where one is left of a process that was killed.  So it is one that stays until the test ends.
#
package SeqidClock;

use IPC::Open2 qw(open2);

# SeqidClock->new($spec): as set(), '+0s' by default.
sub new ($class, $spec = '+0s')
{
	my ($library) = glob('/usr/lib/*/faketime/libfaketime.so.1');
	die 'libfaketime is not installed' unless defined $library;

	my $self = bless {
		library => $library,
		file => PostgreSQL::Test::Utils::tempdir . '/clock'
	}, $class;
	$self->set($spec);
	SeqidTest::poll_until { $self->share } or die 'libfaketime shares nothing';
	return $self;
}

# Starts the program that others share with; false if a killed process with the same
# pid has left a segment.
sub share ($self)
{
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
sub set ($self, $spec)
{
	open my $file, '>', "$self->{file}.new" or die $!;
	print $file "$spec\n";
	close $file;
	rename "$self->{file}.new", $self->{file} or die $!;
}

# Sets the clock right, and waits until it has passed the marks of databases, so that
# their next key needs a new one.
sub set_right ($self, $node, @databases)
{
	$self->set('+0s');
	for my $database (@databases ? @databases : 'postgres')
	{
		$node->poll_query_until($database,
			'SELECT extract(epoch FROM clock_timestamp()) * 1000 > last_value FROM seqid.clock_mark')
		  or die 'the clock does not reach the mark';
	}
}

# The environment of a program that reads this clock.
sub environment ($self)
{
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
sub init ($self, $node, @parameters)
{
	local %ENV = (%ENV, ref $self ? $self->environment : ());

	$node->init(@parameters);
}

sub start ($self, $node)
{
	local %ENV = (%ENV, $self->environment);

	SeqidTest::start_again($node);
}

# Stops a server in a mode, sets the clock, and starts the server.
sub restart ($self, $node, $spec, $mode = undef)
{
	$node->stop($mode);
	$self->set($spec);
	$self->start($node);
}

# Kills a server, sets the clock if $spec is given, and starts the server.
sub crash ($self, $node, $spec = undef)
{
	$node->kill9;
	$self->set($spec) if defined $spec;
	$self->start($node);
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
sub new ($class)
{
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
sub set ($self, @values)
{
	while (my ($field, $value) = splice @values, 0, 2)
	{
		sysseek $self->{file}, $place{$field}, 0;
		syswrite($self->{file}, pack 'q', $value) == 8 or die "$self->{control}: $!";
	}
}

sub get ($self, $field)
{
	sysseek $self->{file}, $place{$field}, 0;
	sysread($self->{file}, my $value, 8) == 8 or die "$self->{control}: $!";
	return unpack 'q', $value;
}

# Watches a process from now on: its clock steps at its k-th reading, or never if k is 0.
sub watch ($self, $pid, $k = 0, $step_ns = 0)
{
	$self->set(step_at => 0, readings => 0, napped_ns => 0, steps => 0,
		step_ns => $step_ns, pid => $pid, step_at => $k);
}

sub environment ($self)
{
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
sub new ($class, $node, $database = undef)
{
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
sub send ($self, $sql)
{
	$self->{mark} = 'end-of-answer-' . ++$self->{marks};
	$sql .= ';' unless $sql =~ /^\\/;
	$self->{timer}->start;
	$self->{in} .= "$sql\n\\echo $self->{mark}\n";
	$self->{run}->pump_nb;
}

# Whether the answer is complete.
sub answered ($self)
{
	$self->{run}->pump_nb;
	return $self->{out} =~ /^\Q$self->{mark}\E$/m;
}

# Waits until the session waits for an event; false if it answers instead.
sub waits_for ($self, $node, $event)
{
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
sub kill_backend ($self)
{
	my $killed = kill 9, $self->{pid};

	SeqidTest::poll_until { !kill 0, $self->{pid} } or die "process $self->{pid} is not gone";
	return $killed;
}

# The output so far, complete or not.
sub so_far ($self)
{
	eval { $self->{run}->pump_nb };
	return $self->{out};
}

# Waits for the answer, and returns it.
sub answer ($self)
{
	my $mark = $self->{mark};

	$self->{run}->pump until $self->{out} =~ /^\Q$mark\E$/m;
	my ($answer) = $self->{out} =~ /\A(.*?)^\Q$mark\E$/ms;
	$self->{out} = '';
	chomp $answer;
	return $answer;
}

sub query ($self, $sql)
{
	$self->send($sql);
	return $self->answer;
}

# What the session printed as errors since the last call.
sub errors ($self)
{
	my $errors = $self->{err};

	$self->{err} = '';
	return $errors;
}

# The answer of a statement, or "SQLSTATE: message" of its error.
sub full_outcome ($self, $sql)
{
	my $answer = $self->query($sql);
	my $errors = $self->errors;

	return $errors eq '' ? $answer : SeqidTest::error_in($errors);
}

# The answer of a statement, or its SQLSTATE.
sub outcome ($self, $sql)
{
	return $self->full_outcome($sql) =~ s/^(\w{5}): .*/$1/r;
}

# Ends a session whose server is gone, or that waits.
sub abandon ($self)
{
	eval { $self->{run}->kill_kill };
}

sub close ($self)
{
	$self->{timer}->start;
	$self->{in} .= "\\q\n";
	$self->{run}->finish;
}

1;

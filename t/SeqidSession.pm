# SeqidSession.pm
#	  A psql that stays connected, so that a test can have several at once.
#
# PostgreSQL::Test's own sessions differ between 15 and 19.

package SeqidSession;

use strict;
use warnings;

use IPC::Run ();

use SeqidOutcome ();
use SeqidPoll;

# SeqidSession::wait_until($node, $query): waits for a server that may not yet be
# up to answer a query with true; false if it never does.  A psql that finds no
# server can be gone before it is sent the query, which poll_query_until() dies of.
sub wait_until
{
	my ($node, $query) = @_;

	return poll_until
	{
		my ($status, $answer) = eval { $node->psql('postgres', $query) };

		return defined $status && $status == 0 && $answer eq 't';
	};
}

# SeqidSession::wait_until_blocked($node, @sessions): waits until each of them is
# held up by another.
sub wait_until_blocked
{
	my ($node, @sessions) = @_;
	my $pids = join ', ', map { $_->{pid} } @sessions;

	$node->poll_query_until('postgres',
		"SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0)
		   FROM unnest(ARRAY[$pids]) AS pid")
	  or die join("\n", 'the sessions are not blocked', map { $_->answered; $_->errors } @sessions);
	return;
}

# SeqidSession::wait_until_synchronous($node): waits until a standby is synchronous, and
# commits wait for it.  The first is said by what sends WAL to it; the second is told
# by the checkpointer, who reads the configuration file before a checkpoint that is
# asked for later.
sub wait_until_synchronous
{
	my ($node) = @_;

	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
	  or die 'no synchronous standby';
	$node->safe_psql('postgres', 'CHECKPOINT');
	return;
}

# SeqidSession->new($node, $database): connects, and returns when connected.  Its
# errors tell their SQLSTATE; {pid} is its process.  What it is sent may take three
# minutes, each time, however old the session is.
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

# Sends statements, or a psql command, without waiting for them.
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

# Whether the answer to what was sent is there.
sub answered
{
	my ($self) = @_;

	$self->{run}->pump_nb;
	return $self->{out} =~ /^\Q$self->{mark}\E$/m;
}

# Waits until the server says that what was sent waits for an event; false if
# the answer is there instead.
sub waits_for
{
	my ($self, $node, $event) = @_;

	my $answered;

	poll_until
	{
		return 1 if $answered = $self->answered;
		return $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE pid = $self->{pid} AND wait_event = '$event'");
	}
	or die "neither answered nor waiting for $event";
	return !$answered;
}

# Kills its process, and returns when the server knows: from then on it lets nobody in
# until it has started again.
sub kill_backend
{
	my ($self) = @_;
	my $killed = kill 9, $self->{pid};

	poll_until { !kill 0, $self->{pid} } or die "process $self->{pid} is not gone";
	return $killed;
}

# What was printed, whether or not the answer is complete.
sub so_far
{
	my ($self) = @_;

	eval { $self->{run}->pump_nb };
	return $self->{out};
}

# Waits for what was sent, and returns what it printed.
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

# What a statement returns, or the SQLSTATE and message of its error.
sub full_outcome
{
	my ($self, $sql) = @_;
	my $answer = $self->query($sql);
	my $errors = $self->errors;

	return $errors eq '' ? $answer : SeqidOutcome::error_in($errors);
}

# Ends it when its server, or what it waits for, is gone.
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

1;

# SeqidClock.pm
#	  A clock that a test can set, for one server, by libfaketime.
#
# What runs while libfaketime waits in a call on the server's behalf is shown the
# real clock.  Up to 15 that includes parallel workers, for good: the postmaster
# forks them in a signal handler, which interrupts its select().  So let workers
# draw while the clock is right.
#
# No statement_timeout and the like under it: the handler of a timer's signal asks
# for the time, and libfaketime then opens its file, wherever the process was, and
# be it in malloc().  pg_cancel_backend() ends a statement without a timer.
#
# What it shares with the programs that a program starts goes with the first one: with
# pg_ctl, before the server runs an archive_command.  They would make it anew, under
# their process's number, and end at once where one that was killed had left the same;
# a file could not be archived then, or be found in the archive.  So the first one is
# a program that does nothing, and stays.

package SeqidClock;

use strict;
use warnings;

use IPC::Open2 qw(open2);
use PostgreSQL::Test::Utils;

use SeqidPoll;

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
	poll_until { $self->share } or die 'libfaketime shares nothing';
	return $self;
}

# Starts the program that others share with, until the test ends, as servers may go by
# a clock that the test has forgotten; false if its number was a killed one's.
my @first;

sub share
{
	my ($self) = @_;
	local %ENV = (%ENV, $self->environment);
	my $pid = open2(my $out, my $in, $^X, '-e',
		'$| = 1; print $ENV{FAKETIME_SHARED} // "", "\n"; <STDIN>');

	push @first, { pid => $pid, in => $in };
	chomp(my $shared = <$out> // '');
	$self->{shared} = $shared if $shared ne '';
	return defined $self->{shared};
}

# They read until nobody writes any more.
END
{
	local $?;

	close $_->{in} for @first;
	waitpid $_->{pid}, 0 for @first;
}

# In the words of libfaketime: '-5s', '+1d', '@2022-01-01 00:00:00' for a clock
# that goes on from there, the same without @ for one that stands still.  Takes
# effect in a running server.
sub set
{
	my ($self, $spec) = @_;

	open my $file, '>', "$self->{file}.new" or die $!;
	print $file "$spec\n";
	close $file;
	rename "$self->{file}.new", $self->{file} or die $!;
	return;
}

# What a program goes by this clock with.
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

# Makes a cluster whose first checkpoint is of this clock: of one that is behind
# the real one, it would otherwise be of times to come.
sub init
{
	my ($self, $node, @parameters) = @_;
	local %ENV = (%ENV, $self->environment);

	$node->init(@parameters);
	return;
}

# Starts a server that goes by this clock.
sub start
{
	my ($self, $node) = @_;
	local %ENV = (%ENV, $self->environment);

	start_again($node);
	return;
}

# Stops a server in a mode, and starts it with the clock set.
sub restart
{
	my ($self, $node, $spec, $mode) = @_;

	$node->stop($mode);
	$self->set($spec);
	$self->start($node);
	return;
}

# Kills a server, and starts it with the clock set, if there is to be another time.
sub crash
{
	my ($self, $node, $spec) = @_;

	$node->kill9;
	$self->set($spec) if defined $spec;
	$self->start($node);
	return;
}

1;

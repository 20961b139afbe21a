# SeqidShim.pm
#	  A clock that steps while a call is under way, for one server; see clock_shim.c.

package SeqidShim;

use strict;
use warnings;

use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;

use SeqidPoll;

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

	system_or_bail($compiler, '-O2', '-shared', '-fPIC', '-o', $self->{library},
		dirname(__FILE__) . '/clock_shim.c', '-ldl');
	open $self->{file}, '+>', $self->{control} or die "$self->{control}: $!";
	$self->set(map { $_ => 0 } @fields);
	return $self;
}

# Sets fields, one after the other.
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

# Watches a process from here on: its clock steps at its k-th reading, if that is
# not 0.
sub watch
{
	my ($self, $pid, $k, $step_ns) = @_;

	$self->set(step_at => 0, readings => 0, napped_ns => 0, steps => 0,
		step_ns => $step_ns // 0, pid => $pid, step_at => $k // 0);
	return;
}

# Starts a server that goes by this clock.
sub start
{
	my ($self, $node) = @_;
	local %ENV = (%ENV, LD_PRELOAD => $self->{library}, CLOCK_SHIM_CONTROL => $self->{control});

	start_again($node);
	return;
}

1;

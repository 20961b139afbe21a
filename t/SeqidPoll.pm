# SeqidPoll.pm
#	  Waiting for what will be so, instead of for a time to pass.

package SeqidPoll;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT = qw(poll_until start_again);

# poll_until { condition } $seconds: waits until it is true; false if it is not
# after so many seconds, 180 unless told otherwise.
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

# Starts a server after a crash: what is left of the one before may still hold its
# shared memory for a while.
sub start_again
{
	my ($node) = @_;

	poll_until
	{
		return 1 if $node->start(fail_ok => 1);

		# The process file is the old server's: the node is not running.
		$node->{_pid} = undef;
		return 0;
	} or die 'the server does not start';
	return;
}

1;

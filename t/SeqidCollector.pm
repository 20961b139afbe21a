# SeqidCollector.pm
#	  Clients that write down every key they are given, and the search for a
#	  key that was given twice.

package SeqidCollector;

use strict;
use warnings;

use PostgreSQL::Test::Utils;

use SeqidPoll;
use SeqidSession;

sub new
{
	my ($class) = @_;

	return bless {
		directory => PostgreSQL::Test::Utils::tempdir,
		files => []
	}, $class;
}

# Starts a client that repeats a statement until it is stopped or its server
# goes away; what it is given goes to a file.
sub start
{
	my ($self, $node, $database, $statement) = @_;
	my $session = SeqidSession->new($node, $database);
	my $file = "$self->{directory}/" . scalar(@{ $self->{files} });

	push @{ $self->{files} }, $file;
	append_to_file("$file.sql", "$statement;\n" x 20000);
	$session->query("\\o $file");
	$session->send("\\i $file.sql");
	return { session => $session, file => $file };
}

# Waits until each client was given so many bytes.
sub wait_for
{
	my ($self, $size, @clients) = @_;

	poll_until { !grep { (-s $_->{file} // 0) < $size } @clients }
	  or die 'the clients were given nothing';
	return;
}

# After the server is gone: lets the clients notice.
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

# All keys that were ever given, and how many of them more than once.
sub count
{
	my ($self) = @_;
	my (%seen, $keys, $twice);

	($keys, $twice) = (0, 0);
	for my $file (@{ $self->{files} })
	{
		open my $in, '<', $file or next;
		while (my $line = <$in>)
		{
			# A line that a crash cut off is no key that anybody was given.
			next unless $line =~ /\n\z/;
			chomp $line;
			for my $key (split /\|/, $line)
			{
				$keys++;
				$twice++ if $seen{$key}++;
			}
		}
		close $in;
	}
	return ($keys, $twice);
}

1;

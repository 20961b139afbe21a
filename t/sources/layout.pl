# Includes go down: a file of src/ includes files of its own folder and of those that
# src/README.md names in its table.

use strict;
use warnings;

use Test::More;

my %below = (
	bits => [],
	pg => [qw(bits)],
	state => [qw(pg bits)],
	clock => [qw(state pg bits)],
	codec => [qw(pg bits)],
	keys => [qw(clock codec state pg bits)],
	intern => [qw(keys state pg bits)],
	src => [qw(intern keys codec clock state pg bits)]);

for my $file (glob 'src/*.c src/*.h src/*/*.[ch]')
{
	my ($folder) = $file =~ m{([^/]+)/[^/]+$};
	my %may = map { $_ => 1 } $folder, @{ $below{$folder} // [] };
	my @others;

	open my $in, '<', $file or die "$file: $!";
	for my $included (map { /^#include "(.+)"/ } <$in>)
	{
		# Others are the server's.
		next unless -f "src/$included";
		my ($other) = "src/$included" =~ m{([^/]+)/[^/]+$};
		push @others, $included unless $may{$other};
	}
	ok(defined $below{$folder} && !@others, "$file includes nothing but what is below it") or diag "@others";
}

done_testing();

# Includes go down: a file of src/ includes files of its own folder and of those below.
# src/README.md has the table.

use strict;
use warnings;

use Test::More;

my @folders = qw(bits pg state clock keys intern);
my %height = (map({ $folders[$_] => $_ } 0 .. $#folders), src => scalar @folders);

for my $file (glob 'src/*.c src/*.h src/*/*.[ch]')
{
	my ($folder) = $file =~ m{([^/]+)/[^/]+$};
	my @up;

	open my $in, '<', $file or die "$file: $!";
	for my $included (map { /^#include "(.+)"/ } <$in>)
	{
		# Others are the server's.
		next unless -f "src/$included";
		my ($other) = "src/$included" =~ m{([^/]+)/[^/]+$};
		push @up, $included if $height{$other} > $height{$folder};
	}
	ok(defined $height{$folder} && !@up, "$file includes nothing above it") or diag "@up";
}

done_testing();

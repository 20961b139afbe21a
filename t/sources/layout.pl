# Includes go down: a file of src/ includes files of its own folder and of those that
# src/README.md names in its table.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidPage;
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
	# Others are the server's.
	my @ours = grep { -f "src/$_" } SeqidPage::contents($file) =~ /^#include "(.+)"/mg;
	my @others = grep { !$may{ "src/$_" =~ m{([^/]+)/[^/]+$} && $1 } } @ours;

	ok(defined $below{$folder} && !@others, "$file includes nothing but what is below it") or diag "@others";
}

done_testing();

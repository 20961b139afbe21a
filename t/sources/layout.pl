# Includes go down: a file of src/ includes files of its own folder and of those that
# src/README.md names in the last column of its table.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidPage;
use Test::More;

my %below;
for my $row (SeqidPage::contents('src/README.md') =~ /^\| (`\w+\/`.*) \|$/mg)
{
	my ($folder, $below) = $row =~ m{^`(\w+)/`.*\|(.*)};

	$below{$folder} = [ $below =~ m{`(\w+)/}g ];
}
$below{src} = [ keys %below ];

for my $file (glob 'src/*.c src/*.h src/*/*.[ch]')
{
	my ($folder) = $file =~ m{([^/]+)/[^/]+$};
	my %may = map { $_ => 1 } $folder, @{ $below{$folder} };
	# Others are the server's.
	my @ours = grep { -f "src/$_" } SeqidPage::contents($file) =~ /^#include "(.+)"/mg;
	my @others = grep { !$may{ "src/$_" =~ m{([^/]+)/[^/]+$} && $1 } } @ours;

	ok(!@others, "$file includes nothing but what is below it") or diag "@others";
}

done_testing();

# The queries for other exporters are what scripts/monitoring.pl makes of queries.yaml.

use v5.36;
use Test::More;

my %made = (sql_exporter => 'monitoring/sql_exporter.yml', cnpg => 'cnpg/monitoring.yaml');

for my $format (sort keys %made)
{
	open my $in, '<', "examples/$made{$format}" or die $!;
	is(do { local $/; <$in> }, scalar `scripts/monitoring.pl $format`, "examples/$made{$format}: scripts/monitoring.pl $format");
}
done_testing();

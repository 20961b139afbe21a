# The queries for other exporters are what scripts/monitoring.pl makes of queries.yaml.  The
# page has each alert, and each alert names a place in the documentation.

use v5.36;
use Test::More;

sub text ($path)
{
	open my $in, '<', $path or die "$path: $!";
	return do { local $/; <$in> };
}

my %made = (sql_exporter => 'monitoring/sql_exporter.yml', cnpg => 'cnpg/monitoring.yaml');

for my $format (sort keys %made)
{
	is(text("examples/$made{$format}"), scalar `scripts/monitoring.pl $format`,
		"examples/$made{$format}: scripts/monitoring.pl $format");
}

my $rules = text('examples/monitoring/alerts.yaml');
my $page = text('docs/operations.md');

is_deeply([ grep { $page !~ /\b$_\b/ } $rules =~ /^ *- alert: (\w+)/mg ], [], 'docs/operations.md has the alerts');
for my $runbook ($rules =~ /^ *runbook: (.*)/mg)
{
	# As GitHub makes anchors of headings.
	my ($path, $anchor) = split /#/, $runbook;
	my @anchors = map { lc =~ s/[^a-z0-9 _-]//gr =~ tr/ /-/r } text($path) =~ /^#+ (.*)/mg;

	ok((grep { $_ eq $anchor } @anchors), "$runbook exists");
}
done_testing();

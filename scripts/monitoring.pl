#!/usr/bin/env perl
# monitoring.pl: makes the queries of other exporters from examples/monitoring/queries.yaml.
#
#   scripts/monitoring.pl sql_exporter >examples/monitoring/sql_exporter.yml
#   scripts/monitoring.pl cnpg >examples/cnpg/monitoring.yaml
#
# t/sources/generated.pl checks that both are up to date.
use v5.36;
use FindBin;

# The queries: {name, comment, server, sql, metrics => [ [ name, usage, description ], ... ]}.
# A small part of YAML is enough: the file has one form.
sub queries ($path)
{
	my (@queries, $comment);

	open my $in, '<', $path or die "$path: $!";
	while (my $line = <$in>)
	{
		if ($line =~ /^#/) { $comment .= $line; }
		elsif ($line =~ /^$/) { undef $comment; }
		elsif ($line =~ /^(\w+):$/) { push @queries, { name => $1, comment => $comment // '' }; undef $comment; }
		elsif ($line =~ /^  master: true$/) { $queries[-1]{server} = 1; }
		elsif ($line =~ /^    - (\w+): \{usage: (\w+), description: "(.*)"\}$/) { push @{ $queries[-1]{metrics} }, [ $1, $2, $3 ]; }
		elsif ($line =~ /^    (.*)/s) { $queries[-1]{sql} .= $1; }
		elsif ($line !~ /^  (query: \||metrics:)$/) { die "$path:$.: $line"; }
	}
	return @queries;
}

sub indent ($by, $text) { return $text =~ s/^(?=.)/' ' x $by/gmer }

my @queries = queries("$FindBin::RealBin/../examples/monitoring/queries.yaml");
my $made = "# Made by scripts/monitoring.pl from examples/monitoring/queries.yaml.\n";

# A job for what is of a database, and one for what is of the server.
sub sql_exporter
{
	print $made, <<'YAML';
#
# Replace the databases: seqid-databases has each one that has seqid, seqid-server any one of
# them.  A metric is called sql_ and its query, and its label col is the rest of its name:
# examples/monitoring/prometheus.yml puts the names together.
jobs:
YAML
	for my $server (0, 1)
	{
		printf "  - name: %s\n    interval: 15s\n    connections:\n      - postgres://prometheus@/shop?host=/run/postgresql&sslmode=disable\n    queries:\n",
		  $server ? 'seqid-server' : 'seqid-databases';
		for my $query (grep { !$_->{server} == !$server } @queries)
		{
			my %names;

			push @{ $names{ $_->[1] eq 'LABEL' ? 'labels' : 'values' } }, $_->[0] for @{ $query->{metrics} };
			print "      - name: $query->{name}\n        help: seqid\n";
			printf "        %s: [%s]\n", $_, join ', ', @{ $names{$_} } for sort keys %names;
			print "        allow_zero_rows: true\n        query: |\n", indent(10, $query->{sql});
		}
	}
}

# The form is postgres_exporter's, but "master" has another meaning: not on standbys.
sub cnpg
{
	print $made, <<'YAML';
#
# Replace app by a list of the databases that have seqid.  The metrics are called cnpg_seqid_...:
# the PodMonitor removes cnpg_, so that alerts and dashboard find them.
apiVersion: v1
kind: ConfigMap
metadata:
  name: seqid-monitoring
  labels:
    cnpg.io/reload: ""
data:
  queries: |
YAML
	for my $query (@queries)
	{
		print "    $query->{name}:\n      target_databases: [app]\n",
		  "      predicate_query: SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'seqid')\n",
		  "      query: |\n", indent(8, $query->{sql}), "      metrics:\n";
		printf qq(        - %s: {usage: %s, description: "%s"}\n), @$_ for @{ $query->{metrics} };
	}
	print <<'YAML';
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: orders
spec:
  selector:
    matchLabels:
      cnpg.io/cluster: orders
  podMetricsEndpoints:
    - port: metrics
      metricRelabelings:
        - sourceLabels: [__name__]
          regex: cnpg_(seqid_.*)
          targetLabel: __name__
          replacement: $1
YAML
}

my %format = (sql_exporter => \&sql_exporter, cnpg => \&cnpg);
($format{ $ARGV[0] // '' } // die "usage: scripts/monitoring.pl sql_exporter|cnpg\n")->();

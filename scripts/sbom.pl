#!/usr/bin/env perl
# sbom.pl ARCHIVE: writes the software bill of materials of a release, as SPDX 2.3.
#
# seqid contains nobody else's code; it is built for a PostgreSQL server, which brings all
# that it needs.  The same commit gives the same text.

use v5.36;
use Digest::SHA ();
use File::Basename qw(basename);
use JSON::PP ();
use POSIX qw(strftime);

my $archive = shift or die "usage: scripts/sbom.pl ARCHIVE\n";
open my $in, '<', 'META.json' or die "META.json: $!";
my $meta = JSON::PP->new->utf8->decode(do { local $/; <$in> });
my ($name, $version) = @$meta{qw(name version)};
my $download = "https://api.pgxn.org/dist/$name/$version/" . basename($archive);
my ($requires) = $meta->{prereqs}{runtime}{requires}{PostgreSQL} =~ /^(\d+)/;
my $committed = qx(git log -1 --format=%ct) or die "not a commit\n";
my $checksum = Digest::SHA->new(256)->addfile($archive, 'b')->hexdigest;

# Of SPDX's list of licenses, PGXN's name "postgresql".
my %package = (filesAnalyzed => JSON::PP::false, licenseConcluded => 'PostgreSQL', licenseDeclared => 'PostgreSQL');

print JSON::PP->new->utf8->pretty->canonical->encode({
	spdxVersion => 'SPDX-2.3',
	dataLicense => 'CC0-1.0',
	SPDXID => 'SPDXRef-DOCUMENT',
	name => "$name-$version",
	documentNamespace => "https://pgxn.org/dist/$name/$version/spdx-$checksum",
	creationInfo => {
		created => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $committed),
		creators => [ "Organization: $meta->{maintainer}[0]", 'Tool: scripts/sbom.pl' ],
	},
	packages => [
		{
			%package,
			SPDXID => "SPDXRef-$name",
			name => $name,
			versionInfo => $version,
			packageFileName => basename($archive),
			supplier => "Organization: $meta->{maintainer}[0]",
			downloadLocation => $download,
			homepage => $meta->{resources}{homepage},
			summary => $meta->{abstract},
			copyrightText => "2026, $meta->{maintainer}[0]",
			checksums => [ { algorithm => 'SHA256', checksumValue => $checksum } ],
			primaryPackagePurpose => 'LIBRARY',
		},
		{
			%package,
			SPDXID => 'SPDXRef-postgresql',
			name => 'postgresql',
			versionInfo => "$requires or later",
			downloadLocation => 'https://www.postgresql.org/download/',
			copyrightText => 'NOASSERTION',
		},
	],
	relationships => [
		{ spdxElementId => 'SPDXRef-DOCUMENT', relationshipType => 'DESCRIBES', relatedSpdxElement => "SPDXRef-$name" },
		{ spdxElementId => "SPDXRef-$name", relationshipType => 'DEPENDS_ON', relatedSpdxElement => 'SPDXRef-postgresql' },
	],
});

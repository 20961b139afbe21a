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
my ($name, $version, $maintainer) = ($meta->{name}, $meta->{version}, $meta->{maintainer}[0]);
my ($requires) = $meta->{prereqs}{runtime}{requires}{PostgreSQL} =~ /^(\d+)/;
my $committed = qx(git log -1 --format=%ct) or die "not a commit\n";
my $checksum = Digest::SHA->new(256)->addfile($archive, 'b')->hexdigest;

# A package, with the license that SPDX calls PostgreSQL
sub package_of ($name, $version, $address, %other)
{
	return { SPDXID => "SPDXRef-$name", name => $name, versionInfo => $version, downloadLocation => $address,
		filesAnalyzed => JSON::PP::false, licenseConcluded => 'PostgreSQL', licenseDeclared => 'PostgreSQL', %other };
}

sub relation ($from, $type, $to)
{
	return { spdxElementId => "SPDXRef-$from", relationshipType => $type, relatedSpdxElement => "SPDXRef-$to" };
}

print JSON::PP->new->utf8->pretty->canonical->encode({
	spdxVersion => 'SPDX-2.3',
	dataLicense => 'CC0-1.0',
	SPDXID => 'SPDXRef-DOCUMENT',
	name => "$name-$version",
	documentNamespace => "https://pgxn.org/dist/$name/$version/spdx-$checksum",
	creationInfo => {
		created => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $committed),
		creators => [ "Organization: $maintainer", 'Tool: scripts/sbom.pl' ] },
	packages => [
		package_of($name, $version, "https://api.pgxn.org/dist/$name/$version/" . basename($archive),
			packageFileName => basename($archive), supplier => "Organization: $maintainer",
			copyrightText => "2026, $maintainer", summary => $meta->{abstract},
			checksums => [ { algorithm => 'SHA256', checksumValue => $checksum } ]),
		package_of('postgresql', "$requires or later", 'https://www.postgresql.org/download/') ],
	relationships => [ relation('DOCUMENT', 'DESCRIBES', $name), relation($name, 'DEPENDS_ON', 'postgresql') ] });

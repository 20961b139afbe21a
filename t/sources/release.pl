# The version and the date of the release agree wherever they are written, and released
# scripts stay as they are.  SEQID_FINAL=1 is for a release: dated and stable.

use strict;
use warnings;

use JSON::PP ();
use Test::More;
use Time::Piece ();

sub text
{
	my ($path) = @_;

	open my $in, '<', $path or die "$path: $!";
	return do { local $/; <$in> };
}

my $meta = JSON::PP->new->utf8->decode(text('META.json'));
my $version = $meta->{version};
my ($script) = $version =~ /^(\d+\.\d+)\.\d+$/;

# PGXN Meta Spec 1.0, as far as META.json uses it: https://pgxn.org/spec/
my $word = qr{^[^\s/\\[:cntrl:]]{2,}$};
my $number = qr/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[a-zA-Z][-0-9A-Za-z]*)?$/;
my $text = qr/\S/;
my %spec = (
	name => $word, version => $number, abstract => $text, description => $text, maintainer => [$text],
	license => qr/^(agpl_3|apache_2_0|artistic_2|bsd|gpl_[123]|lgpl_[23]_[01]|mit|mozilla_1_[01]|postgresql)$/,
	provides => { $word => { file => $text, docfile => $text, abstract => $text, version => $number } },
	prereqs => { qr/^(configure|build|test|runtime|develop)$/ => { qr/^(requires|recommends|suggests|conflicts)$/ => { $word => $number } } },
	resources => { homepage => qr{^https://} }, release_status => qr/^(stable|testing|unstable)$/,
	'meta-spec' => { version => qr/^1\.0\.\d+$/, url => qr{^https://} }, tags => [qr/^[^\/\\]{1,256}$/]);

# Where the value is not what the specification says.
sub invalid
{
	my ($where, $value, $spec) = @_;

	return map { invalid("$where\[]", $_, $spec->[0]) } @$value if ref $spec eq 'ARRAY' && ref $value eq 'ARRAY';
	return ref $value || $value !~ $spec ? $where : () if ref $spec eq 'Regexp';
	return $where unless ref $spec eq ref $value;
	return map {
		my $key = $_;
		my ($name) = grep { $key eq $_ || /^\(\?/ && $key =~ $_ } sort keys %$spec;
		$name ? invalid("$where/$key", $value->{$key}, $spec->{$name}) : "$where/$key"
	} sort keys %$value;
}
is_deeply([ invalid('', $meta, \%spec) ], [], 'META.json is as PGXN wants it');
ok(defined $meta->{$_}, "META.json has $_") for qw(name version abstract maintainer license provides meta-spec);
my $provided = $meta->{provides}{seqid};
is($provided->{version}, $version, 'META.json: one version');
ok(-f $provided->{$_}, "META.json: $_ exists") for qw(file docfile);
is($provided->{file}, "seqid--$script.sql", 'META.json: the script of the version');

# The bill of materials, by SPDX 2.3: https://spdx.github.io/spdx-spec/v2.3/
my $id = qr/^SPDXRef-[a-zA-Z0-9.-]+$/;
my $license = qr/^(PostgreSQL|NOASSERTION)$/;
my %spdx = (
	spdxVersion => qr/^SPDX-2\.3$/, dataLicense => qr/^CC0-1\.0$/, SPDXID => qr/^SPDXRef-DOCUMENT$/, name => $text,
	documentNamespace => qr{^https://[^#\s]+$},
	creationInfo => { created => qr/^\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z$/, creators => [qr/^(Person|Organization|Tool): \S/] },
	packages => [{
			SPDXID => $id, name => $text, versionInfo => $text, packageFileName => $text, supplier => qr/^(Person|Organization): \S/,
			downloadLocation => qr{^https://\S+$}, homepage => qr{^https://}, summary => $text, copyrightText => $text,
			filesAnalyzed => qr/^false$/, licenseConcluded => $license, licenseDeclared => $license, primaryPackagePurpose => qr/^LIBRARY$/,
			checksums => [{ algorithm => qr/^SHA256$/, checksumValue => qr/^[0-9a-f]{64}$/ }] }],
	relationships => [{ spdxElementId => $id, relatedSpdxElement => $id, relationshipType => qr/^(DESCRIBES|DEPENDS_ON)$/ }]);
my $sbom = JSON::PP->new->utf8->boolean_values('false', 'true')->decode(scalar qx($^X scripts/sbom.pl META.json));
is_deeply([ invalid('', $sbom, \%spdx) ], [], 'scripts/sbom.pl writes SPDX');
is_deeply([ grep { !defined $sbom->{$_} } keys %spdx ], [], 'with all its parts');
is($sbom->{packages}[0]{versionInfo}, $version, 'of this version');

my ($default) = text('seqid.control') =~ /^default_version = '(.*)'$/m;
is($default, $script, 'seqid.control');
my ($debian, $debian_date) = text('debian/changelog') =~ /^seqid \((.*?)-[^-]*\) .*?^ -- .*?>  \w+, (\d+ \w+ \d+)/ms;
is($debian, $version, 'debian/changelog');
my ($logged, $date) = text('CHANGELOG.md') =~ /^## (\S+) \((.*?)\)/m;
is($logged, $version, 'CHANGELOG.md');
my ($rpm, $rpm_date, $rpm_logged) = text('packaging/seqid.spec') =~ /^Version: +(\S+)\n.*^%changelog\n\* \w+ (\w+ \d+ \d+) .* - (\S+)-/ms;
is($rpm, $version, 'packaging/seqid.spec');
is($rpm_logged, $version, 'packaging/seqid.spec: its changelog');

# pg_buildext makes debian/control for the release of Debian that it runs in.
my ($major) = text('debian/control') =~ /^Package: postgresql-(\d+)-seqid$/m;
is(text('debian/control.in') =~ s/PGVERSION/$major/gr, text('debian/control'), 'debian/control is made of debian/control.in');

my ($data) = text('Makefile') =~ /^DATA = ((?:.*\\\n)*.*)/m;
my %installed = map { $_ => 1 } split /[\s\\]+/, $data;
for my $name (glob 'seqid--*.sql')
{
	my ($from, $to) = $name =~ /^seqid--(.*?)(?:--(.*))?\.sql$/;

	ok($installed{$name}, "the Makefile installs $name");
	ok($to || $from eq $script || -f "seqid--$from--$script.sql", "$name can be updated to $script");
}

# t/upgrade/released has a copy of each released script: databases were made with it.
for my $copy (glob 't/upgrade/released/*.sql')
{
	my ($name) = $copy =~ m{([^/]+)$};

	is(-f $name && text($name), text($copy), "$name is as it was released");
}
ok(-f "t/upgrade/released/seqid--$script.sql", "the released script is kept: cp seqid--$script.sql t/upgrade/released/")
  if $ENV{SEQID_FINAL};

if ($ENV{SEQID_FINAL} || $date ne 'unreleased')
{
	is($meta->{release_status}, 'stable', 'META.json is stable');
	like($date, qr/^\d{4}-\d\d-\d\d$/, 'CHANGELOG.md has a date');
	is(Time::Piece->strptime($debian_date, '%d %b %Y')->ymd, $date, 'debian/changelog has it too');
	is(Time::Piece->strptime($rpm_date, '%b %d %Y')->ymd, $date, 'and packaging/seqid.spec');
}

done_testing();

# The version and the date of the release agree wherever they are written, and released
# scripts stay as they are.  SEQID_FINAL=1 is for a release: dated and stable.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use Digest::SHA ();
use JSON::PP ();
use SeqidPage;
use Test::More;
use Time::Piece ();

sub text ($path) { return SeqidPage::contents($path) }

my $meta = JSON::PP->new->utf8->decode(text('META.json'));
my $version = $meta->{version};
my ($script) = $version =~ /^(\d+\.\d+)\.\d+$/;

my $provided = $meta->{provides}{seqid};
is($provided->{version}, $version, 'META.json: one version');
ok(-f $provided->{$_}, "META.json: $_ exists") for qw(file docfile);
is($provided->{file}, "seqid--$script.sql", 'META.json: the script of the version');

my $sbom = JSON::PP->new->utf8->decode(scalar qx($^X scripts/sbom.pl META.json));
is($sbom->{spdxVersion}, 'SPDX-2.3', 'scripts/sbom.pl writes SPDX');
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

# Databases were made with a released script, so t/upgrade/released has the SHA-256 of each.
my $sums = 't/upgrade/released';
my %sum = reverse -e $sums ? text($sums) =~ /^(\S+)  (\S+)$/mg : ();
is(-f $_ && Digest::SHA->new(256)->addfile($_)->hexdigest, $sum{$_}, "$_ is as it was released") for sort keys %sum;
ok($sum{"seqid--$script.sql"}, "the script is released: sha256sum seqid--$script.sql >>$sums") if $ENV{SEQID_FINAL};

if ($ENV{SEQID_FINAL} || $date ne 'unreleased')
{
	is($meta->{release_status}, 'stable', 'META.json is stable');
	like($date, qr/^\d{4}-\d\d-\d\d$/, 'CHANGELOG.md has a date');
	is(Time::Piece->strptime($debian_date, '%d %b %Y')->ymd, $date, 'debian/changelog has it too');
	is(Time::Piece->strptime($rpm_date, '%b %d %Y')->ymd, $date, 'and packaging/seqid.spec');
}

done_testing();

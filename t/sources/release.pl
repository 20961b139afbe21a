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

# PGXN Meta Spec 1.0: https://pgxn.org/spec/
ok(defined $meta->{$_}, "META.json has $_") for qw(name abstract maintainer license provides meta-spec);
my $provided = $meta->{provides}{seqid};
is($provided->{version}, $version, 'META.json: one version');
ok(-f $provided->{$_}, "META.json: $_ exists") for qw(file docfile);
is($provided->{file}, "seqid--$script.sql", 'META.json: the script of the version');

my ($default) = text('seqid.control') =~ /^default_version = '(.*)'$/m;
is($default, $script, 'seqid.control');
my ($debian, $debian_date) = text('debian/changelog') =~ /^seqid \((.*?)-[^-]*\) .*?^ -- .*?>  \w+, (\d+ \w+ \d+)/ms;
is($debian, $version, 'debian/changelog');
my ($logged, $date) = text('CHANGELOG.md') =~ /^## (\S+) \((.*?)\)/m;
is($logged, $version, 'CHANGELOG.md');

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

# A copy of the sources without its history cannot say what was released.
for my $tag (-e '.git' ? split /\n/, `git tag --list 'v*'` : ())
{
	next unless JSON::PP->new->decode(scalar `git show $tag:META.json`)->{release_status} eq 'stable';
	for my $name (grep { /^seqid--.*\.sql$/ } split /\n/, `git ls-tree --name-only $tag`)
	{
		is(text($name), scalar `git show $tag:$name`, "$name is as $tag released it");
	}
}

if ($ENV{SEQID_FINAL} || $date ne 'unreleased')
{
	is($meta->{release_status}, 'stable', 'META.json is stable');
	like($date, qr/^\d{4}-\d\d-\d\d$/, 'CHANGELOG.md has a date');
	is(Time::Piece->strptime($debian_date, '%d %b %Y')->ymd, $date, 'debian/changelog has it too');
}

done_testing();

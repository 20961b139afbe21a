#!/usr/bin/perl
# pgxn_meta.pl META.json: whether it is as PGXN's specification of metadata, version
# 1.0, wants it (https://pgxn.org/spec/).
#
# Prints what is wrong, a line each; ends with 1 if anything is.

use strict;
use warnings;

use File::Basename;
use JSON::PP ();

my ($path) = @ARGV;
die "usage: scripts/pgxn_meta.pl META.json\n" unless defined $path && @ARGV == 1;
open my $file, '<:raw', $path or die "$path: $!\n";
my $meta = JSON::PP->new->utf8->decode(do { local $/; <$file> });

my @wrong;
my %license = map { $_ => 1 } qw(agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2
  gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1 lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0
  ssleay sun zlib open_source restricted unrestricted unknown);
my $number = qr/(?:0|[1-9]\d*)/;
my $version = qr/$number\.$number\.$number(?:-?[a-z][0-9a-z-]*)?/i;
my $bound = qr/(?:(?:[<>]=?|==|!=)\s*)?$version/;

sub wrong
{
	push @wrong, join ': ', @_;
	return;
}

sub text
{
	my ($where, $value) = @_;

	wrong($where, 'should be a text') if !defined $value || ref $value || $value !~ /\S/;
	return;
}

# The name of a distribution, an extension or a tag.
sub term
{
	my ($where, $value, $forbidden) = @_;

	text($where, $value);
	wrong($where, "cannot be \"$value\"") if defined $value && $value =~ $forbidden;
	return;
}

sub version
{
	my ($where, $value) = @_;

	wrong($where, 'should be a semantic version') if ($value // '') !~ /^$version$/;
	return;
}

sub map_of
{
	my ($where, $value, $required, $optional) = @_;
	my %known = (%$required, %$optional);

	return wrong($where, 'should be a map') if ref $value ne 'HASH';
	for my $key (sort keys %known)
	{
		if (exists $value->{$key})
		{
			$known{$key}->("$where/$key", $value->{$key});
		}
		elsif ($required->{$key})
		{
			wrong($where, "lacks \"$key\"");
		}
	}
	for my $key (grep { !$known{$_} && !/^x_/i } sort keys %$value)
	{
		wrong($where, "does not have \"$key\"");
	}
	return;
}

# Applies a check to each value of a map; keys have to match.
sub each_of
{
	my ($where, $value, $key_pattern, $check) = @_;

	return wrong($where, 'should be a map with something in it') if ref $value ne 'HASH' || !%$value;
	for my $key (sort keys %$value)
	{
		wrong($where, "cannot have \"$key\"") if $key !~ $key_pattern;
		$check->("$where/$key", $value->{$key});
	}
	return;
}

sub texts
{
	my ($where, $value) = @_;

	return text($where, $value) if ref $value ne 'ARRAY';
	wrong($where, 'should not be empty') if !@$value;
	text($where, $_) for @$value;
	return;
}

sub license
{
	my ($where, $value) = @_;

	return each_of($where, $value, qr/\S/, \&url) if ref $value eq 'HASH';
	for my $name (ref $value eq 'ARRAY' ? @$value : $value)
	{
		wrong($where, "does not have \"$name\"") if !$license{$name};
	}
	return;
}

sub url
{
	my ($where, $value) = @_;

	wrong($where, 'should be an address') if ($value // '') !~ m{^[a-z]+://\S+$};
	return;
}

# A file of the distribution, which has to be there.
sub path
{
	my ($where, $value) = @_;

	text($where, $value);
	wrong($where, "$value is not there") if !-f dirname($path) . "/$value";
	return;
}

sub prereqs
{
	my ($where, $value) = @_;

	each_of($where, $value, qr/^(configure|build|test|runtime|develop)$/, sub {
		each_of(@_, qr/^(requires|recommends|suggests|conflicts)$/, sub {
			each_of(@_, qr/^[^\s\/\\:]{2,}$/, sub {
				my ($there, $range) = @_;

				wrong($there, 'should be a range of versions') if $range !~ /^(0|$bound(\s*,\s*$bound)*)$/;
			});
		});
	});
	return;
}

my %optional = (
	description => \&text,
	generated_by => \&text,
	prereqs => \&prereqs,
	release_status => sub {
		wrong($_[0], 'should be stable, testing or unstable') if $_[1] !~ /^(stable|testing|unstable)$/;
	},
	tags => sub {
		my ($where, $value) = @_;

		return wrong($where, 'should be a list') if ref $value ne 'ARRAY' || !@$value;
		term($where, $_, qr{[/\\[:cntrl:]]|^.{256}}) for @$value;
	},
	resources => sub { });
my %required = (
	abstract => \&text,
	license => \&license,
	maintainer => \&texts,
	'meta-spec' => sub {
		my ($where, $value) = @_;

		map_of($where, $value,
			{ version => sub { wrong($_[0], 'should be 1.0') if $_[1] !~ /^1\.0\.\d+$/ } },
			{ url => \&url });
	},
	name => sub { term(@_, qr{[\s/\\:[:cntrl:]]|^.$}) },
	provides => sub {
		my ($where, $value) = @_;

		each_of($where, $value, qr{^[^\s/\\:]{2,}$}, sub {
			map_of(@_, { file => \&path, version => \&version }, { abstract => \&text, docfile => \&path });
		});
	},
	version => \&version);

map_of('', $meta, \%required, \%optional);
print map { "META.json: $_\n" } @wrong;
exit(@wrong ? 1 : 0);

# excerpts.pl: whether a page shows what the programs do; for clients.sh.
#
# usage: excerpts.pl PAGE
#
# A block after the line <!-- from FILE --> must be in that file, relative to the
# page's directory, without a gap, indented alike or not; a line of three dots
# stands for any lines. A block in a language other than SQL or the shell must say
# where it is from. Prints 'ok ...' or what is wrong, a line for each.

use strict;
use warnings;

use File::Basename qw(dirname);

my $page = shift // die "usage: excerpts.pl PAGE\n";

sub read_text
{
	my ($path) = @_;

	open my $file, '<', $path or return;
	local $/;
	return scalar <$file>;
}

# Lines without the indentation that all of them have, and without space behind.
sub outdented
{
	my @lines = map { s/\s+$//r } @_;
	my ($least) = sort { $a <=> $b } map { /^(\s*)\S/ ? length $1 : () } @lines;

	return map { length $_ ? substr $_, $least // 0 : $_ } @lines;
}

# Whether these lines follow each other in the text.
sub shows
{
	my ($text, @wanted) = @_;
	my @lines = split /\n/, $text;

	@wanted = outdented(@wanted);
	for my $start (0 .. @lines - @wanted)
	{
		my @here = outdented(@lines[ $start .. $start + $#wanted ]);
		return 1 if "@here" eq "@wanted" && join("\n", @here) eq join("\n", @wanted);
	}
	return 0;
}

# The parts of a block, as lists of lines, between lines of three dots.
sub parts
{
	my @parts = ([]);

	for my $line (@_)
	{
		if ($line =~ /^\s*\W*\.\.\.\W*$/) { push @parts, []; }
		else { push @{ $parts[-1] }, $line; }
	}
	return grep { @$_ } @parts;
}

my ($block, $language, $from);
my $before = '';
my $number = 0;
for my $line (split /\n/, read_text($page) // die "could not open $page: $!\n")
{
	$number++;
	if (!$block && $line =~ /^```(\w*)$/)
	{
		($block, $language) = ([], $1);
		($from) = $before =~ /^<!-- from (\S+) -->$/;
	}
	elsif ($block && $line eq '```')
	{
		my $text = $from ? read_text(dirname($page) . "/$from") : undef;
		my $missing = grep { !shows($text // '', @$_) } parts(@$block);

		if ($from) { print $missing ? "line $number: not in $from\n" : "ok line $number: $from\n"; }
		elsif ($language !~ /^(sql|sh|)$/) { print "line $number: does not say where it is from\n"; }
		($block, $before) = (undef, '');
	}
	elsif ($block) { push @$block, $line; }
	elsif ($line =~ /\S/) { $before = $line; }
}

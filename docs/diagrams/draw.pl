#!/usr/bin/env perl
# draw.pl: draws the diagrams of a file, diagrams.txt by default, as SVG files.
#
# usage: docs/diagrams/draw.pl DIRECTORY [FILE]
#
# A line of the file is a command; words with spaces are in quotes.
#
#	diagram NAME WIDTH HEIGHT TITLE    begins a file; the title is its description
#	frame X Y XSCALE YSCALE            coordinates that follow are of this frame
#	bits Y TITLE BITS:KIND:LABEL ...   a key of 64 or 128 bits, as boxes
#	pages X Y PERCENT ...              pages of an index, eight in a column; a full page has the full colour
#	box X Y WIDTH HEIGHT KIND LABEL    KIND is a class below
#	line KIND X Y X Y ...
#	arrow KIND X Y X Y
#	dot KIND X Y
#	text X Y start|middle|end LABEL [KIND]
#
# Colours follow the reader's scheme, dark or light.

use strict;
use warnings;

use Text::ParseWords qw(shellwords);

my $style = <<'CSS';
text { font: 13px sans-serif; fill: #1f2328; }
text.title { font-weight: bold; }
text.small { font-size: 11px; fill: #59636e; }
text.lost { fill: #c0392b; }
rect { stroke: #1f2328; stroke-width: 1; }
.line, .axis, .bar, .poll, .gone { fill: none; stroke: #1f2328; stroke-width: 2; }
.axis { stroke: #8b949e; stroke-width: 1; }
.bar { stroke: #2e86c8; stroke-width: 7; }
.poll { stroke: #8b949e; stroke-width: 1; stroke-dasharray: 5 4; }
.gone { stroke: #c0392b; stroke-dasharray: 5 4; }
rect.time { fill: #a8d4f5; } path.time { fill: none; stroke: #2e86c8; stroke-width: 3; }
rect.place { fill: #f8cf9a; } path.mark { fill: none; stroke: #d9822b; stroke-width: 2; }
rect.count { fill: #b9e3bd; }
rect.random { fill: #dfd3f2; }
rect.fixed { fill: #d8dee4; }
rect.none { fill: none; stroke: #8b949e; stroke-dasharray: 4 3; }
path.page { fill: #08407e; }
rect.seqid { fill: #08407e; } path.seqid { fill: none; stroke: #08407e; stroke-width: 3; }
rect.core { fill: #f0a858; } path.core { fill: none; stroke: #f0a858; stroke-width: 2; stroke-dasharray: 6 4; }
rect.peer { fill: #d8d8d8; } path.peer { fill: none; stroke: #8b949e; stroke-width: 1; }
rect.bare { fill: none; }
path.halo { stroke: #ffffff; stroke-width: 5; }
circle { fill: #1f2328; }
@media (prefers-color-scheme: dark) {
	text, circle { fill: #e6edf3; }
	text.small { fill: #9da7b1; }
	text.lost { fill: #ff7b72; }
	rect, .line { stroke: #e6edf3; }
	.gone { stroke: #ff7b72; }
	rect.time { fill: #1d4f7c; }
	rect.place { fill: #7a4a12; }
	rect.count { fill: #23572a; }
	rect.random { fill: #4b3a6e; }
	rect.fixed { fill: #3d444d; }
	rect.none { fill: none; }
	path.page { fill: #79c0ff; }
	rect.seqid { fill: #58a6ff; } path.seqid { stroke: #58a6ff; }
	rect.peer { fill: #57606a; }
	path.halo { stroke: #0d1117; }
}
CSS

my $directory = shift // die "usage: docs/diagrams/draw.pl DIRECTORY [FILE]\n";

my ($out, @frame);

sub escape
{
	my ($text) = @_;
	my %entity = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;');

	return $text =~ s/([&<>"])/$entity{$1}/gr;
}

sub place
{
	my ($x, $y) = @_;
	return sprintf '%g %g', $frame[0] + $x * $frame[2], $frame[1] + $y * $frame[3];
}

sub add_text
{
	my ($x, $y, $anchor, $label, $kind) = @_;
	my ($left, $top) = split / /, place($x, $y);
	my $class = $kind ? " class=\"$kind\"" : '';

	print $out "<text x=\"$left\" y=\"$top\" text-anchor=\"$anchor\"$class>" . escape($label) . "</text>\n";
	return;
}

sub add_box
{
	my ($x, $y, $width, $height, $kind, $label) = @_;
	my ($left, $top) = split / /, place($x, $y);

	printf $out "<rect class=\"$kind\" x=\"$left\" y=\"$top\" width=\"%g\" height=\"%g\"/>\n",
	  $width * $frame[2], $height * $frame[3];
	add_text($x + $width / 2, $y + $height / 2 + 5 / $frame[3], 'middle', $label) if $label ne '';
	return;
}

sub add_line
{
	my ($kind, @points) = @_;
	my @places;

	push @places, place(splice @points, 0, 2) while @points;
	print $out "<path class=\"$kind\" d=\"M" . join(' L', @places) . "\"/>\n";
	return;
}

# The arrow's head is two strokes back from its end.
sub add_arrow
{
	my ($kind, @points) = @_;
	my ($x1, $y1) = split / /, place(@points[0, 1]);
	my ($x2, $y2) = split / /, place(@points[2, 3]);
	my $angle = atan2($y2 - $y1, $x2 - $x1);
	my @ends = map { sprintf '%.1f %.1f', $x2 - 9 * cos($angle + $_), $y2 - 9 * sin($angle + $_) } 0.4, -0.4;

	print $out "<path class=\"$kind\" d=\"M$x1 $y1 L$x2 $y2 M$ends[0] L$x2 $y2 L$ends[1]\"/>\n";
	return;
}

sub add_dot
{
	my ($kind, $x, $y) = @_;
	my ($left, $top) = split / /, place($x, $y);

	print $out "<circle class=\"$kind\" cx=\"$left\" cy=\"$top\" r=\"4\"/>\n";
	return;
}

sub add_bits
{
	my ($y, $title, @fields) = @_;
	my $total = 0;
	my $bit = 0;

	$total += (split /:/)[0] for @fields;
	add_text(20, $y, 'start', $title, 'title');
	for my $field (@fields)
	{
		my ($bits, $kind, $label) = split /:/, $field, 3;
		my $width = 720 * $bits / $total;

		add_box(20 + 720 * $bit / $total, $y + 8, $width, 38, $kind, '');
		if ($label)
		{
			add_text(20 + 720 * ($bit + $bits / 2) / $total, $y + 22, 'middle', "$bits bits", 'small');
			add_text(20 + 720 * ($bit + $bits / 2) / $total, $y + 38, 'middle', $label);
		}
		$bit += $bits;
	}
	return;
}

# Pages of one shade are one path.
sub add_pages
{
	my ($x, $y, @percent) = @_;
	my %path;

	for my $i (0 .. $#percent)
	{
		$path{int($percent[$i] / 10)} .= 'M' . place($x + 5 * int($i / 8), $y + 5 * ($i % 8)) . 'h4v4h-4z';
	}
	printf $out "<path class=\"page\" fill-opacity=\"%.2f\" d=\"%s\"/>\n", 0.1 + 0.09 * $_, $path{$_} for sort keys %path;
	return;
}

sub end_diagram
{
	return unless $out;
	print $out "</svg>\n";
	close $out or die "could not write: $!";
	return;
}

sub begin_diagram
{
	my ($name, $width, $height, $title) = @_;

	end_diagram();
	open $out, '>', "$directory/$name.svg" or die "$directory/$name.svg: $!";
	@frame = (0, 0, 1, 1);
	print $out "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 $width $height\" width=\"$width\" height=\"$height\" role=\"img\">\n",
	  '<title>' . escape($title) . "</title>\n", "<style>\n$style</style>\n";
	return;
}

my %commands = (
	diagram => \&begin_diagram,
	frame => sub { @frame = @_ },
	bits => \&add_bits,
	pages => \&add_pages,
	box => \&add_box,
	line => \&add_line,
	arrow => \&add_arrow,
	dot => \&add_dot,
	text => \&add_text);

@ARGV = (__FILE__ =~ s/draw\.pl$/diagrams.txt/r) unless @ARGV;
while (my $line = <>)
{
	my ($command, @words) = shellwords($line =~ s/^\s*#.*//sr);

	next unless defined $command;
	my $run = $commands{$command} or die "$ARGV:$.: no command $command\n";
	$run->(@words);
}
end_diagram();

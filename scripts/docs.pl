# docs.pl: reads the blocks of a page of documentation; for docs.sh.
#
# usage: docs.pl script PAGE             the page's SQL, for psql, with a marker
#                                        before and after each block
#        docs.pl compare PAGE OUTPUT     what psql printed, with what the page says
#        docs.pl listed PAGE OBJECTS     whether the page has each line of OBJECTS
#        docs.pl links PAGE...           whether links between files lead somewhere
#        docs.pl code PAGE LANGUAGE      the page's blocks in that language, for outbox.sh
#
# PG_MAJOR is the server's version.  Prints a line 'ok ...', 'not ok ...' or 'not run ...' for each block, object or
# link, the difference where there is one, and 'only headings ...' where not all is
# compared.

use strict;
use warnings;

use File::Basename qw(dirname);

my $begin = '@@@ begin';
my $end = '@@@ end';

sub read_lines
{
	my ($path) = @_;

	open my $file, '<', $path or die "could not open $path: $!\n";
	chomp(my @lines = <$file>);
	return @lines;
}

# All fenced blocks of a page: their language, line, text, and the line of text
# that is before them.
sub fenced_blocks
{
	my ($page) = @_;
	my (@blocks, $open);
	my $before = '';
	my $number = 0;

	for my $line (read_lines($page))
	{
		$number++;
		if ($line =~ /^```(\w*)\s*$/)
		{
			if ($open)
			{
				push @blocks, $open;
				($open, $before) = (undef, '');
			}
			else
			{
				$open = { language => $1, line => $number, before => $before, text => [] };
			}
		}
		elsif ($open)
		{
			push @{ $open->{text} }, $line;
		}
		elsif ($line =~ /\S/)
		{
			$before = $line;
		}
	}
	die "$page: a block that begins in line $open->{line} does not end\n" if $open;
	return @blocks;
}

sub why_not_run
{
	my ($before) = @_;

	return $1 if $before =~ /^<!-- not run: (.*) -->$/;
	return unless $before =~ /^<!-- (only on (\d+) (?:to (\d+)|and later)) -->$/;
	return $1 if $ENV{PG_MAJOR} < $2 || defined $3 && $ENV{PG_MAJOR} > $3;
	return;
}

# The SQL blocks; what one prints is the block right after it, with no language
# and nothing in between.
sub sql_blocks
{
	my ($page) = @_;
	my @sql;
	my $previous;

	for my $block (fenced_blocks($page))
	{
		if ($block->{language} eq 'sql')
		{
			$block->{not_run} = why_not_run($block->{before});
			($block->{headings}) = $block->{before} =~ /^<!-- only headings compared: (.*) -->$/;
			push @sql, $block;
		}
		elsif ($block->{language} eq '' && $block->{before} eq ''
			&& $previous && $previous->{language} eq 'sql')
		{
			$previous->{output} = $block->{text};
			$previous->{fails} = grep { /^ERROR:/ } @{ $block->{text} };
		}
		$previous = $block;
	}
	return @sql;
}

sub script
{
	my ($page) = @_;
	my @blocks = grep { !$_->{not_run} } sql_blocks($page) or return;

	print "\\set ON_ERROR_STOP on\n";
	print "CREATE EXTENSION seqid;\n\\c\n"
	  unless grep { /^CREATE EXTENSION seqid\b/ } @{ $blocks[0]{text} };
	for my $block (@blocks)
	{
		# Who reads both streams from one file must find them in order.
		print "\\echo $begin $block->{line}\n";
		print "\\set ON_ERROR_STOP off\n" if $block->{fails};
		print "$_\n" for @{ $block->{text} };
		print "\\set ON_ERROR_STOP on\n";
		print "\\echo $end $block->{line}\n";
	}
	return;
}

# What differs from run to run.  Numbers are masked that are ids or milliseconds of
# 2026 to 2038, and times from 2026 on: those of examples are older, and the same
# each time, so they are compared.
sub masked
{
	my ($line) = @_;

	$line =~ s/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/<uuid>/g;
	$line =~ s/\b20(2[6-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?([+-]\d\d(:\d\d)?)?/<time>/g;
	$line =~ s/\b([4-9]\d{17}|1\d{18})\b/<id>/g;
	$line =~ s/\b1[789]\d{11}\b/<milliseconds>/g;
	$line =~ s/\b\d+\.\d{6,}\b/<number>/g;
	$line =~ s/\b\d+ (bytes|kB|MB|GB)\b/<size>/g;
	$line =~ s/\b\d+ ms\b/<time>/g;

	# Columns are as wide as what was masked.
	$line =~ s/-{2,}/-/g;
	$line =~ s/ +/ /g;
	$line =~ s/^ | $//g;
	return $line;
}

# The results of a block, each a text: psql prints a blank line after each table.
sub results
{
	my $text = join "\n", map { masked($_) } @_;

	return grep { $_ ne '' } split /\n{2,}/, $text =~ s/^\n+|\n+$//gr;
}

# A page may leave out the results before the last ones.
sub differs
{
	my ($block, @printed) = @_;
	my @expected = results(@{ $block->{output} });
	my @got = results(@printed);

	splice @got, 0, @got - @expected if @got > @expected;
	s/\n.*//s for $block->{headings} ? (@expected, @got) : ();
	my ($expected, $got) = (join("\n\n", @expected), join("\n\n", @got));
	return if $expected eq $got;
	return join '', map { "  $_\n" } 'the page says:', (split /\n/, $expected),
	  'the server says:', (split /\n/, $got);
}

# What psql printed in each block, by its line; of a block that it did not get
# to the end of, under the key of its marker.
sub printed_by_line
{
	my ($output) = @_;
	my (%printed, %complete, $current);

	for my $line (read_lines($output))
	{
		if ($line =~ /^$begin (\d+)$/) { $current = $1; $printed{$1} = []; }
		elsif ($line =~ /^$end (\d+)$/) { $complete{$1} = 1; undef $current; }
		elsif (defined $current) { push @{ $printed{$current} }, $line; }
		else { push @{ $printed{before} }, $line; }
	}
	return (\%printed, \%complete);
}

sub compare
{
	my ($page, $output) = @_;
	my ($printed, $complete) = printed_by_line($output);
	my $stopped = 0;

	for my $block (sql_blocks($page))
	{
		my $where = "$page:$block->{line}";
		my $got = $printed->{ $block->{line} };

		if ($block->{not_run})
		{
			print "not run $where: $block->{not_run}\n";
		}
		elsif ($stopped)
		{
			print "not ok $where: not reached\n";
		}
		elsif (!$complete->{ $block->{line} })
		{
			$stopped = 1;
			print "not ok $where: stopped here\n";
			print "  $_\n" for @{ $got // $printed->{before} // [] };
		}
		elsif ($block->{output} && (my $difference = differs($block, @$got)))
		{
			print "not ok $where: prints something else\n$difference";
		}
		else
		{
			print "ok $where\n";
			print "only headings $where: $block->{headings}\n" if $block->{headings};
		}
	}
	return;
}

sub listed
{
	my ($page, $objects) = @_;
	my $text = join "\n", read_lines($page);

	for my $object (read_lines($objects))
	{
		print index($text, "`$object`") >= 0
		  ? "ok $object\n"
		  : "not ok $object: not in $page\n";
	}
	return;
}

# As GitHub makes them of headings.
sub anchors
{
	my ($page) = @_;
	my $fenced = 0;
	my %anchors;

	for my $line (read_lines($page))
	{
		$fenced = !$fenced if $line =~ /^```/;
		next if $fenced || $line !~ /^#+ (.*)/;
		my $anchor = lc $1;
		$anchor =~ s/[^\w\- ]//g;
		$anchor =~ tr/ /-/;
		$anchors{$anchor} = 1;
	}
	return \%anchors;
}

sub links
{
	for my $page (@_)
	{
		my $fenced = 0;
		my $number = 0;

		for my $line (read_lines($page))
		{
			$number++;
			$fenced = !$fenced if $line =~ /^```/;
			next if $fenced;
			while ($line =~ /\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g)
			{
				my ($file, $anchor) = ($1, $2);
				next if $file =~ m{^https?://};
				my $target = $file eq '' ? $page : dirname($page) . "/$file";
				my $found = -e $target && (!defined $anchor || anchors($target)->{$anchor});
				print $found ? 'ok' : 'not ok', " $page:$number: link to $target",
				  defined $anchor ? "#$anchor\n" : "\n";
			}
		}
	}
	return;
}

sub code
{
	my ($page, $language) = @_;

	for my $block (grep { $_->{language} eq $language } fenced_blocks($page))
	{
		print "$_\n" for @{ $block->{text} };
	}
	return;
}

my %commands = (script => \&script, compare => \&compare, listed => \&listed, links => \&links,
	code => \&code);
my $command = $commands{ shift // '' } or die "usage: see the top of docs.pl\n";
$command->(@ARGV);

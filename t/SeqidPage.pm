# SeqidPage.pm
#	  The SQL of a page of documentation, so that a test runs what the page says
#	  and not a copy of it.

package SeqidPage;

use strict;
use warnings;

use FindBin;

# SeqidPage::blocks($page, $heading): the SQL blocks below a heading, up to the
# next one of its level: their line, text, and whether an error is what they are to
# show.  {after} is the last line of text before the block.
sub blocks
{
	my ($page, $heading) = @_;
	my (@blocks, $level, $open, $language);
	my $after = '';
	my $number = 0;

	open my $file, '<', "$FindBin::RealBin/../docs/$page" or die "could not open $page: $!";
	while (my $line = <$file>)
	{
		$number++;
		if (!defined $language && $line =~ /^(#+) (.*)/)
		{
			last if defined $level && length $1 <= length $level;
			$level = $1 if $2 eq $heading;
		}
		next unless defined $level;
		if ($line =~ /^```(\w*)$/)
		{
			if (defined $language)
			{
				push @blocks, $open if $language eq 'sql';
				$language = undef;
			}
			else
			{
				$language = $1;
				$open = { line => $number, after => $after, sql => '' } if $language eq 'sql';
			}
		}
		elsif (defined $language)
		{
			$open->{sql} .= $line if $language eq 'sql';
			$blocks[-1]{fails} = 1 if $language eq '' && $line =~ /^ERROR:/;
		}
		elsif ($line =~ /\S/)
		{
			$after = $line;
		}
	}
	die "$page has no SQL below the heading $heading" unless @blocks;
	return @blocks;
}

# SeqidPage::statements($sql): one by one, without the semicolons.
sub statements
{
	my ($sql) = @_;
	my @statements = ('');

	while ($sql =~ /\G(\$\w*\$.*?\$\w*\$|'[^']*'|--[^\n]*|;|[^\$';-]+|.)/gs)
	{
		my $token = $1;

		if ($token eq ';') { push @statements, ''; }
		else { $statements[-1] .= $token unless $token =~ /^--/; }
	}
	s/^\s+|\s+$//g for @statements;
	return grep { $_ ne '' } @statements;
}

1;

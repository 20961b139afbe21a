# The English of the pages: habits that make it hard to read.
#
# Each page has at most 4 of them in 1,000 words.  These are patterns, so a place can be
# right: read it again, then decide.

use v5.36;

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidPage;

use Test::More;

my $most = 4;

# What the reader stumbles over => what to write.
my @habits = (
	qr/\b(?:tells?|telling|told)\b/i => 'returns, contains, shows or says',
	qr/\b(?:he|him|his|himself)\b/ => 'it for a program, you for the reader',
	qr/(?:^|[.;:,(] |\b(?:and|or|but|if|of|to|for|by) )(?:who|whoever) (?!am\b|are you\b)/i => 'a session that, a reader that',
	qr/\b(?:every|some|any|no)body\b/i => 'no session, any caller',
	qr/\b(?:of|to|for|with|by|from|than|is|are|see) what (?:is|was|are|were|it|they|the|an?|has|have|can)\b/i => 'the name of the thing',
	qr/, as (?:it|they|that|this|these|there|the|an?|no|nothing|each|all|both|otherwise|you)\b/ => 'because',
	qr/\b(?:be it|besides|anew|hence|lest|thereby|thereof|thus|for life|once more)\b/i => 'plain words',
	qr/\bmay (?!be\b|not be\b|have\b|also be\b|still be\b)/ => 'can, or must',
	qr/\bone (?:does|has|must|would|writes|can)\b/ => 'you',
	qr/\b(?:dr[ae]w(?:s|n|ing)?|handed out|drawing) (?:\w+ )?(?:keys?|ids?|snowflakes?|combs?)\b/i => 'generate',
	qr/\b(?:lives? of the server|life of (?:a|the) server|believes?|vouch\w*|overflown)\b/i => 'a word of the glossary',
	qr/\([^()]{100,}\)/ => 'a sentence of its own',
	qr/;[^.;]*;/ => 'sentences');
my $longest = 35;

# The paragraphs of a page, without code, addresses and tables.
sub paragraphs ($page)
{
	my (@paragraphs, $last);

	for my $number (sort { $a <=> $b } keys %{ $page->{text} })
	{
		my $line = $page->{text}{$number} =~ s/^\s+//r;
		my $goes_on = defined $last && $last == $number - 1 && $line !~ /^(?:[-*] |\d+\. |#)/;

		undef $last;
		next if $line =~ /^[|<!]/;
		$line =~ s/^(?:[-*]|\d+\.|#+) //;
		if ($goes_on) { $paragraphs[-1] .= " $line"; }
		else { push @paragraphs, $line; }
		$last = $number;
	}
	return map { s/`[^`]*`/X/gr =~ s/\[([^\]]*)\]\([^)]*\)/$1/gr =~ s/\*\*//gr } @paragraphs;
}

for my $path ('README.md', glob 'docs/*.md')
{
	my ($words, @hits) = (0);

	for my $paragraph (paragraphs(SeqidPage->new($path)))
	{
		for my $sentence (split /(?<=[.!?:]) +(?=[A-Z("])/, $paragraph)
		{
			my $length = () = $sentence =~ /\S+/g;

			$words += $length;
			push @hits, "$length words: " . substr($sentence, 0, 60) if $length > $longest && $sentence !~ / · /;
			for (my $i = 0; $i < @habits; $i += 2)
			{
				push @hits, "\"$1\" instead of $habits[$i + 1]" while $sentence =~ /($habits[$i])/g;
			}
		}
	}
	my $per_thousand = sprintf '%.1f', 1000 * @hits / ($words || 1);
	cmp_ok($per_thousand, '<=', $most, "$path: " . @hits . " in $words words") or diag(join "\n", @hits);
}

done_testing();

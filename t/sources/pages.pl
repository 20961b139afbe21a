# The pages of the documentation: links, length of lines, spelling, names of the source.

use v5.36;

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidPage;

use File::Basename qw(dirname);
use Test::More;

# The anchors that GitHub makes of a page's headings.
sub anchors ($path)
{
	my @headings = map { /^#+ (.*)/ ? lc $1 : () } values %{ SeqidPage->new($path)->{text} };

	return map { s/[^\w\- ]//gr =~ tr/ /-/r } @headings;
}

sub broken_links ($page, $line)
{
	my @broken;

	while ($line =~ /(?:\]\(|\b(?:src|srcset|href)=")([^)"#\s]*)(?:#([^)"\s]*))?[)"]/g)
	{
		my ($file, $anchor) = ($1, $2);
		my $target = $file eq '' ? $page->{path} : dirname($page->{path}) . "/$file";

		next if $file =~ m{^https?://};
		next if resolves($target, $anchor);
		push @broken, $target . (defined $anchor ? "#$anchor" : '');
	}
	return @broken;
}

# Prose has at most 100 characters in a line.  Tables cannot be broken, nor can addresses.
sub too_long ($page, $line)
{
	my $length = length $line =~ s/\]\([^)]*\)/]/gr =~ s/[\x80-\xbf]//gr;

	return $line =~ /^\|/ || $length <= 100 ? () : "$length characters";
}

# The faults of a page's lines, each with its line number.
sub faults ($page, $find)
{
	return join "\n", map {
		my $number = $_;
		map { "line $number: $_" } $find->($page, $page->{text}{$number})
	} sort { $a <=> $b } keys %{ $page->{text} };
}

# Whether a file has the anchor, if one is named.
sub resolves ($target, $anchor)
{
	return -e $target && (!defined $anchor || grep { $_ eq $anchor } anchors($target));
}

# Pages that hints, alerts and comments name.
sub broken_names ()
{
	my @broken;

	for my $path (glob 'src/*.[ch] src/*/*.[ch] seqid--*.sql examples/monitoring/* bench/*.sh scripts/*.sh t/*/*.pl')
	{
		my $text = contents($path);

		while ($text =~ m{\b(docs/[\w-]+\.md)(?:#([\w-]+))?}g)
		{
			push @broken, "$path: $1" . (defined $2 ? "#$2" : '') unless resolves($1, $2);
		}
	}
	return @broken;
}

sub contents (@paths)
{
	return join '', map { open my $in, '<', $_ or die "$_: $!"; <$in> } @paths;
}

# Names on a page: a file of src/ or t/, and a function in the file that the sentence names,
# or anywhere in src/.
sub unknown_names ($page)
{
	my @unknown;
	my $all = contents(glob 'src/*.[ch] src/*/*.[ch] seqid--*.sql');

	for my $sentence (split /(?<=[.:])\s+(?=[A-Z`*])/, join ' ', map { $page->{text}{$_} } sort { $a <=> $b } keys %{ $page->{text} })
	{
		while ($sentence =~ /`([\w\/]+\.(?:c|h|pl|pml))`|`(\w+)\(\)`(?: in\s+`([\w\/.]+)`)?/g)
		{
			my ($file, $function, $in) = ($1, $2, $3);

			if (defined $file)
			{
				push @unknown, $file unless -f "src/$file" || -f $file || -f "t/models/$file";
			}
			else
			{
				my $source = !defined $in ? $all : -f "src/$in" ? contents("src/$in") : '';

				push @unknown, "$function()" . (defined $in ? " in $in" : '') unless $source =~ /^[\w *]*\b$function\(/m;
			}
		}
	}
	return @unknown;
}

# Errors of the source that docs/reference.md does not name: the longest part of the message
# between the values.
sub unlisted_errors ()
{
	my $reference = lc contents('docs/reference.md');
	my @unlisted;

	for my $path (glob 'src/*.c src/*/*.[ch] seqid--*.sql')
	{
		my $source = contents($path) =~ s/(?:ereport\(|RAISE )(?:WARNING|LOG|NOTICE|INFO).*?;$//gmsr;

		while ($source =~ /errmsg\(\s*"((?:[^"\\]|\\.)*)"|MESSAGE = (?:pg_catalog\.)?(?:format\()?'((?:[^']|'')*)'/g)
		{
			my $message = lc(($1 // $2) =~ s/\\"/"/gr);
			my ($part) = sort { length $b <=> length $a } map { s/^[ "():]+|[ "():]+$//gr } split /%\w+|%\.0f|"[^"]*"/, $message;

			push @unlisted, "$path: $message" if index($reference, $part) < 0;
		}
	}
	return @unlisted;
}

for my $path ('README.md', glob 'docs/*.md examples/*/README.md')
{
	my $page = SeqidPage->new($path);

	is(faults($page, \&broken_links), '', "$path: links");
	is(faults($page, \&too_long), '', "$path: length of lines");
}
is(join("\n", broken_names()), '', 'pages that other files name');
is(join("\n", unlisted_errors()), '', 'docs/reference.md: errors');

is(join("\n", unknown_names(SeqidPage->new($_))), '', "$_: files and functions exist")
  for 'docs/internals.md', 'docs/limits.md';

my $misspelt = `codespell -L inout README.md CHANGELOG.md CONTRIBUTING.md docs/*.md src/README.md seqid--1.0.sql src/*.[ch] src/*/*.[ch] 2>&1`;
is($misspelt, '', 'spelling');
is($?, 0, 'codespell has run; it is a package of Debian');

done_testing();

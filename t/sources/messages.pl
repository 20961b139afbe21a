# Each message that the documentation quotes in a column "message", or at the start of a
# list's item, exists in the sources or is one of PostgreSQL's own, and docs/reference.md has
# each error.  (t/docs runs the statements that blocks show with their errors.)

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidPage;
use Test::More;

# How PostgreSQL's own begin; "..." is any text.
my @own = split /;\s+/, 'array size exceeds the maximum allowed; calculated CRC checksum does not match value
	stored in control file; could not access file; could not resize shared memory segment; could not serialize
	access due to concurrent update; could not stat file; duplicate key value violates unique constraint; extension
	"..." is not available; function ... already exists; function ... does not exist; integer out of range; invalid
	configuration parameter name; lastval is not yet defined in this session; not enough shared memory; null value
	in column; permission denied; schema "..." does not exist; seqid.horizon() is a procedure; unrecognized
	configuration parameter'
  =~ s/\s+/ /gr;

my $sources = SeqidPage::contents(glob 'src/*.[ch] src/*/*.[ch] seqid--*.sql');

# The formats of the messages in a text.
sub formats ($text)
{
	return map { s/\\"/"/gr =~ s/: "%s"$//r } $text =~ /errmsg\(\s*"((?:[^"\\]|\\.)*)"/g, $text =~ /MESSAGE = (?:format\()?'([^']*)'/g;
}
my @formats = formats($sources);

# A regular expression for a text in which marks stand for values.
sub pattern ($text, $marks)
{
	return join '.*', map { quotemeta } split $marks, $text, -1;
}

my $known = join '|', (map { pattern($_, qr/\.\.\./) . '.*' } @own),
  map { pattern($_, qr/%[.\d]*l*[a-z]/) . '(: ".*")?' } @formats;
my $count = 0;
for my $path (glob 'README.md docs/*.md')
{
	my $text = SeqidPage->new($path)->{text};
	my ($column, $before) = (undef, 0);

	for my $number (sort { $a <=> $b } keys %$text)
	{
		my @cells = split / *\| */, $text->{$number};
		my @quoted = $text->{$number} =~ /^- "(.*?)"[:,]/;

		undef $column if $number > $before + 1;
		push @quoted, split /; /, $cells[$column] if defined $column && $cells[1] !~ /^--/;
		($column) = grep { $cells[$_] eq 'message' } 1 .. $#cells unless defined $column;
		$before = $number;

		for my $message (map { s/^(?:WARNING: )?\[?(.*?)(?:\]\(.*)?$/$1/r } @quoted)
		{
			my $pattern = pattern($message, qr/\.\.\./);

			$count++;
			ok($message =~ /^(?:$known)$/ || (grep { /^$pattern$/ } @formats), "$path:$number: $message");
		}
	}
}
cmp_ok($count, '>', 50, "$count messages");

# The page has the longest part of a message between its values.
my $reference = lc SeqidPage::contents('docs/reference.md');
for my $format (formats($sources =~ s/(?:ereport\(|RAISE )(?:WARNING|LOG|NOTICE|INFO).*?;$//gmsr))
{
	my ($part) = sort { length $b <=> length $a } map { s/^[ "():]+|[ "():]+$//gr } split /%[.\d]*l*[a-z]|"[^"]*"/, lc $format;

	ok(index($reference, $part) >= 0, "docs/reference.md: $format");
}
done_testing();

# SeqidPage.pm
#	  The blocks of a page of documentation.
#
# Tests depend on a page's blocks and on the comments before them, and not on its
# text:
#
#	<!-- not run: needs a standby -->
#	<!-- only headings compared: counters -->
#	<!-- from ../examples/clients/psql/poll.sql -->
#	<!-- recipe: serial -->             names the blocks up to the next heading or recipe

package SeqidPage;

use v5.36;

# SeqidPage->new($path): {blocks} are hashes of where, language, text, recipe, the
# comments before the block, and output if a block without a language comes next;
# {text} has the lines outside of blocks by their number.
sub new ($class, $path)
{
	my $self = bless { path => $path, blocks => [], text => {} }, $class;
	my ($block, $previous, $recipe, %comments);
	my $number = 0;

	open my $in, '<', $path or die "$path: $!";
	for my $line (<$in>)
	{
		chomp $line;
		$number++;
		if ($block && $line ne '```')
		{
			$block->{text} .= "$line\n";
		}
		elsif ($block)
		{
			if ($previous && $block->{language} eq '') { $previous->{output} = $block->{text}; }
			else { push @{ $self->{blocks} }, $block; }
			$previous = $block->{language} eq 'sql' ? $block : undef;
			undef $block;
		}
		elsif ($line =~ /^```(\w*)$/)
		{
			$block = { where => "$path:$number", language => $1, text => '', recipe => $recipe, %comments };
			%comments = ();
		}
		elsif ($line =~ /^<!-- (not run|only headings compared|from|recipe):? (.*) -->$/)
		{
			$comments{$1} = $2;
			$recipe = $2 if $1 eq 'recipe';
			undef $previous;
		}
		elsif ($line =~ /\S/)
		{
			die "$path:$number: a comment without its block" if %comments || $line =~ /^<!--/;
			$self->{text}{$number} = $line;
			undef $recipe if $line =~ /^#/;
			undef $previous;
		}
	}
	die "$path: the last block has no end" if $block;
	return $self;
}

# The blocks of a recipe that can be run, without excerpts of a program.
sub recipe ($self, $name)
{
	my @blocks = grep { ($_->{recipe} // '') eq $name && !$_->{'not run'} && !$_->{from} } @{ $self->{blocks} };

	die "$self->{path} has no recipe '$name'" unless @blocks;
	return @blocks;
}

# The text of a recipe, also of blocks that are not run on the page.
sub sql
{
	my ($self, $name) = @_;

	return join('', map { $_->{text} } grep { ($_->{recipe} // '') eq $name } @{ $self->{blocks} })
	  || die "$self->{path} has no recipe '$name'";
}

# SeqidPage::migration($recipe): the blocks of a file of examples/migration/, which empty
# lines divide.  Blocks without a statement are left out.
sub migration ($recipe)
{
	return map { { recipe => $recipe, where => (statements($_))[0] =~ s/\n.*//sr, text => $_ } }
	  grep { statements($_) } split /\n{2,}/, contents("examples/migration/$recipe.sql");
}

# SeqidPage::migration_tables($recipe, $rows): its tables, with so many rows.
sub migration_tables ($recipe, $rows)
{
	my ($tables) = grep { $_->{text} =~ /^-- $recipe(\.sql)?\n/ } migration('tables');

	return "\\set rows $rows\n$tables->{text}";
}

# SeqidPage::contents(@paths): of files, one after the other.
sub contents
{
	return join '', map { open my $in, '<', $_ or die "$_: $!"; <$in> } @_;
}

# SeqidPage::statements($sql): one by one, without semicolons and comments.
sub statements ($sql)
{
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

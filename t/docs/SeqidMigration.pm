# SeqidMigration.pm
#	  The files of examples/migration/ as tests run them: in blocks, on tables of any size.

package SeqidMigration;

use v5.36;

use Exporter qw(import);
use SeqidPage;

our @EXPORT = qw(blocks_of tables);

sub blocks_of ($recipe)
{
	return SeqidPage::file_blocks("examples/migration/$recipe.sql");
}

# The tables of a file, with so many rows.
sub tables ($recipe, $rows)
{
	my ($tables) = grep { $_->{text} =~ /^-- $recipe\.sql\n/ } blocks_of('tables');

	return "\\set rows $rows\n$tables->{text}";
}

1;

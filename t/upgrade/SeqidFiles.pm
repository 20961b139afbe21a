# SeqidFiles.pm
#	  The files of the extension, as the server finds them; a test puts others there,
#	  and finds the old ones again at its end.

package SeqidFiles;

use strict;
use warnings;

use Exporter qw(import);
use File::Copy qw(copy);

our @EXPORT = qw(library scripts script put_file put_text);

my %before;

sub directory
{
	my ($option) = @_;
	my $directory = `pg_config --$option`;

	chomp $directory;
	return $directory;
}

sub library
{
	return directory('pkglibdir') . '/seqid.so';
}

# The path of the script of a version, or between two.
sub script
{
	return directory('sharedir') . '/extension/seqid--' . join('--', @_) . '.sql';
}

# The versions that can be installed.
sub scripts
{
	return sort map { /seqid--((?:(?!--).)+)\.sql$/ } glob(script('*'));
}

# Keeps what is there for the end of the test.
sub remember
{
	my ($path) = @_;

	return if exists $before{$path};
	$before{$path} = -e $path ? "$path.before" : undef;
	rename_copy($path, $before{$path}) if -e $path;
	return;
}

# As installers do it: who has the old file mapped keeps it.
sub rename_copy
{
	my ($from, $to) = @_;

	copy($from, "$to.new") or die "$to.new: $!";
	chmod 0755, "$to.new";
	rename "$to.new", $to or die "$to: $!";
	return;
}

# Puts a copy of a file where the server looks for another.
sub put_file
{
	my ($from, $path) = @_;

	remember($path);
	rename_copy($from, $path);
	return;
}

sub put_text
{
	my ($text, $path) = @_;

	remember($path);
	open my $file, '>', $path or die "$path: $!";
	print $file $text;
	close $file;
	return;
}

END
{
	for my $path (keys %before)
	{
		if (defined $before{$path})
		{
			rename $before{$path}, $path;
		}
		else
		{
			unlink $path;
		}
	}
}

1;

# SeqidFiles.pm
#	  The files of the extension, as the server finds them.  A test puts others there, and
#	  the old ones come back at its end.  Tests that do so run one after the other.

package SeqidFiles;

use v5.36;

use Exporter qw(import);
use Fcntl qw(LOCK_EX);
use File::Copy qw(copy);
use File::Temp ();

our @EXPORT = qw(library scripts script put_file put_text remove_file);

my %before;

sub directory ($option)
{
	chomp(my $directory = `pg_config --$option`);
	return $directory;
}

# Until the test ends.
open our $lock, '<', directory('pkglibdir') or die $!;
flock $lock, LOCK_EX or die $!;

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

# Puts a copy of a file where the server looks for another.  As after an installation, a
# process that has mapped the old file keeps it.
sub put_file ($from, $path)
{
	if (!exists $before{$path})
	{
		$before{$path} = -e $path ? "$path.before" : undef;
		!-e $path or copy($path, $before{$path}) or die "$path.before: $!";
	}
	copy($from, "$path.new") or die "$path.new: $!";
	chmod 0755, "$path.new";
	rename "$path.new", $path or die "$path: $!";
}

sub put_text ($text, $path)
{
	my $file = File::Temp->new;

	print $file $text;
	$file->flush;
	put_file($file->filename, $path);
}

# Until the test ends.
sub remove_file ($path)
{
	put_file($path, $path);
	unlink $path or die "$path: $!";
}

END
{
	for my $path (keys %before)
	{
		defined $before{$path} ? rename $before{$path}, $path : unlink $path;
	}
}

1;

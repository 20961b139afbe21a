# SeqidNode.pm
#	  The packages from npm that a package-lock.json names.

package SeqidNode;

use strict;
use warnings;

use Digest::SHA;
use File::Temp ();
use PostgreSQL::Test::Utils;

# SeqidNode::modules($directory of the lock file): the directory node_modules.  It is kept
# below SEQID_CACHE or /var/cache/seqid-clients, or only until the test ends if that cannot
# be written to.
sub modules
{
	my ($source) = @_;
	my $lock = substr Digest::SHA->new(256)->addfile("$source/package-lock.json")->hexdigest, 0, 16;
	my $cache = $ENV{SEQID_CACHE} // '/var/cache/seqid-clients';
	my $kept = "$cache/node-$lock";
	return "$kept/node_modules" if -d $kept;
	my $new = File::Temp::tempdir('new-XXXX', DIR => -w $cache ? $cache : PostgreSQL::Test::Utils::tempdir, CLEANUP => 1);

	local $ENV{HOME} = PostgreSQL::Test::Utils::tempdir;
	system_or_bail('cp', "$source/package.json", "$source/package-lock.json", $new);
	system_or_bail('npm', 'ci', '--prefix', $new, '--ignore-scripts', '--no-audit', '--no-fund');
	chmod 0755, $new;
	# Only a complete directory gets this name.
	return (-w $cache && rename($new, $kept) ? $kept : $new) . '/node_modules';
}

1;

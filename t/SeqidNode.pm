# SeqidNode.pm
#	  Programs that print "ok ..." or "not ok ..." for each check, and "end" at their end, and
#	  the packages from npm that a package-lock.json names.

package SeqidNode;

use v5.36;

use Digest::SHA;
use File::Temp ();
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More ();

# SeqidNode::modules($directory of the lock file): the directory node_modules.  It is kept
# below SEQID_CACHE or /var/cache/seqid-clients, or only until the test ends if that cannot
# be written to.
sub modules ($source)
{
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

# SeqidNode::start($name, \@command, options of IPC::Run...): starts a program.
sub start ($name, $command, @options)
{
	my %run = (name => $name);

	$run{harness} = IPC::Run::start([ 'timeout', 1800, @$command ], '<', \'', '>', \$run{out}, '2>', \$run{err}, @options);
	return \%run;
}

# SeqidNode::finish($run): asserts that its checks hold.
sub finish ($run)
{
	my $succeeded = $run->{harness}->finish;
	my @checks = $run->{out} =~ /^ok .*/mg;

	Test::More::note($run->{out});
	Test::More::ok($succeeded && @checks && $run->{out} !~ /^not ok /m && $run->{out} =~ /^end\n\z/m, "$run->{name}: " . @checks . ' checks')
	  or Test::More::diag($run->{out}, $run->{err});
}

1;

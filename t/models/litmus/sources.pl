#!/usr/bin/env perl
# sources.pl: do the litmus tests transcribe the sources?  verify.sh runs it.
#
# A line 'FILE: FUNCTION: CODE ... CODE' in a test names accesses in their order.  The
# function must have them so, and each of its barriers must be named.  So a barrier
# that is removed, moved or added is found here, and herd7 says what it is for.
use strict;
use warnings;
use FindBin;

my $src = "$FindBin::RealBin/../../../src";
my (%named, $faults);

sub fault { print "litmus: @_\n"; $faults++; }

sub slurp
{
	open my $in, '<', $_[0] or die "$_[0]: $!";
	local $/;
	return scalar <$in>;
}

for my $test (glob "$FindBin::RealBin/*.litmus")
{
	for (slurp($test) =~ m/^   (\w+\/\S+\.c: .*?)(?: \*\))?$/mg)
	{
		my ($file, $function, $codes) = split /: /, $_, 3;
		my $source = slurp("$src/$file");
		$source =~ m/^\Q$function\E\(.*?^}$/ms or fault("no $function in $file"), next;
		my ($start, $end) = ($-[0], $+[0]);

		for my $code (split / \.\.\. /, $codes)
		{
			my $at = index $source, $code, $start;
			fault("$file, $function: no \"$code\" in its place"), last if $at < 0 || $at >= $end;
			$named{"$file $at"} = 1;
			$start = $at + 1;
		}
	}
}

for my $path (glob "$src/*/*.[ch] $src/*.c")
{
	my ($file, $source) = ($path =~ s/^\Q$src\E\///r, slurp($path));
	while ($source =~ m/pg_(?:read|write|memory)_barrier\(\)/g)
	{
		fault("no test names $& at character $-[0] of $file") unless $named{"$file $-[0]"};
	}
}
exit($faults ? 1 : 0);

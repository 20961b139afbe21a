# keys_asynchronous.pl
#	  keys.pl with an asynchronous standby.

use strict;
use warnings;

use FindBin;

$ENV{SEQID_ASYNCHRONOUS} = 1;
do "$FindBin::RealBin/keys.pl" or die $@ || $!;

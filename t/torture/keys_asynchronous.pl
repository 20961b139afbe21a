# keys_asynchronous.pl
#	  keys.pl with an asynchronous standby.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;

$ENV{SEQID_ASYNCHRONOUS} = 1;
do "$FindBin::RealBin/keys.pl" or die $@ || $!;

# SeqidOutcome.pm
#	  What becomes of a statement, be it an answer or an error, as one value to
#	  compare.

package SeqidOutcome;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT = qw(outcome full_outcome error_in);

# The SQLSTATE and message of what psql printed as an error with VERBOSITY verbose.
sub error_in
{
	my ($err) = @_;

	return $err =~ /ERROR:  (.*)/ ? $1 : $err;
}

# What statements return, or the SQLSTATE and message of the first that fails.
sub full_outcome
{
	my ($node, $database, $sql) = @_;
	my ($status, $out, $err) = $node->psql($database, "\\set VERBOSITY verbose\n$sql");

	return $status == 0 ? $out : error_in($err);
}

# The same, but of an error the SQLSTATE alone.
sub outcome
{
	my ($node, $database, $sql) = @_;
	my ($status, $out, $err) = $node->psql($database, "\\set VERBOSITY verbose\n$sql");

	return $status == 0 ? $out : error_in($err) =~ s/^(\w{5}): .*/$1/r;
}

1;

# SeqidNeighbours.pm
#	  A short use of seqid in a database that has other extensions.

package SeqidNeighbours;

use v5.36;
use Exporter 'import';
use Test::More ();

our @EXPORT = qw(create errors_of used_beside);

my $use = <<'SQL';
CREATE TABLE seqid_orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(5), word bigint,
	key uuid NOT NULL DEFAULT comb_uuid());
DO $$ BEGIN PERFORM intern_create('seqid_words'); END $$;
INSERT INTO seqid_orders (word) SELECT intern_id('seqid_words', (n % 7)::text) FROM generate_series(1, 100) n;
CALL seqid.horizon();
SELECT count(*) = 100 AND count(DISTINCT key) = 100 AND min(snowflake_shard(id)) = 5 AND max(word) = 6 AS used
  FROM seqid_orders WHERE snowflake_in(id, tstzrange(now() - interval '1 hour', NULL));
DROP TABLE seqid_orders, seqid_words;
SQL

sub create ($extension) { return qq(CREATE EXTENSION IF NOT EXISTS "$extension" CASCADE) }

# answer_of($node, $database, @statements): what they return, and errors in one line.
sub answer_of ($node, $database, @statements)
{
	my ($status, $out, $err) = $node->psql($database,
		join(";\n", 'SET client_min_messages = error', @statements), on_error_stop => 1);

	return join '', $out, map { " $_" } $err =~ /(?:ERROR|FATAL|PANIC|server closed).*/g;
}

# errors_of($node, $database, @statements): their errors, or nothing.
sub errors_of ($node, $database, @statements)
{
	return answer_of($node, $database, @statements) =~ /(?:ERROR|FATAL|PANIC|server closed).*/s ? $& : '';
}

# used_beside($node, $database, $what, @statements): asserts that seqid works after the
# statements and that it can be dropped.
sub used_beside ($node, $database, $what, @statements)
{
	my $answer = answer_of($node, $database, @statements, $use, 'DROP EXTENSION seqid');

	# The horizon, and that all is right.
	Test::More::like($answer, qr/\n?t$/, $what) or Test::More::diag($answer);
}

1;

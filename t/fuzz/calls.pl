# Calls of every function with arguments at random, in a server whose seqid has the
# sanitizers; see calls.sql.  An error is correct, a crash is not.
#
# SEQID_MINUTES is the time (1), and SEQID_SEED repeats a run.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;
use IPC::Run ();

my $seed = $ENV{SEQID_SEED} // 1 + int rand 1_000_000;
my $build = SeqidBuild->sanitized;
my $node = $build->server('fuzz', "seqid.shards = '7'");
my $until;
my ($calls, $errors, $round) = (0, 0, 0);

$node->start;
# A statement of fuzz_after() has effect until the end of the transaction, and one of
# fuzz_undone() is rolled back at once.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION seqid;
CREATE SEQUENCE fuzz_sequence;
SELECT intern_create('fuzz_words');
CREATE SCHEMA fuzz_schema;
SELECT intern_create('fuzz_schema.words');
CREATE FUNCTION fuzz_after(statement text, value anyelement) RETURNS anyelement LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN value; END $$;
CREATE FUNCTION fuzz_undone(statement text, value anyelement) RETURNS anyelement LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RAISE SQLSTATE 'P0001'; EXCEPTION WHEN OTHERS THEN RETURN value; END $$;
SQL

my @psql = ('psql', '-XqAt', '-d', $node->connstr('postgres'));
my ($statements, $output) = ('', '');
sub play_round
{
	local $ENV{PGOPTIONS} = '-c statement_timeout=100ms';

	($statements) = run_command([ @psql, '-v', 'ON_ERROR_STOP=1', '-v', 'count=20', '-v', 'seed=' . ($seed + $round++),
			'-f', "$FindBin::RealBin/calls.sql" ]);
	IPC::Run::run(\@psql, '<', \$statements, '>&', \$output);
	$calls += () = $statements =~ /;$/mg;
	$errors += () = $output =~ /ERROR: /g;
	return slurp_file($node->logfile) !~ /exited with exit code|was terminated by signal/;
}

# On a slow machine it takes longer, so that it proves something there, too.
note "seed $seed";
$until = time + 60 * ($ENV{SEQID_MINUTES} // 1);
1 while play_round() && (time < $until || $calls <= 1000);

cmp_ok($calls, '>', 1000, 'many calls');
ok($errors > 0 && $errors < $calls, "$errors of $calls calls raise an error");
is($build->findings, '', 'no findings')
  or diag "seed $seed, round $round\n", $statements;
unlike(slurp_file($node->logfile), qr/runtime error: |^TRAP: |was terminated by signal/m, 'no findings in the log')
  or diag "seed $seed, round $round\n", $statements;
$node->stop('immediate');

done_testing();

# The regression tests under AddressSanitizer and UndefinedBehaviorSanitizer.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;

# A finding of undefined behavior, or an assertion, can be in the server's log.
my $finding = qr/runtime error: |^TRAP: /m;

my $build = SeqidBuild->sanitized;
ok($build->make('installcheck', 'ISOLATION=', 'EXTRA_REGRESS_OPTS=--temp-instance=./tmp_check'), 'the regression tests pass')
  or diag $build->{log}, map { slurp_file($_) } glob "$build->{source}/regression.diffs";
is($build->findings, '', 'no findings');
unlike(slurp_file("$build->{source}/log/postmaster.log"), $finding, 'no findings in the log');

# Planted faults are found.
my $faulty = SeqidBuild->sanitized(
	# room for one digit less than is written; a function of its own, because
	# UndefinedBehaviorSanitizer would know the room and be the first to find it
	[ 'bits/text_forms.h', 'base62_write', qr/^/, 'pg_noinline ' ],
	[ 'codec/textcodec.c', 'encode_base62', qr/digits\[BASE62_MAX_DIGITS\K/, ' - 1' ],
	# a number that is shifted without a check
	[ 'keys/tenant_key.c', 'tenant_key_pack', qr/checked_part\(PG_GETARG_INT64\(0\),.*?\)(?=;)/, 'PG_GETARG_INT64(0)' ]);
my $node = $faulty->server('faulty', '');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION seqid');
for my $call ('base62_encode_bigint(-1)', 'tenant_key_pack(9223372036854775807, 1)')
{
	isnt($node->psql('postgres', "SELECT $call"), 0, "$call ends its session");
	poll_until { $node->psql('postgres', 'SELECT 1') == 0 };
}
$node->stop('immediate');
my $found = $faulty->findings . slurp_file($node->logfile);
like($found, qr/stack-buffer-overflow(?:(?!\n\n).)*base62_write/s, 'AddressSanitizer finds a fault');
like($found, qr/tenant_key\.c:.*runtime error: left shift/, 'UndefinedBehaviorSanitizer finds a fault');

done_testing();

# The regression tests under AddressSanitizer and UndefinedBehaviorSanitizer.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use SeqidBuild;

my $build = SeqidBuild->sanitized;
my $node = $build->server('main', '');
$node->start;
$build->installcheck($node);
is($build->findings, '', 'no findings');
# One of undefined behavior, or an assertion, can be in the server's log.
unlike(slurp_file($node->logfile), qr/runtime error: |^TRAP: /m, 'no findings in the log');

# Planted faults are found.
my $faulty = SeqidBuild->sanitized(
	# room for one digit less than is written; a function of its own, because
	# UndefinedBehaviorSanitizer would know the room and be the first to find it
	[ 'bits/text_forms.h', 'base62_write', qr/^/, 'pg_noinline ' ],
	[ 'codec/textcodec.c', 'encode_base62', qr/digits\[BASE62_MAX_DIGITS\K/, ' - 1' ],
	# a number that is shifted without a check
	[ 'keys/tenant_key.c', 'tenant_key_pack', qr/checked_part\(PG_GETARG_INT64\(0\),.*?\)(?=;)/, 'PG_GETARG_INT64(0)' ]);
$node = $faulty->server('faulty', '');
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

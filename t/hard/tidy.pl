# clang-tidy finds nothing; .clang-tidy says which checks are left out, and why.

use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use IPC::Run ();

my ($include) = run_command([ 'pg_config', '--includedir-server' ]);

for my $file (glob 'src/*.c src/*/*.c')
{
	my ($findings, $statistics) = ('', '');
	my $done = IPC::Run::run([ 'clang-tidy', '-quiet', $file, '--', '-Isrc', "-I$include", '-D_GNU_SOURCE', '-DSEQID_VERSION="x"' ],
		'>', \$findings, '2>', \$statistics);

	ok($done && $findings eq '', $file) or diag $findings, $statistics;
}

done_testing();

# prefix.pl
#	  seqid in a directory of its own, which a server finds by two settings (18 and later).
#
# Needs to remove seqid from the server's own directories, and puts it back at the end.
# make install fills the directory, unless $SEQID_IMAGES names two: the contents of the
# image of this release and of the image of a later one, which takes its place.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use SeqidTest;
use Cwd qw(getcwd);

my $directory = PostgreSQL::Test::Utils::tempdir;
my ($image, $next_image) = split ' ', $ENV{SEQID_IMAGES} // '';
my $prefix = "$directory/seqid";
my $settings = "extension_control_path = '\$system:$prefix/share'
dynamic_library_path = '\$libdir:$prefix/lib'
";

# The make that runs this test must not hand its variables on.
delete @ENV{ grep { /^M.*FLAGS$|^MAKE|^TAP_TESTS$/ } keys %ENV };
sub make (@arguments) { return run_log([ 'make', '-s', 'with_llvm=no', 'PG_CONFIG=pg_config', @arguments ]) }

sub use_image ($from)
{
	unlink $prefix;
	symlink $from, $prefix or die "$prefix: $!";
}

make('uninstall') or die 'make uninstall failed';
END { make('install') or warn 'make install failed' }

my $node = new_server('main', extension => 0);
my $available = q(SELECT default_version FROM pg_available_extensions WHERE name = 'seqid');
is($node->safe_psql('postgres', $available), '', 'the server has no seqid');
$node->append_conf('postgresql.conf', $settings);

if ($image) { use_image($image); }
else
{
	ok(make('install', "datadir=$prefix/share", "pkglibdir=$prefix/lib"), 'make install');
}
my @files = map { s{^\Q$prefix/}{}r } sort grep { !-d } split /\n/, `find -L $prefix`;
is_deeply([ grep { !m{^(lib/seqid\.so|share/extension/seqid(\.control|--[\d.-]+\.sql)|licenses/seqid/LICENSE)$} } @files ],
	[], 'the directory has the library and the scripts');

$node->reload;
wait_until($node, "SELECT ($available) IS NOT NULL") or die 'the settings have no effect';
is(outcome($node, 'CREATE EXTENSION seqid'), '', 'CREATE EXTENSION');
$node->safe_psql('postgres', 'CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(5), c uuid DEFAULT comb_uuid());
	INSERT INTO orders SELECT FROM generate_series(1, 1000)');

if ($next_image)
{
	my $version = 'SELECT library, script FROM seqid.stat_server';
	my $above = 'INSERT INTO orders DEFAULT VALUES RETURNING id > (SELECT max(id) FROM orders), c > ALL (SELECT c FROM orders)';
	my $before = $node->safe_psql('postgres', $version);
	my ($script) = $before =~ /\|(.*)/;

	# The operator stops the pod, and starts another one with the new image.
	$node->stop;
	use_image($next_image);
	$node->start;
	like(outcome($node, $version), qr/^(?!\Q$before\E).*\|\Q$script\E$/, 'a new image brings its library');
	is(outcome($node, $above), 't|t', 'keys go on above the others');
	is(outcome($node, 'ALTER EXTENSION seqid UPDATE'), '', 'ALTER EXTENSION UPDATE');
	is(outcome($node, $version) =~ s/.*\|//r, $node->safe_psql('postgres', $available), 'brings its script');
	is(outcome($node, $above), 't|t', 'keys go on above the others');
	$node->stop;
	use_image($image);
}
else { $node->stop; }

append_to_file("$directory/conf", $settings);
ok(make('installcheck', 'ISOLATION=', "EXTRA_REGRESS_OPTS=--temp-instance=$directory/regress --temp-config=$directory/conf"),
	'the regression tests')
  or diag(-e 'regression.diffs' ? slurp_file('regression.diffs') : 'no regression.diffs');
done_testing();

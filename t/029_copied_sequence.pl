# Values of a sequence whose file was copied do not come again after a crash or a switchover: those
# below a settled horizon, and those that functions of seqid returned. nextval() itself repeats
# them, because the copy says that values ahead are in the WAL.
#
# SQL can neither crash a server nor promote one.

use v5.36;
use FindBin;
use lib $FindBin::RealBin;
use SeqidTest;

# Only what is tested flushes WAL.
my $conf = <<'CONF';
synchronous_commit = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
CONF

# Each use takes values of a sequence, and returns the last one. A reader looks afterwards.
my %uses = (
	nextval => q{SELECT nextval('%1$s'); SELECT nextval('%1$s')},
	look => q{SELECT nextval('%1$s'); SELECT nextval('%1$s'); CALL seqid.sequence_horizon('%1$s') \gset
SELECT :horizon - 1},
	# The first look can log the page, and a commit that waits for the standby comes before the next.
	settled => q{SELECT nextval('%1$s'); SELECT nextval('%1$s'); SELECT seqid.settled('%1$s'); CREATE TEMPORARY TABLE written ();
SELECT seqid.settled('%1$s') - 1},
	scatter => q{SELECT scatter_nextval('%1$s', 0); SELECT scatter_nextval('%1$s', 0) + 1},
	tenant => q{SELECT tenant_key_nextval(7, '%1$s'); SELECT tenant_key_entity(tenant_key_nextval(7, '%1$s'))},
	uuid => q{SELECT uuid_sequence_nextval('%1$s'); SELECT last_value FROM %1$s WHERE uuid_sequence_nextval('%1$s') IS NOT NULL},
	intern => q{SELECT intern_id('%1$s_terms', 'c'); SELECT intern_id('%1$s_terms', 'd') + 1});

# Each copies the file, after two values were used, and returns the database that has it.
my %copies = (
	'CREATE DATABASE' => sub ($node, $sequence) { return 'copied' },
	'SET LOGGED' => sub ($node, $sequence) {
		$node->safe_psql('postgres', "ALTER SEQUENCE $sequence SET UNLOGGED; ALTER SEQUENCE $sequence SET LOGGED");
		return 'postgres';
	},
	'START' => sub ($node, $sequence) {
		$node->safe_psql('postgres', "ALTER SEQUENCE $sequence START 5");
		return 'postgres';
	},
	'ALTER and nextval in one transaction' => sub ($node, $sequence) {
		$node->safe_psql('postgres', "BEGIN; ALTER SEQUENCE $sequence MAXVALUE 1000000; SELECT nextval('$sequence'); COMMIT");
		return 'postgres';
	});

# The sequence of a dictionary has a name of its own.
sub create_sequence ($node, $name, $use)
{
	return $node->safe_psql('postgres', "CREATE SEQUENCE $name; SELECT nextval('$name'); SELECT nextval('$name')") && $name
	  if $use ne 'intern';
	$node->safe_psql('postgres', "SELECT intern_create('${name}_terms'); SELECT intern_id('${name}_terms', t) FROM unnest('{a,b}'::text[]) t");
	return $node->safe_psql('postgres', "SELECT pg_get_serial_sequence('${name}_terms', 'id')");
}

# Uses each sequence in a copied file, and returns what was used: database, sequence, last value
# and a statement that returns the next value.
sub use_copies ($node)
{
	my @used;

	for my $copy (sort keys %copies)
	{
		for my $use (sort keys %uses)
		{
			my $name = lc "${copy}_$use" =~ s/\W/_/gr;

			push @used, { what => "$copy, $use", name => $name, copy => $copy, use => $use,
				sequence => create_sequence($node, $name, $use) };
		}
	}
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE postgres');
	for my $case (@used)
	{
		$case->{database} = $copies{ $case->{copy} }->($node, $case->{sequence});
		my $sql = sprintf $uses{ $case->{use} }, $case->{use} eq 'intern' ? $case->{name} : $case->{sequence};
		($case->{last}) = outcome($node, $case->{database}, "SET synchronous_commit = on; $sql") =~ /(-?\w+)\z/;
	}
	return @used;
}

sub check_copies ($level, $node, @used)
{
	for my $case (@used)
	{
		my $next = $case->{use} eq 'intern'
		  ? outcome($node, $case->{database}, "SELECT intern_id('$case->{name}_terms', 'e') + 1")
		  : outcome($node, $case->{database}, "SELECT nextval('$case->{sequence}')");

		if ($case->{use} eq 'nextval')
		{
			note "$level, $case->{what}: $next after $case->{last}";
			next;
		}
		cmp_ok($case->{last}, '>=', 2, "$level, $case->{what}: values were used");
		ok($next > $case->{last} && $next < 1000, "$level, $case->{what}: no value comes again")
		  or diag("$next after $case->{last}");
	}
}

for my $level ('replica', 'minimal')
{
	my $node = new_server($level, conf => $conf . ($level eq 'minimal' ? "wal_level = minimal\nmax_wal_senders = 0\n" : ''));
	my @used = use_copies($node);

	$node->kill9;
	start_again($node);
	check_copies("$level, crash", $node, @used);

	# The page has been logged, and the next values are logged as always.
	my ($case) = grep { $_->{use} eq 'scatter' } @used;
	my $last = outcome($node, $case->{database}, "SET synchronous_commit = on; SELECT max(scatter_nextval('$case->{sequence}', 0)) FROM generate_series(1, 70)");
	$node->kill9;
	start_again($node);
	cmp_ok(outcome($node, $case->{database}, "SET synchronous_commit = on; SELECT min(scatter_nextval('$case->{sequence}', 0)) FROM generate_series(1, 2)"), '>', $last, "$level: nor do later ones");
	my $session = SeqidSession->new($node, $case->{database});
	# The first value logs the page, and the second one logs values ahead.
	$session->query("SELECT scatter_nextval('$case->{sequence}', 0)") for 1 .. 2;
	is($session->query("SELECT pg_current_xact_id_if_assigned() IS NULL FROM scatter_nextval('$case->{sequence}', 0)"), 't',
		"$level: a value that writes no WAL needs no transaction id");
	$session->close;
	$node->stop;
}

# A clean switchover to a synchronous standby
my $primary = new_server('primary', streaming => 1, conf => $conf);
my $standby = new_standby($primary, 'standby');

make_synchronous($primary);
my @used = use_copies($primary);
$primary->stop;
promote_standby($standby);
check_copies('switchover', $standby, @used);
$standby->stop;

done_testing();

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

# Each use takes values of the sequence %1$s_id_seq, and returns the last one.  A reader looks
# afterwards.
my %uses = (
	nextval => q{SELECT nextval('%1$s_id_seq'); SELECT nextval('%1$s_id_seq')},
	look => q{SELECT nextval('%1$s_id_seq'); SELECT nextval('%1$s_id_seq'); CALL seqid.sequence_horizon('%1$s_id_seq') \gset
SELECT :horizon - 1},
	# The first look can log the page, and a commit that waits for the standby comes before the next.
	settled => q{SELECT nextval('%1$s_id_seq'); SELECT nextval('%1$s_id_seq'); SELECT seqid.settled('%1$s_id_seq');
CREATE TEMPORARY TABLE written (); SELECT seqid.settled('%1$s_id_seq') - 1},
	scatter => q{SELECT scatter_nextval('%1$s_id_seq', 0); SELECT scatter_nextval('%1$s_id_seq', 0) + 1},
	tenant => q{SELECT tenant_key_nextval(7, '%1$s_id_seq'); SELECT tenant_key_entity(tenant_key_nextval(7, '%1$s_id_seq'))},
	uuid => q{SELECT uuid_sequence_nextval('%1$s_id_seq');
SELECT last_value FROM %1$s_id_seq WHERE uuid_sequence_nextval('%1$s_id_seq') IS NOT NULL},
	intern => q{SELECT intern_id('%1$s', 'c'); SELECT intern_id('%1$s', 'd') + 1});

# Each copies the file of a sequence, after two values were used.  The first one is in another database.
my %copies = (
	'CREATE DATABASE' => '',
	'SET LOGGED' => 'ALTER SEQUENCE %1$s_id_seq SET UNLOGGED; ALTER SEQUENCE %1$s_id_seq SET LOGGED',
	'START' => 'ALTER SEQUENCE %1$s_id_seq START 5',
	'ALTER and nextval in one transaction' =>
	  q{BEGIN; ALTER SEQUENCE %1$s_id_seq MAXVALUE 1000000; SELECT nextval('%1$s_id_seq'); COMMIT});

# Uses each sequence in a copied file, and returns what was used: database, name and last value.
sub use_copies ($node)
{
	my @used;

	for my $copy (sort keys %copies)
	{
		for my $use (sort keys %uses)
		{
			my $name = lc "${copy}_$use" =~ s/\W/_/gr;

			$node->safe_psql('postgres', $use eq 'intern' ?
				"SELECT intern_create('$name'); SELECT intern_id('$name', t) FROM unnest('{a,b}'::text[]) t" :
				"CREATE SEQUENCE ${name}_id_seq; SELECT nextval('${name}_id_seq') FROM generate_series(1, 2)");
			push @used, { what => "$copy, $use", name => $name, copy => $copy, use => $use,
				database => $copies{$copy} eq '' ? 'copied' : 'postgres' };
		}
	}
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE postgres');
	for my $case (@used)
	{
		$node->safe_psql('postgres', sprintf $copies{ $case->{copy} }, $case->{name}) if $case->{database} eq 'postgres';
		($case->{last}) = outcome($node, $case->{database},
			'SET synchronous_commit = on; ' . sprintf($uses{ $case->{use} }, $case->{name})) =~ /(-?\w+)\z/;
	}
	return @used;
}

sub check_copies ($level, $node, @used)
{
	for my $case (@used)
	{
		my $next = outcome($node, $case->{database}, $case->{use} eq 'intern' ?
			"SELECT intern_id('$case->{name}', 'e') + 1" : "SELECT nextval('$case->{name}_id_seq')");

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

	crash($node);
	check_copies("$level, crash", $node, @used);

	# The page has been logged, and the next values are logged as always.
	my ($case) = grep { $_->{use} eq 'scatter' } @used;
	my $get = "scatter_nextval('$case->{name}_id_seq', 0)";
	my $last = outcome($node, $case->{database}, "SET synchronous_commit = on; SELECT max($get) FROM generate_series(1, 70)");
	crash($node);
	cmp_ok(outcome($node, $case->{database}, "SELECT $get"), '>', $last, "$level: nor do later ones");
	# The first value logs the page, and the second one logs values ahead.
	is((split /\n/, outcome($node, $case->{database},
			"SELECT $get; SELECT $get; SELECT pg_current_xact_id_if_assigned() IS NULL FROM $get"))[2], 't',
		 "$level: a value that writes no WAL needs no transaction id");
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

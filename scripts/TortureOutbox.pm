# TortureOutbox.pm
#	  An outbox that is written and polled while scripts/torture.pl injects faults.
#
# Writers insert rows into two tables, one with snowflake ids and one with COMBs.
# Readers poll by the settled horizon, on the primary and on the standby, and one by
# the greatest id, which is wrong. What a reader saw it writes to files, as a server
# may lose it. At the end each row that is there must have been seen once, in order.
#
# What a fault may do: a commit under synchronous_commit = local or off is seen on
# the primary before the standby has it, and lost if that is promoted. Each row
# has its level, and no row of another one may be lost that was seen; nor may any that
# was seen on a standby. That is for synchronous standbys. If they are not, a
# promotion loses whatever it loses, the horizon with it, so that readers begin
# anew on each primary.

package TortureOutbox;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

use SeqidTest;

our $writers = 6;

my @readers = ('primary', 'replica', 'max');
my %least = (outbox => 0, outbox_comb => '00000000-0000-0000-0000-000000000000');
my %key = (outbox => sub { 'snowflake_nextval(' . int(rand 8) . ')' }, outbox_comb => sub { 'comb_uuid()' });
my %first = (outbox => 'snowflake_first', outbox_comb => 'comb_uuid_first');
my %may_be_lost = (local => 1, off => 1);

# new(directory => for files, levels => of synchronous_commit, seed => number,
# anew => whether readers begin anew on each primary)
sub new
{
	my ($class, %parameters) = @_;

	return bless {%parameters}, $class;
}

# Makes the tables, in database postgres.
sub create
{
	my ($self, $node) = @_;

	$node->safe_psql('postgres', "
		CREATE TABLE outbox (id bigint PRIMARY KEY, level text NOT NULL DEFAULT current_setting('synchronous_commit'));
		CREATE TABLE outbox_comb (id uuid PRIMARY KEY, level text NOT NULL DEFAULT current_setting('synchronous_commit'))");
	return;
}

# What is to run, each in a process of its own: first what ends with the faults,
# then what sees the rest.
sub writers
{
	my ($self) = @_;

	return map { my $number = $_; sub { $self->run_writer($number) } } 1 .. $writers;
}

sub readers
{
	my ($self) = @_;

	return map { my $reader = $_; sub { $self->run_reader($reader) } } @readers;
}

#
# Sessions
#

# Where a server is, in place of its node, which may be made after the fork.
sub TortureOutbox::Address::connstr
{
	my ($address, $database) = @_;

	return "host=$address->{host} port=$address->{port} dbname=$database";
}

# The addresses of those in a role that servers are published with.
sub address
{
	my ($self, $role) = @_;

	for my $line (split /\n/, slurp_file("$self->{directory}/servers"))
	{
		my ($host, $port, $its_role) = split ' ', $line;

		return bless({ host => $host, port => $port }, 'TortureOutbox::Address')
		  if $its_role eq $role;
	}
	die "no $role";
}

# The session with the server in that role; another one if it is another server or
# the last one broke.
sub session
{
	my ($self, $role) = @_;
	my $where = $self->address($role)->connstr('postgres');

	$self->forget_session($role) unless ($self->{where}{$role} // '') eq $where;
	$self->{session}{$role} //= SeqidSession->new($self->address($role));
	$self->{where}{$role} = $where;
	return $self->{session}{$role};
}

sub forget_session
{
	my ($self, $role) = @_;
	my $session = delete $self->{session}{$role};

	$session->abandon if $session;
	return;
}

# What a statement returns; dies of its error, or if the server is lost.
sub ask
{
	my ($self, $role, $sql) = @_;
	my $session = $self->session($role);
	my $answer = $session->query($sql);
	my $errors = $session->errors;

	die $errors if $errors ne '';
	return $answer;
}

# Tries something again and again, with new sessions after it failed, until it
# was done once after the file was there; or three minutes after.
sub repeat_until
{
	my ($self, $file, $pause, $something) = @_;
	my ($done, $seen);

	until ($done && $seen || defined $seen && time > $seen + 180)
	{
		$seen //= time if -e $file;
		$done = eval { $something->(); 1 };
		$self->note_failure($@) unless $done;
		sleep $pause;
	}
	return;
}

sub note_failure
{
	my ($self, $failure) = @_;

	append_to_file("$self->{directory}/outbox.errors", "$self->{name}: $failure\n");
	$self->forget_session($_) for keys %{ $self->{session} };
	sleep 0.1;
	return;
}

#
# Writers
#

sub think
{
	sleep rand 0.03 if rand() < 0.5;
	return;
}

# Inserts a few rows, drawn by the statement or before it.
sub insert
{
	my ($self, $table) = @_;
	my $rows = rand() < 0.5 ? 1 : 1 + int rand 10;
	my $keys = 'SELECT ' . $key{$table}->() . " AS id FROM generate_series(1, $rows)";

	if (rand() < 0.5)
	{
		my @drawn = split /\n/, $self->ask('primary', $keys);

		think();
		$keys = 'VALUES ' . join ', ', map { "('$_'" . ($table eq 'outbox' ? '::bigint)' : '::uuid)') } @drawn;
	}
	$self->ask('primary', "INSERT INTO $table (id) $keys");
	think();
	return;
}

sub insert_in_savepoint
{
	my ($self, $table) = @_;

	$self->ask('primary', 'SAVEPOINT s');
	$self->insert($table);
	$self->ask('primary', rand() < 0.5 ? 'ROLLBACK TO s' : 'RELEASE s');
	return;
}

sub write_transaction
{
	my ($self) = @_;
	my $level = $self->{levels}[ rand @{ $self->{levels} } ];
	my $end = rand;

	$self->ask('primary', "BEGIN; SET LOCAL synchronous_commit = $level");
	for my $time (1 .. 1 + int rand 3)
	{
		my $table = rand() < 0.5 ? 'outbox' : 'outbox_comb';

		rand() < 0.2 ? $self->insert_in_savepoint($table) : $self->insert($table);
	}
	$self->ask('primary', $end < 0.1 ? 'ROLLBACK'
		: $end < 0.12 ? "PREPARE TRANSACTION '$self->{name} " . time . "'"
		: 'COMMIT');
	return;
}

# Ends one in three of the transactions that are prepared, or all. Under level on:
# what is committed here, and not by a standby that is promoted, would be prepared
# again, and hold the horizon where it was before.
sub end_prepared
{
	my ($self, $share) = @_;

	for my $gid (split /\n/, $self->ask('primary', 'SELECT gid FROM pg_prepared_xacts'))
	{
		next unless rand() < $share;
		$self->ask('primary', 'SET synchronous_commit = on; '
			  . (rand() < 0.7 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'; RESET synchronous_commit");
		append_to_file("$self->{directory}/outbox.prepared", "$gid\n");
	}
	return;
}

# The first of them ends what was prepared, too.
sub run_writer
{
	my ($self, $number) = @_;
	my $transactions = 0;

	$self->{name} = "writer $number";
	srand($self->{seed} + 1000 + $number);
	$self->repeat_until("$self->{directory}/stop", 0, sub {
		$self->write_transaction;
		think();
		$self->end_prepared(0.3) if $number == 1 && ++$transactions % 10 == 0;
	});
	return;
}

# Between writers and the end: nothing stays prepared.
sub end_all_prepared
{
	my ($self) = @_;

	$self->{name} = 'the end';
	SeqidTest::poll_until { eval { $self->end_prepared(1); 1 } }
	  or die 'transactions stay prepared';
	$self->forget_session('primary');
	return;
}

#
# Readers
#

# A horizon, of this reader and of all: it was asked and told at these times.
sub horizon
{
	my ($self) = @_;
	my $asked = time;
	my $answer = $self->ask('primary', 'CALL seqid.horizon()');
	my ($horizon, $lsn) = $answer =~ /^([^|]+)\|([^|]+)\|/ or die "no horizon: '$answer'";

	append_to_file("$self->{directory}/outbox.horizons",
		join("\t", $asked, time, $self->{where}{primary}, $horizon) . "\n");
	return ($horizon, $lsn);
}

# Rows of a table that come next, and are below the horizon if there is one.
sub read_rows
{
	my ($self, $role, $table, $horizon) = @_;
	my $bound = defined $horizon ? "AND id < $first{$table}('$horizon')" : '';
	my @rows = split /\n/, $self->ask($role,
		"SELECT id, level FROM $table WHERE id > '$self->{last}{$table}' $bound ORDER BY id");

	return unless @rows;
	append_to_file($self->file($table), join('', map { "$_\n" } @rows));
	($self->{last}{$table}) = split /\|/, $rows[-1];
	return;
}

sub file
{
	my ($self, $table) = @_;

	return "$self->{directory}/$self->{reader}.$table.seen";
}

sub begin_anew
{
	my ($self) = @_;

	unlink map { $self->file($_) } keys %least;
	$self->{last} = {%least};
	return;
}

my %poll = (
	primary => sub {
		my ($self) = @_;
		my ($horizon) = $self->horizon;

		$self->read_rows('primary', $_, $horizon) for sort keys %least;
	},
	replica => sub {
		my ($self) = @_;
		my ($horizon, $lsn) = $self->horizon;
		my $told_by = $self->{where}{primary};
		my $behind = time + 5;

		while ($self->ask('standby', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") ne 't')
		{
			die 'the standby does not come so far' if time > $behind;
			sleep 0.01;
		}
		# On another timeline the same place in the WAL is another one.
		die 'another primary' if $self->address('primary')->connstr('postgres') ne $told_by;
		$self->read_rows('standby', $_, $horizon) for sort keys %least;
	},
	max => sub {
		my ($self) = @_;

		$self->read_rows('primary', $_) for sort keys %least;
	});

sub run_reader
{
	my ($self, $reader) = @_;
	my $read_from = '';

	$self->{name} = "reader $reader";
	$self->{reader} = $reader;
	$self->begin_anew;
	$self->repeat_until("$self->{directory}/stop.readers", 0.02, sub {
		my $primary = $self->address('primary')->connstr('postgres');

		$self->begin_anew if $self->{anew} && $primary ne $read_from;
		$read_from = $primary;
		$poll{$reader}->($self);
	});
	return;
}

#
# The verdict
#

# In a table: what a reader saw, in order, as [key, level].
sub seen
{
	my ($self, $reader, $table) = @_;
	my $file = "$self->{directory}/$reader.$table.seen";

	return -e $file ? map { [ split /\|/ ] } split(/\n/, slurp_file($file)) : ();
}

# How many of a list are not greater than the one before.
sub descents
{
	my ($table, @keys) = @_;

	return scalar grep {
		$table eq 'outbox' ? $keys[$_] <= $keys[ $_ - 1 ] : $keys[$_] le $keys[ $_ - 1 ]
	} 1 .. $#keys;
}

# Returns counts: rows that there are, transactions that were prepared, and for each reader the rows that it missed,
# that came out of order, and that it saw and are lost; those that may be are apart.
sub verdict
{
	my ($self, $node) = @_;
	my %verdict = (rows => 0);

	for my $table (sort keys %least)
	{
		my %there = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', "SELECT id FROM $table");

		$verdict{rows} += keys %there;
		for my $reader (@readers)
		{
			my @seen = $self->seen($reader, $table);
			my %seen = map { $_->[0] => 1 } @seen;
			my @lost = grep { !$there{ $_->[0] } } @seen;
			my @may_be_lost = $reader eq 'replica' ? () : grep { $may_be_lost{ $_->[1] } } @lost;

			$verdict{seen}{$reader} += @seen;
			$verdict{missed}{$reader} += grep { !$seen{$_} } keys %there;
			$verdict{'out of order'}{$reader} += descents($table, map { $_->[0] } @seen);
			$verdict{lost}{$reader} += @lost - @may_be_lost;
			$verdict{'lost below on'}{$reader} += @may_be_lost;
		}
	}
	$verdict{prepared} = split /\n/, slurp_file("$self->{directory}/outbox.prepared");
	return \%verdict;
}

# How many horizons there were, and how many were less than one that had been told
# before they were asked for; of one primary, where readers begin anew.
sub horizons
{
	my ($self) = @_;
	my (@events, %told);
	my ($horizons, $went_back) = (0, 0);

	for my $line (split /\n/, slurp_file("$self->{directory}/outbox.horizons"))
	{
		my ($asked, $answered, $primary, $horizon) = split /\t/, $line;

		$primary = '' unless $self->{anew};
		my %expected = (primary => $primary, horizon => $horizon);
		push @events, [ $asked, \%expected ], [ $answered, \%expected ];
	}
	for my $event (sort { $a->[0] <=> $b->[0] } @events)
	{
		my $horizon = $event->[1];
		my $before = \$told{ $horizon->{primary} };

		if (!exists $horizon->{at_least})
		{
			$horizon->{at_least} = $$before // '';
			next;
		}
		$horizons++;
		$went_back++ if seconds($horizon->{horizon}) lt $horizon->{at_least};
		$$before = seconds($horizon->{horizon})
		  if !defined $$before || seconds($horizon->{horizon}) gt $$before;
	}
	return ($horizons, $went_back);
}

# A timestamp as PostgreSQL prints it, without its zone, which is UTC's, and with all
# digits, so that it compares as text.
sub seconds
{
	my ($timestamp) = @_;
	my ($whole, $fraction) = $timestamp =~ /^([-0-9]+ [0-9:]+)(?:\.(\d+))?\+00$/
	  or die "not a time of UTC: $timestamp";

	return sprintf '%s.%-6s', $whole, ($fraction // '') . '0' x (6 - length($fraction // ''));
}

1;

#!/usr/bin/env perl
# charts.pl: draws the results of run.sh as charts.
#
# usage: bench/charts.pl FROM TO
#
# The directory FROM has results.tsv, growth.tsv and machine.txt of run.sh --out, and can have
# stores.tsv and stores.txt of stores.sh; the charts, SVG files, go to the directory TO.

use strict;
use warnings;

use FindBin qw($RealBin);

die "usage: bench/charts.pl FROM TO\n" unless @ARGV == 2;
my ($from, $to) = @ARGV;

# What is measured, in the order in which it is drawn; whose it is; and its name in SQL.
my (%place, %origin, %label);
while (my $line = <DATA>)
{
	chomp $line;
	my ($origin, $subject, $label) = split /\t+/, $line;

	($place{$subject}, $origin{$subject}, $label{$subject}) = ($., $origin, $label);
}
my @origins = qw(seqid core peer bare);
my %legend = (seqid => 'seqid', core => 'PostgreSQL', peer => 'others', bare => 'for comparison');

sub rows_of
{
	my ($file) = @_;

	open my $in, '<', "$from/$file" or die "$from/$file: $!\n";
	chomp(my @lines = <$in>);
	my @columns = split /\t/, shift @lines;

	return map { my %row; @row{@columns} = split /\t/; \%row } @lines;
}

my @results = rows_of('results.tsv');
my @growth = rows_of('growth.tsv');
my @stores = -e "$from/stores.tsv" ? rows_of('stores.tsv') : ();
open my $draw, '|-', $^X, "$RealBin/../docs/diagrams/draw.pl", $to, '-' or die "draw.pl: $!\n";

sub draw
{
	my ($command, @words) = @_;

	print $draw join(' ', $command, map { '"' . s/(["\\])/\\$1/gr . '"' } @words), "\n";
	return;
}

sub origin_of
{
	my ($subject) = @_;

	return $origin{$subject} // ($subject =~ /^peer / ? 'peer' : $subject =~ /^(settled|(sequence_)?horizon)/ ? 'seqid' : 'core');
}

sub in_order
{
	my @subjects = sort { ($place{$a} // 99) <=> ($place{$b} // 99) || $a cmp $b } @_;

	return map { my $origin = $_; grep { origin_of($_) eq $origin } @subjects } @origins;
}

# The machine and the command of a file, as the last lines of a chart.
sub caption
{
	my ($file, $height) = @_;

	open my $in, '<', "$from/$file" or die "$from/$file: $!\n";
	my ($machine, $command) = <$in> =~ /^(.*); (.*)/ or die "$from/$file has no command\n";
	draw('text', 20, $height - 24, 'start', $machine, 'small');
	draw('text', 20, $height - 8, 'start', $command, 'small');
	return;
}

# begin NAME TITLE HEIGHT SUBJECT ...: a chart with the legend of its subjects, and the
# machine and the command below.
sub begin
{
	my ($name, $title, $height, @subjects) = @_;
	my %seen = map { origin_of($_) => 1 } @subjects;
	my $x = 20;

	draw('diagram', $name, 760, $height, $title);
	draw('text', 20, 24, 'start', $title, 'title');
	for my $origin (grep { $seen{$_} } @origins)
	{
		draw('box', $x, 38, 12, 12, $origin, '');
		draw('text', $x + 18, 48, 'start', $legend{$origin}, 'small');
		$x += 36 + 7 * length $legend{$origin};
	}
	caption('machine.txt', $height);
	return $x;
}

# bars NAME TITLE PART METRIC FACTOR FORMAT: a bar for each subject, with its median.  A
# line goes from the smallest to the largest round.
sub bars
{
	my ($name, $title, $part, $metric, $factor, $format) = @_;
	my %row = map { $_->{subject} => $_ } grep { $_->{part} eq $part && $_->{metric} eq $metric } @results;
	my @subjects = in_order(keys %row) or return;
	my ($greatest) = sort { $b <=> $a } map { $_->{largest} } values %row;
	my $scale = 420 / ($greatest || 1);
	my $x = begin($name, $title, 108 + 26 * @subjects, @subjects);
	my $y = 60;

	draw(qw(line line), $x, 44, $x + 20, 44);
	draw('text', $x + 26, 48, 'start', 'from the smallest round to the largest', 'small');
	for my $subject (@subjects)
	{
		my ($median, $smallest, $largest) = map { 260 + $scale * $row{$subject}{$_} } qw(median smallest largest);

		draw('text', 252, $y + 14, 'end', $label{$subject} // $subject);
		draw('box', 260, $y, $median - 260, 18, origin_of($subject), '');
		draw('line', $_, $smallest, $y + 9, $largest, $y + 9) for $largest - $smallest > 3 ? qw(halo line) : ();
		draw('text', ($median > $largest ? $median : $largest) + 8, $y + 14, 'start', sprintf $format, $row{$subject}{median} * $factor);
		$y += 26;
	}
	draw(qw(line axis 260 54 260), $y);
	return;
}

# lines NAME TITLE PART COLUMN FACTOR UNIT: an index as its table grows.
sub lines
{
	my ($name, $title, $part, $column, $factor, $unit) = @_;
	my %line;

	push @{ $line{ $_->{kind} } }, [ $_->{rows}, $_->{$column} * $factor ] for grep { $_->{part} eq $part } @growth;
	my @subjects = in_order(keys %line) or return;
	my ($rows) = sort { $b <=> $a } map { $_->[0] } map { @$_ } values %line;
	my ($greatest) = sort { $b <=> $a } map { $_->[1] } map { @$_ } values %line;
	my $step = 2 * 10**int(log($greatest) / log(10));
	my $y = 0;

	begin($name, $title, 416, @subjects);
	for (my $at = 0; $at <= $greatest; $at += $step)
	{
		my $height = 330 - 260 * $at / $greatest;

		draw(qw(line axis 70), $height, 500, $height);
		draw('text', 62, $height + 4, 'end', "$at $unit", 'small');
	}
	draw('text', 70 + 430 * $_ / 4, 348, 'middle', sprintf('%g', $rows * $_ / 4e6), 'small') for 0 .. 4;
	draw(qw(text 285 366 middle), 'million rows inserted', 'small');
	# PostgreSQL's are dashed, so that one of seqid's shows through.
	for my $subject (@subjects)
	{
		draw('line', origin_of($subject), map { (70 + 430 * $_->[0] / $rows, 330 - 260 * $_->[1] / $greatest) } @{ $line{$subject} });
	}
	for my $subject (sort { $line{$b}[-1][1] <=> $line{$a}[-1][1] } @subjects)
	{
		my $end = 334 - 260 * $line{$subject}[-1][1] / $greatest;

		$y = $end > $y + 16 ? $end : $y + 16;
		draw('text', 510, $y, 'start', ($label{$subject} // $subject) . sprintf(', %.0f %s', $line{$subject}[-1][1], $unit));
	}
	return;
}

# stores BESIDE: how late programs get their events beside a transaction, on a logarithmic
# axis, and how many they lose.
sub stores
{
	my ($beside) = @_;
	my %row = map { ("$_->{store} $_->{kind}" => $_) } grep { $_->{beside} eq $beside } @stores or return;
	my @programs = (
		[ loader_view => 'one SELECT' ],
		[ emmett => 'emmett-postgresql' ],
		[ kysely => 'emmett-event-store-kysely' ],
		[ dcb => 'event-store-postgres (DCB)' ]);
	my ($height, $y) = (138 + 56 * @programs, 60);
	my $bottom = $height - 78;
	my $title = "Median time from an append to its handler, beside a transaction that has written $beside";
	my $x_of = sub { 230 + 95 * log($_[0] / 10) / log(10) };

	draw('diagram', 'stores', 760, $height, $title);
	draw('text', 20, 24, 'start', $title, 'title');
	draw(qw(box 20 38 12 12 core), '');
	draw(qw(text 38 48 start), 'without seqid', 'small');
	draw(qw(box 136 38 12 12 seqid), '');
	draw(qw(text 154 48 start), 'with seqid', 'small');
	draw(qw(text 240 48 start), 'The transaction is open for 30 s. Logarithmic axis.', 'small');
	for my $tick ([ 10, '10 ms' ], [ 100, '100 ms' ], [ 1000, '1 s' ], [ 10000, '10 s' ], [ 100000, '100 s' ])
	{
		my $x = $x_of->($tick->[0]);

		draw(qw(line axis), $x, 56, $x, $bottom);
		draw('text', $x, $bottom + 16, 'middle', $tick->[1], 'small');
	}
	for my $program (@programs)
	{
		my ($store, $label) = @$program;

		draw('text', 222, $y + 24, 'end', $label);
		for my $kind (qw(stock seqid))
		{
			my ($events, $lost, $p50) = map { s/(?<=\d)(?=(\d{3})+$)/,/gr } @{ $row{"$store $kind"} }{qw(events lost p50)};
			my $end = $x_of->($row{"$store $kind"}{p50});

			draw('box', 230, $y, $end - 230, 18, $kind eq 'stock' ? 'core' : 'seqid', '');
			draw('text', $end + 8, $y + 14, 'start', "$p50 ms, lost " . ($lost ? "$lost of $events" : 'none'), 'small');
			$y += 20;
		}
		$y += 16;
	}
	caption('stores.txt', $height);
	return;
}

bars('throughput', 'Million keys a second, 8 clients, 1,000 keys a transaction', 'contended', 'keys/s', 1e-6, '%.1f');
bars('inserts', 'Thousand rows a second, INSERT ... SELECT', 'insert', 'rows/s', 1e-3, '%.0f');
bars('wal', 'Bytes of WAL a row, INSERT ... SELECT', 'insert', 'WAL bytes/row', 1, '%.0f');
bars('order', 'Keys smaller than the one before, in percent, 8 clients inserting', 'order', 'misordered', 1, '%.2f');
bars('fragmentation', 'Fragmentation of the index in percent, 8 clients inserting', 'order', 'fragmentation', 1, '%.0f');
bars('outbox', 'Milliseconds from a commit to when a reader has its row, median', 'outbox', 'p0.5', 1, '%.0f');
bars('outbox_writers', 'Transactions a second of 8 clients that write an outbox', 'outbox', 'tps', 1, '%.0f');
lines('wrap', 'Size of the index while old rows are deleted, except one in twenty', 'wrap', 'index_size', 1 / 2**20, 'MB');
stores('another table');
close $draw or die "draw.pl failed\n";

__DATA__
seqid	snowflake	snowflake_nextval(5)
seqid	snowflake, 8 shards	snowflake_nextval(n), 8 shards
seqid	snowflake, 1 shard	snowflake_nextval(5), 1 shard
seqid	snowflake53, 8 shards	snowflake53_nextval(n), 8 shards
seqid	comb	comb_uuid()
seqid	uuid_time	uuid_time_nextval()
seqid	uuid_sequence	uuid_sequence_nextval('s')
core	bigserial	nextval('s')
core	nextval	nextval('s')
core	cached	nextval('s'), CACHE 1000
core	nextval, CACHE 1000	nextval('s'), CACHE 1000
core	core uuidv7	uuidv7()
core	random	gen_random_uuid()
bare	the query alone	the query without a key
bare	no reader	no reader

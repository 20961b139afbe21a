# The programs of examples/clients, each in a database of its own.
#
# docs/clients.md shows parts of the programs, which must be the same.
# CLIENTS="node python/django" chooses programs.

use v5.36;
use FindBin;
use lib "$FindBin::RealBin/..";
use File::Basename qw(dirname);
use IPC::Run ();
use SeqidTest;
use SeqidNode;
use SeqidPage;

my $directory = PostgreSQL::Test::Utils::tempdir;
my $java = '/usr/lib/jvm/default-java/bin';
my $class_path = join ':', '.', map { "/usr/share/java/$_.jar" } qw(postgresql hibernate-core hibernate-commons-annotations
  geronimo-jpa_2.0_spec geronimo-jta-1.2-spec javassist antlr dom4j commons-collections3 slf4j-api slf4j-nop);

# Commands for the shell: what prepares the programs of a language, and what runs $1.
# Python's, Ruby's, Go's and Rust's libraries are Debian's.
my %languages = (
	psql => { programs => [qw(psql outbox)], run => 'if [ -f $1.sh ]; then bash $1.sh; else psql -Xqf $1.sql; fi' },
	c => {
		programs => ['libpq'],
		prepare => 'gcc -Wall -Wextra -Werror -O2 -I$(/usr/bin/pg_config --includedir) -o libpq libpq.c -lpq',
		run => './$1'
	},
	node => {
		programs => [qw(pg drizzle prisma sequelize typeorm mikro_orm knex kysely postgres_js snowflake53)],
		run => 'node $1.mjs'
	},
	python => { programs => [qw(psycopg2 asyncpg sqlalchemy django)], run => '/usr/bin/python3 $1_client.py' },
	ruby => { programs => ['activerecord'], run => '/usr/bin/ruby $1.rb' },

	# Hibernate 3.6 is older than the modules of Java.
	java => {
		programs => [qw(Pgjdbc Hibernate)],
		prepare => "$java/javac -Xlint -cp $class_path *.java",
		run => "$java/java --add-opens java.base/java.lang=ALL-UNNAMED -cp $class_path \$1"
	},
	go => {
		programs => [qw(pq pgx)],
		prepare => "export GO111MODULE=off GOPATH=$directory/go:/usr/share/gocode GOCACHE=$directory/go-cache; "
		  . 'for program in pq pgx; do /usr/bin/go build -o $program $program.go check.go snowflake.go || exit; done',
		run => './$1'
	},
	rust => {
		programs => ['tokio_postgres'],
		prepare => "CARGO_HOME=$directory/cargo CARGO_PROFILE_DEV_DEBUG=0 RUSTC=/usr/bin/rustc /usr/bin/cargo build --offline "
		  . q(--config 'source.crates-io.replace-with="debian"' --config 'source.debian.directory="/usr/share/cargo/registry"'),
		run => 'target/debug/$1'
	});

# As most do: by TCP, with a password, as an ordinary user, who can create a database for
# tests.
my $node = PostgreSQL::Test::Cluster->new('shop');
$node->init(extra => [ '--no-locale', '-E', 'UTF8' ]);
$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\ntimezone = 'UTC'\nclient_min_messages = warning\n");
unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', "local all all trust\nhost all client 127.0.0.1/32 scram-sha-256\n");
$node->start;
$node->safe_psql('postgres', "CREATE ROLE client LOGIN CREATEDB PASSWORD 'client'");

# Starts a language's command in the directory of its programs.
sub start_client ($language, $command, $program)
{
	local @ENV{qw(HOME PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE)} =
	  ($directory, '127.0.0.1', $node->port, 'client', 'client', lc "shop_$program");

	return SeqidNode::start("$language/$program", [ 'sh', '-c', $languages{$language}{$command} // ':', 'sh', $program ],
		init => sub { chdir "$directory/clients/$language" or die $! });
}

sub start_program ($language, $program)
{
	my $database = lc "shop_$program";

	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER client");
	$node->safe_psql($database, "CREATE EXTENSION seqid; ALTER DATABASE $database SET seqid.shards = 5");
	return start_client($language, 'run', $program);
}

my @running;

# Waits until one of the programs that run has ended.
sub finish_program
{
	my $run;

	until (($run) = grep { !$_->{harness}->pumpable } @running)
	{
		$_->{harness}->pump_nb for @running;
		select undef, undef, undef, 0.05;
	}
	@running = grep { $_ != $run } @running;
	SeqidNode::finish($run);
}

# Whether lines are in a text, one after the other, indented alike or not.
sub has_lines ($text, @lines)
{
	my ($least) = sort { $a <=> $b } map { /^(\s*)\S/ ? length $1 : () } @lines;
	my $pattern = join '\s*\n', map { /\S/ ? '\g{indent}' . quotemeta(substr($_, $least) =~ s/\s+$//r) : '' } @lines;

	$pattern =~ s/\\g\{indent\}/(?<indent>[ \\t]*)/;
	return $text =~ /^$pattern\s*$/m;
}

# What is wrong with an excerpt: a line of three dots stands for any lines.
sub fault_in_excerpt ($page, $block)
{
	my $from = $block->{from};

	return $block->{language} =~ /^(sql|sh|)$/ ? () : "$block->{where}: does not say where it is from" if !defined $from;
	my $text = slurp_file(dirname($page->{path}) . "/$from");
	my @parts = grep { /\S/ } split /^\s*\W*\.\.\.\W*\n/m, $block->{text};
	return map { has_lines($text, split /\n/) ? () : "$block->{where}: not in $from" } @parts;
}

my $page = SeqidPage->new('docs/clients.md');
is(join("\n", map { fault_in_excerpt($page, $_) } @{ $page->{blocks} }), '', 'docs/clients.md shows what the programs do');

# The programs are compiled in a copy.
system_or_bail('cp', '-R', 'examples/clients', $directory);
my %chosen;
for my $chosen (split ' ', $ENV{CLIENTS} // join ' ', sort keys %languages)
{
	my ($language) = split '/', $chosen;
	my @programs = grep { "$language/$_/" =~ m{^\Q$chosen\E/} } @{ $languages{$language}{programs} } or die "no such client: $chosen";

	push @{ $chosen{$language} }, @programs;
}

# Compilers run while the programs of other languages do, four at a time.
my %preparing = map { $_ => start_client($_, 'prepare', '') } grep { $languages{$_}{prepare} } sort keys %chosen;
for my $language (sort { exists $preparing{$a} <=> exists $preparing{$b} || $a cmp $b } keys %chosen)
{
	symlink SeqidNode::modules('examples/clients/node'), "$directory/clients/node/node_modules" if $language eq 'node';
	my $prepared = $preparing{$language};
	if ($prepared && !$prepared->{harness}->finish)
	{
		fail("$language is ready to run");
		diag($prepared->{out}, $prepared->{err});
		next;
	}
	for my $program (@{ $chosen{$language} })
	{
		finish_program() if @running == 4;
		push @running, start_program($language, $program);
	}
}
finish_program() while @running;
$node->stop;
done_testing();

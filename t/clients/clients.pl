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
my $chosen = $ENV{CLIENTS} // 'c go java node psql python ruby rust';
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

# What is wrong with an excerpt: a line of three dots stands for any lines, and spaces before
# a line do not matter.
sub fault_in_excerpt ($page, $block)
{
	my $from = $block->{from};

	return $block->{language} =~ /^(sql|sh|)$/ ? () : "$block->{where}: does not say where it is from" if !defined $from;
	my $text = slurp_file(dirname($page->{path}) . "/$from") =~ s/^\s+//mgr;
	my @parts = grep { $_ ne '' } split /^\W*\.\.\.\W*\n/m, $block->{text} =~ s/^\s+//mgr;
	return map { index("\n$text", "\n$_") >= 0 ? () : "$block->{where}: not in $from" } @parts;
}

for my $page (map { SeqidPage->new("docs/$_.md") } qw(clients outbox))
{
	is(join("\n", map { fault_in_excerpt($page, $_) } @{ $page->{blocks} }), '', "$page->{path} shows what the programs do");
}

# The programs are compiled in a copy.
system_or_bail('cp', '-R', 'examples/clients', $directory);
symlink SeqidNode::modules('examples/clients/node'), "$directory/clients/node/node_modules";
my @programs;
for my $language (sort keys %languages)
{
	for my $program (@{ $languages{$language}{programs} })
	{
		push @programs, [ $language, $program ] if " $chosen " =~ m{ $language(/$program)? };
	}
}
die "no such client: $chosen" unless @programs;

# Compilers run while the programs of other languages do, four at a time.
my %preparing;
$preparing{$_} //= start_client($_, 'prepare', '') for grep { $languages{$_}{prepare} } map { $_->[0] } @programs;
@programs = sort { exists $preparing{ $a->[0] } <=> exists $preparing{ $b->[0] } } @programs;
while (my @batch = splice @programs, 0, 4)
{
	my @running;

	for (@batch)
	{
		my ($language, $program) = @$_;
		my $database = lc "shop_$program";

		if (my $prepared = delete $preparing{$language})
		{
			ok($prepared->{harness}->finish, "$language is ready to run") or diag($prepared->{out}, $prepared->{err});
		}
		$node->safe_psql('postgres', "CREATE DATABASE $database OWNER client");
		$node->safe_psql($database, "CREATE EXTENSION seqid; ALTER DATABASE $database SET seqid.shards = 5");
		push @running, start_client($language, 'run', $program);
	}
	SeqidNode::finish($_) for @running;
}
$node->stop;
done_testing();

# SeqidBuild.pm
#	  Builds of seqid with other options, each in a copy of the sources that is installed
#	  into a copy of the server.

package SeqidBuild;

use v5.36;

use Cwd qw(getcwd);
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();

# SeqidBuild->new($options of the compiler, faults): a fault is a list of a file of src/,
# a function in it, a pattern, and its replacement.  A pattern that matches nothing is an
# error: the fault does not exist any more.
sub new ($class, @arguments)
{
	my ($bin) = run_command([ 'pg_config', '--bindir' ]);

	return $class->new_for($bin, @arguments);
}

# The same for the server that has its programs in $bin.
sub new_for ($class, $bin, $options, @faults)
{
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my ($prefix, $version) = $bin =~ m{^(.*)/usr/lib/postgresql/(\d+)/bin$} or die "$bin is no directory of Debian's";
	my $self = bless {
		source => "$directory/source",
		install => "$directory/usr/lib/postgresql/$version",
		scripts => "$directory/usr/share/postgresql/$version/extension",
		findings => "$directory/findings" }, $class;

	# The lists of tests are in the Makefile, not in what another make was asked for.
	delete @ENV{qw(MAKEFLAGS MAKEOVERRIDES MFLAGS TAP_TESTS)};
	mkdir "$directory/$_" for qw(source findings usr usr/lib usr/lib/postgresql usr/share usr/share/postgresql);
	symlink '/usr/include', "$directory/usr/include" or die $!;
	system_or_bail('cp', '-a', "$prefix/usr/$_/postgresql/$version", "$directory/usr/$_/postgresql/") for 'lib', 'share';
	system_or_bail('cp', '-r', qw(Makefile META.json seqid.control seqid--1.0.sql src sql expected specs examples), $self->{source});
	$self->edit("src/$_->[0]", qr/^$_->[1]\b.*?^}/ms, @$_[ 2, 3 ]) for @faults;
	$self->make('clean') && $self->make('all', 'install', "COPT=$options") or die $self->{log};
	return $self;
}

# SeqidBuild->in_use: the sources as they are, in a server whose programs, library and scripts
# every cluster of this test then uses.
sub in_use ($class)
{
	my $self = $class->new('');

	$ENV{PATH} = "$self->{install}/bin:$ENV{PATH}";
	return $self;
}

# Replaces a pattern in the first part of a file that matches $part.
sub edit ($self, $file, $part, $pattern, $replacement)
{
	my $text = slurp_file("$self->{source}/$file");

	$text =~ s{$part}{ my $new = $&; $new =~ s/$pattern/$replacement/ or die "$file: no $pattern"; $new }e
	  or die "$file: no $part";
	unlink "$self->{source}/$file";
	append_to_file("$self->{source}/$file", $text);
}

# Whether make succeeds; $self->{log} is its output.
sub make ($self, @arguments)
{
	$self->{log} = '';
	return IPC::Run::run([ 'make', '-s', '-C', $self->{source}, "PG_CONFIG=$self->{install}/bin/pg_config", 'with_llvm=no', @arguments ],
		'<', \'', '>&', \$self->{log});
}

# Asserts that regression tests pass in a server, and stops it.
sub installcheck ($self, $node, @arguments)
{
	local @ENV{qw(PGHOST PGPORT)} = ($node->host, $node->port);

	Test::More::ok($self->make('installcheck', 'ISOLATION=', @arguments), 'the regression tests pass')
	  or Test::More::diag($self->{log}, map { slurp_file($_) } glob "$self->{source}/regression.diffs");
	$node->stop;
}

# Lets a command run the server's program.
sub wrap ($self, $command)
{
	my $program = "$self->{install}/bin/postgres";

	rename $program, "$program.program" or die $!;
	append_to_file($program, "#!/bin/sh\nexec $command $program.program \"\$\@\"\n");
	chmod 0755, $program or die $!;
}

# A server that is not started.
sub server ($self, $name, $conf)
{
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => $self->{install});

	$node->init;
	$node->append_conf('postgresql.conf', "restart_after_crash = on\n$conf");
	return $node;
}

# What tools have written.  "==PID== " before a line is removed, so that findings are
# separated by empty lines.
sub findings ($self)
{
	return join '', map { slurp_file($_) =~ s/^==\d+== ?//gmr } glob "$self->{findings}/*";
}

# seqid under AddressSanitizer and UndefinedBehaviorSanitizer, with assertions, in a
# server that is not.  A finding aborts the backend.  Without -fwrapv, a signed overflow
# is a finding.
#
# libc comes before the sanitizers, because the server would hang with its first lock
# inside libc.  So malloc() is libc's, and palloc() carves chunks from its blocks: no
# sanitizer knows their ends.  The stack, static variables and all undefined behavior
# are checked.  t/fuzz/texts.pl has texts in buffers that end where they should.
sub sanitized ($class, @faults)
{
	my $self = $class->new('-fsanitize=address,undefined -fno-sanitize-recover=all -fno-wrapv '
		  . '-fno-omit-frame-pointer -O1 -g -DUSE_ASSERT_CHECKING', @faults);
	my $jump = "$self->{source}/jump.so";
	my ($libc, $libasan) = map { (run_command([ 'gcc', "-print-file-name=$_" ]))[0] } 'libc.so.6', 'libasan.so';

	system_or_bail('gcc', '-O1', '-shared', '-fPIC', '-o', $jump, getcwd() . '/t/hard/jump.c');
	$self->wrap("env LD_PRELOAD='$jump $libc $libasan' "
		  . "ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:verify_asan_link_order=0:log_path=$self->{findings}/address "
		  . "UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1:log_path=$self->{findings}/undefined");
	return $self;
}

1;

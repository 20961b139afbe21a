# seqid: primary keys for PostgreSQL
#
#   make && sudo make install     build for the server that pg_config names
#   make installcheck             test the installed extension in a temporary
#                                 server of its own (as an ordinary user)
#
# Another server: make PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config

MODULE_big = seqid
OBJS = \
	src/bitpack.o \
	src/clock_mark.o \
	src/comb.o \
	src/comb_check.o \
	src/comb_codec.o \
	src/dictionary.o \
	src/dictionary_cache.o \
	src/dictionary_shape.o \
	src/durable_wal.o \
	src/entropy.o \
	src/guc.o \
	src/intern.o \
	src/intern_ddl.o \
	src/jump_hash.o \
	src/key_run.o \
	src/mark_page.o \
	src/mark_repair.o \
	src/pg_epoch.o \
	src/scatter.o \
	src/seqid.o \
	src/sequential_uuid.o \
	src/server_shard.o \
	src/shard_clock.o \
	src/shard_list.o \
	src/shared_state.o \
	src/snowflake.o \
	src/snowflake_codec.o \
	src/stats.o \
	src/tenant_key.o \
	src/textcodec.o \
	src/wall_clock.o

EXTENSION = seqid
DATA = seqid--1.0.sql
PGFILEDESC = "seqid - primary keys"

REGRESS = install snowflake snowflake_codec comb comb_codec sequential_uuid \
	scatter intern tenant_key bitpack jump_hash textcodec extremes privileges parallel \
	relocation fragmentation
REGRESS_OPTS = --temp-instance=./tmp_check

ISOLATION = snowflake_order comb_order intern_race intern_change intern_privileges
ISOLATION_OPTS = --temp-instance=./tmp_check_iso --load-extension=seqid

TAP_TESTS = 1

EXTRA_CLEAN = tmp_check tmp_check_iso output_iso

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS knows no header dependencies; a changed header rebuilds everything.
$(OBJS) $(OBJS:.o=.bc): $(wildcard $(srcdir)/src/*.h)

# seqid: primary keys for PostgreSQL
#
#   make && sudo make install     build for the server that pg_config names
#   make installcheck             test the installed extension in a running server, as
#                                 a superuser: PGHOST, PGPORT and PGUSER say which.
#                                 TAP_TESTS=1 adds tests in servers of their own.
#
# Another server: make PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config

MODULE_big = seqid
OBJS = \
	src/bits/shard_list.o \
	src/pg/durable_wal.o \
	src/pg/entropy.o \
	src/pg/segment.o \
	src/pg/sequence_page.o \
	src/pg/text_input.o \
	src/pg/wall_clock.o \
	src/state/database_state.o \
	src/state/followed_sequence.o \
	src/state/guc.o \
	src/state/server_shard.o \
	src/state/shared_state.o \
	src/clock/clock_mark.o \
	src/clock/counter.o \
	src/clock/mark_page.o \
	src/clock/sequence_look.o \
	src/clock/settled_bound.o \
	src/clock/settled_horizon.o \
	src/clock/transaction_slot.o \
	src/codec/bitpack.o \
	src/codec/comb_codec.o \
	src/codec/jump_hash.o \
	src/codec/snowflake_codec.o \
	src/codec/textcodec.o \
	src/codec/time_range.o \
	src/keys/comb.o \
	src/keys/scatter.o \
	src/keys/sequential_uuid.o \
	src/keys/snowflake.o \
	src/keys/snowflake_backfill.o \
	src/keys/tenant_key.o \
	src/intern/assignment.o \
	src/intern/dictionary.o \
	src/intern/dictionary_shape.o \
	src/intern/dictionary_sql.o \
	src/intern/intern.o \
	src/intern/intern_ddl.o \
	src/planner_support.o \
	src/settled.o \
	src/replay.o \
	src/mark_repair.o \
	src/seqid.o \
	src/stats.o

EXTENSION = seqid
DATA = seqid--1.0.sql
PGFILEDESC = "seqid - primary keys"

REGRESS = install vectors snowflake snowflake_codec snowflake53 snowflake53_codec \
	comb comb_codec sequential_uuid \
	scatter intern tenant_key bitpack jump_hash textcodec time_range registry extremes privileges parallel \
	horizon sequence_horizon settled schema fragmentation partitioning migration

ISOLATION = key_order intern_race intern_toast intern_change intern_rename intern_privileges \
	horizon_held sequence_horizon_held settled_snapshot
ISOLATION_OPTS = --load-extension=seqid

# Of the databases that the tests make, whatever the server's own are.
ENCODING = UTF8
NO_LOCALE = 1

EXTRA_CLEAN = tmp_check

# The version stands in META.json; t/sources/release.pl checks what agrees with it.
SEQID_VERSION := $(shell sed -n '/"version"/{s/[^:]*: *"//; s/".*//p; q}' META.json)

# Files name the room of what they include; see src/README.md.
PG_CPPFLAGS = -I$(srcdir)/src -DSEQID_VERSION=\"$(SEQID_VERSION)\"

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS knows no header dependencies; a changed header rebuilds everything.
$(OBJS) $(OBJS:.o=.bc): $(wildcard $(srcdir)/src/*/*.h)
src/seqid.o src/seqid.bc src/stats.o src/stats.bc: META.json

# What is released on PGXN, of what is committed, and its bill of materials.
ARCHIVE = seqid-$(SEQID_VERSION).zip

dist:
	SEQID_FINAL=1 prove -Q t/sources/release.pl
	$(MAKE) archive
	scripts/sbom.pl "$(ARCHIVE)" >"$(ARCHIVE:.zip=.spdx.json)"

archive:
	git archive --format zip --prefix=seqid-$(SEQID_VERSION)/ -o "$(ARCHIVE)" HEAD

.PHONY: dist archive

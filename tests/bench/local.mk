# SPDX-License-Identifier: MIT
#
# The load and the origin of tests/bench/run.sh, which makes them itself.

BENCH_TOOLS = tests/bench/load tests/bench/origin

tests_bench_load_SOURCES = \
	tests/bench/answer.c \
	tests/bench/answer.h \
	tests/bench/cost.c \
	tests/bench/cost.h \
	tests/bench/fleet.c \
	tests/bench/fleet.h \
	tests/bench/load.c \
	tests/bench/loopback.c \
	tests/bench/loopback.h \
	tests/bench/wire.c \
	tests/bench/wire.h
tests_bench_load_LDADD = libbase.a $(OPENSSL_LIBS)

tests_bench_origin_SOURCES = \
	tests/bench/ledger.c \
	tests/bench/ledger.h \
	tests/bench/loopback.c \
	tests/bench/loopback.h \
	tests/bench/origin.c \
	tests/bench/wire.c \
	tests/bench/wire.h
tests_bench_origin_LDADD = libbase.a $(OPENSSL_LIBS)

# What coming back after a 429 costs, in virtual time; a test as well.
PACE_FILES = \
	tests/bench/pace/demand.c \
	tests/bench/pace/meter.c \
	tests/bench/pace/naive.c \
	tests/bench/pace/ours.c \
	tests/bench/pace/pace.h \
	tests/bench/pace/table.c

# SPDX-License-Identifier: MIT
#
# The simulator. ORIGIN_PURE needs no sockets and is what unit tests link;
# src/abide-origin.c is named by the Makefile.
ORIGIN_PURE = \
	src/origin/advice.c \
	src/origin/advice.h \
	src/origin/crc.c \
	src/origin/crc.h \
	src/origin/judge.c \
	src/origin/judge.h \
	src/origin/keys.c \
	src/origin/keys.h \
	src/origin/limit.c \
	src/origin/limit.h \
	src/origin/report.c \
	src/origin/report.h \
	src/origin/script.c \
	src/origin/script.h \
	src/origin/summary.c \
	src/origin/summary.h \
	src/origin/value.c \
	src/origin/value.h \
	src/origin/wish.c \
	src/origin/wish.h \
	src/origin/wishparam.c \
	src/origin/wishparam.h \
	src/origin/wishtext.c

ORIGIN_FILES = \
	$(ORIGIN_PURE) \
	src/origin/answer.c \
	src/origin/answer.h \
	src/origin/conn.c \
	src/origin/conn.h \
	src/origin/connio.c \
	src/origin/opts.c \
	src/origin/opts.h \
	src/origin/origin.c \
	src/origin/origin.h \
	src/origin/pages.c \
	src/origin/pages.h \
	src/origin/reports.c \
	src/origin/reports.h \
	src/origin/route.c \
	src/origin/route.h \
	src/origin/server.c \
	src/origin/server.h

ORIGIN_TEST_LIBS = libproto.a libbase.a $(CMOCKA_LIBS)
tests_unit_test_origin_judge_SOURCES = \
	tests/unit/test_origin_judge.c $(ORIGIN_PURE)
tests_unit_test_origin_judge_LDADD = $(ORIGIN_TEST_LIBS)
tests_unit_test_origin_limit_SOURCES = \
	tests/unit/test_origin_limit.c $(ORIGIN_PURE)
tests_unit_test_origin_limit_LDADD = $(ORIGIN_TEST_LIBS)
tests_unit_test_origin_words_SOURCES = \
	tests/unit/test_origin_words.c $(ORIGIN_PURE)
tests_unit_test_origin_words_LDADD = $(ORIGIN_TEST_LIBS)

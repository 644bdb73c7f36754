# SPDX-License-Identifier: MIT
#
# The simulator but for its main, src/abide-origin.c, which the Makefile names.
ORIGIN_FILES = \
	src/origin/advice.c \
	src/origin/advice.h \
	src/origin/amount.c \
	src/origin/amount.h \
	src/origin/answer.c \
	src/origin/answer.h \
	src/origin/conn.c \
	src/origin/conn.h \
	src/origin/connio.c \
	src/origin/crc.c \
	src/origin/crc.h \
	src/origin/judge.c \
	src/origin/judge.h \
	src/origin/keytab.c \
	src/origin/keytab.h \
	src/origin/limit.c \
	src/origin/limit.h \
	src/origin/opts.c \
	src/origin/opts.h \
	src/origin/origin.c \
	src/origin/origin.h \
	src/origin/pages.c \
	src/origin/pages.h \
	src/origin/report.c \
	src/origin/report.h \
	src/origin/reports.c \
	src/origin/reports.h \
	src/origin/route.c \
	src/origin/route.h \
	src/origin/script.c \
	src/origin/script.h \
	src/origin/server.c \
	src/origin/server.h \
	src/origin/summary.c \
	src/origin/summary.h \
	src/origin/wish.c \
	src/origin/wish.h \
	src/origin/wishparam.c \
	src/origin/wishparam.h \
	src/origin/wishtext.c

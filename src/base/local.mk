# SPDX-License-Identifier: MIT
BASE_FILES = \
	src/base/clock.c \
	src/base/clock.h \
	src/base/hash.c \
	src/base/hash.h \
	src/base/heap.c \
	src/base/heap.h \
	src/base/histogram.c \
	src/base/histogram.h \
	src/base/list.h \
	src/base/log.c \
	src/base/log.h \
	src/base/map.c \
	src/base/map.h \
	src/base/mem.c \
	src/base/mem.h \
	src/base/rng.c \
	src/base/rng.h \
	src/base/span.c \
	src/base/span.h \
	src/base/strbuf.c \
	src/base/strbuf.h \
	src/base/timer.c \
	src/base/timer.h

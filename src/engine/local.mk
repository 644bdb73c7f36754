# SPDX-License-Identifier: MIT
ENGINE_FILES = \
	src/engine/body.c src/engine/body.h \
	src/engine/buckets.c src/engine/buckets.h \
	src/engine/copies.c src/engine/copies.h \
	src/engine/dispatch.c src/engine/dispatch.h \
	src/engine/dispatch_line.c src/engine/dispatch_line.h \
	src/engine/dispatch_move.c \
	src/engine/dispatch_wish.c \
	src/engine/engine.c src/engine/engine.h \
	src/engine/flow.c src/engine/flow.h \
	src/engine/flow_answer.c \
	src/engine/flow_end.c \
	src/engine/flow_time.c \
	src/engine/key.c src/engine/key.h \
	src/engine/ports.h \
	src/engine/request.c src/engine/request.h \
	src/engine/stats.h

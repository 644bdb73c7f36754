# SPDX-License-Identifier: MIT
PROTO_FILES = \
	src/proto/basic.c \
	src/proto/basic.h \
	src/proto/chunked.c \
	src/proto/chunked.h \
	src/proto/coding.c \
	src/proto/coding.h \
	src/proto/connect.c \
	src/proto/connect.h \
	src/proto/forward.c \
	src/proto/forward.h \
	src/proto/forward_via.c \
	src/proto/framing.c \
	src/proto/framing.h \
	src/proto/head.c \
	src/proto/head.h \
	src/proto/head_fields.c \
	src/proto/hello.c \
	src/proto/hello.h \
	src/proto/httpdate.c \
	src/proto/httpdate.h \
	src/proto/octet.c \
	src/proto/octet.h \
	src/proto/reply.c \
	src/proto/reply.h \
	src/proto/rewrite.c \
	src/proto/rewrite.h \
	src/proto/sse.c \
	src/proto/sse.h \
	src/proto/sfield.c \
	src/proto/sfield.h \
	src/proto/target.c \
	src/proto/target.h

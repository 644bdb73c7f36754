# SPDX-License-Identifier: MIT
TLS_FILES = \
	src/edge/ca.c src/edge/ca.h src/edge/ca_make.c \
	src/edge/cert.c src/edge/cert.h \
	src/edge/file_text.c src/edge/file_text.h \
	src/edge/leaf.c src/edge/leaf.h \
	src/edge/mint.c src/edge/mint.h \
	src/edge/tls.c src/edge/tls.h \
	src/edge/tls_cache.c src/edge/tls_cache.h \
	src/edge/tls_fault.c \
	src/edge/tls_set.c src/edge/tls_set.h \
	src/edge/tls_wire.c src/edge/tls_wire.h

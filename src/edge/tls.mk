# SPDX-License-Identifier: MIT
TLS_FILES = \
	src/edge/ca.c src/edge/ca.h \
	src/edge/mint.c src/edge/mint.h \
	src/edge/tls.h

# SPDX-License-Identifier: MIT
DIAL_FILES = \
	src/edge/dest.c src/edge/dest.h \
	src/edge/dial.c src/edge/dial.h \
	src/edge/dns.c src/edge/dns.h \
	src/edge/resolve.c src/edge/resolve.h \
	src/edge/resolve_addrs.c src/edge/resolve_addrs.h \
	src/edge/resolve_cache.c src/edge/resolve_cache.h \
	src/edge/resolve_name.c src/edge/resolve_name.h

# SPDX-License-Identifier: MIT
TLS_FILES = \
	src/edge/tls.h

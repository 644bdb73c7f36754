/* SPDX-License-Identifier: MIT */
/*
 * tls: one TLS connection (OpenSSL 3) on a socket of a chan, both roles. It
 * sees the socket through a BIO of its own, so that what a chan knows of it
 * (readable, writable, fin) stays true.
 *
 * A session is used by one thread only. SSL_CTX are made elsewhere: tls_set.h
 * for the files of the configuration, mint.h for intercepted hosts.
 */
#ifndef AB_TLS_H
#define AB_TLS_H

#include <openssl/ssl.h>

#include "base/span.h"

struct chan;
struct tls; /* opaque */

/* Why there is no TLS connection. */
enum tls_fault {
	TLS_FAULT_NONE,
	TLS_FAULT_LOST,        /* the peer closed or reset the connection */
	TLS_FAULT_CERTIFICATE, /* the peer's certificate does not verify */
	TLS_FAULT_ALERT,       /* the peer said why, in an alert */
	TLS_FAULT_PROTOCOL,    /* it speaks another TLS, or none */
	TLS_FAULT_MEMORY,
};

#endif

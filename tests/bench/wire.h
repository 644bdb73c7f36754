/* SPDX-License-Identifier: MIT */
/*
 * wire: a socket of the benchmark programs, plain or with TLS over it.
 *
 * Nobody's certificate is verified: both ends belong to one benchmark, which
 * measures what stands between them.
 */
#ifndef AB_BENCH_WIRE_H
#define AB_BENCH_WIRE_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "base/span.h"

struct wire {
	int fd;               /* owned; non-blocking */
	SSL *ssl;             /* owned; NULL: plain */
	SSL_SESSION *session; /* owned: the last that the server gave, or NULL;
	                         kept when the wire is closed */
};

/* A server's: its certificate and key are in a PEM file. Without tickets no
 * session can be taken up again. NULL: it can't be read; OpenSSL's queue of
 * errors says why. */
AB_MUST SSL_CTX *wire_server(const char *pem, bool tickets);
/* NULL: no memory. */
AB_MUST SSL_CTX *wire_client(void);

/* TLS begins. A client takes up w->session where there is one. -1: no
 * memory. */
AB_MUST int wire_secure(struct wire *w, SSL_CTX *ctx);
/* 1: the handshake is done; 0: more has to come; -1: it failed. */
AB_MUST int wire_shake(struct wire *w);
bool wire_resumed(const struct wire *w);

/* As recv and send: -1 with EAGAIN where it would block. */
ssize_t wire_recv(struct wire *w, void *p, size_t n);
ssize_t wire_send(struct wire *w, const struct iovec *v, int n);
/* More may be there that no event will tell of. */
bool wire_more(const struct wire *w);

void wire_close(struct wire *w);
/* With the session, for good. */
void wire_free(struct wire *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * tls: one TLS session (OpenSSL 3) on the socket of a chan, either role. It
 * sees the socket through a BIO of its own, so that what the chan knows of it
 * (readable, writable, fin) stays true, and so that a session can run within
 * another one: HTTPS through a proxy that is itself spoken to over TLS.
 *
 * A session is used by one thread only. SSL_CTX are made elsewhere: tls_set.h
 * for the files of the configuration, leaf.h for intercepted hosts.
 */
#ifndef AB_TLS_H
#define AB_TLS_H

#include <openssl/ssl.h>
#include <sys/uio.h>

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
	TLS_FAULT_HTTP,        /* a client speaks plain HTTP */
	TLS_FAULT_MEMORY,
};

/*
 * Options of every context: buffers are released while idle, writes may be
 * partial and move, no compression, no renegotiation (RFC 9325 3.3, 3.4), ALPN.
 * role: TLS_server_method() or TLS_client_method(). NULL: no memory.
 */
AB_MUST SSL_CTX *tls_context(const SSL_METHOD *role, int min_version);

/*
 * Begins a session on c, or within the one that c has. It belongs to c from
 * then on: chan_close frees it. 0, or -1: no memory, c is as it was.
 */
/* As server. early: bytes that were read before and belong to it. */
AB_MUST int tls_accept(struct chan *c, SSL_CTX *ctx, struct span early);
/*
 * As client. host: a DNS name or a literal address (without brackets); the
 * certificate must be for it (RFC 9525), and a name is sent as SNI. resume: a
 * session to take up, or NULL; a reference is taken.
 */
AB_MUST int tls_connect(struct chan *c, SSL_CTX *ctx, const char *host,
    SSL_SESSION *resume);
/* Whom the session callback of the context is for. */
void tls_set_owner(struct tls *t, void *owner);
void *tls_owner_of(const SSL *ssl);
/* For such a callback: a message came that is no part of the handshake. */
void tls_was_told(const SSL *ssl);

/* Goes on with the handshake. 0: it is done; CHAN_AGAIN; CHAN_ERROR: see
 * tls_fault_of. */
AB_MUST int tls_handshake(struct tls *t);
enum tls_fault tls_fault_of(const struct tls *t);
/* In a few words; static, never NULL. */
const char *tls_fault_text(const struct tls *t);
/* The alert that came (RFC 8446 6), or -1. */
int tls_alert_of(const struct tls *t);
bool tls_resumed(const struct tls *t);
/* The session that was taken up, where it may be taken up once more: before TLS
 * 1.3 no new one need come. A reference, or NULL. */
SSL_SESSION *tls_session_again(const struct tls *t);

/* What chan's functions do where there is a session; results as there. */
ssize_t tls_read(struct tls *t, void *p, size_t n);
ssize_t tls_writev(struct tls *t, const struct iovec *v, int n);
int tls_peek(struct tls *t);
/* Bytes that need no read of the socket may be there. */
bool tls_pending(const struct tls *t);
/* Says that nothing more comes (close_notify), also in those that it runs in.
 * False: the socket has no room for it; else it is said, or can't be. */
bool tls_shutdown(struct tls *t);
/* Nothing more may be said, not even that. */
void tls_cut(struct tls *t);
/* The handshake failed before a word of it was said: c is as without it. What
 * was read is lost. */
void tls_abandon(struct chan *c);
/* With those that it runs in. Takes NULL. */
void tls_free(struct tls *t);

#endif

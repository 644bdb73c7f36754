/* SPDX-License-Identifier: MIT */
/*
 * tls_rig: a chan that speaks TLS, and a peer that is OpenSSL alone: what each
 * of them sends is handed over by the test, as much at a time as it likes.
 *
 *	chan --- socketpair --- [wire] --- peer (memory BIOs)
 */
#ifndef AB_TLS_RIG_H
#define AB_TLS_RIG_H

#include "mint_rig.h"

#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "edge/chan.h"
#include "edge/mint.h"
#include "edge/outbuf.h"
#include "edge/tls.h"

#define RIG_HOST "api.test"
#define RIG_BYTES (64 * 1024) /* of one read */

struct rig {
	struct event_base *base;
	struct rig_ca ca;
	struct mint *mint;
	struct chan chan;
	unsigned calls; /* of `ready` */
	int wire;       /* the other end of its socket; -1: closed */
	SSL_CTX *client, *server;
	SSL *peer;
	char seen[RIG_BYTES];
};

static inline struct rig *
rig_of(struct chan *c)
{
	return AB_CONTAINER(c, struct rig, chan);
}

static inline void
rig_ready(struct chan *c)
{
	rig_of(c)->calls++;
}

static inline SSL_CTX *
rig_server_context(struct rig *r, const char *host)
{
	SSL_CTX *ctx = tls_context(TLS_server_method(), TLS1_2_VERSION);
	X509 *leaf = mint_leaf(r->mint, host, rig_now());

	assert_non_null(ctx);
	assert_non_null(leaf);
	assert_int_equal(SSL_CTX_use_certificate(ctx, leaf), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, mint_key(r->mint)), 1);
	X509_free(leaf);
	return ctx;
}

static inline SSL_CTX *
rig_client_context(struct rig *r)
{
	SSL_CTX *ctx = tls_context(TLS_client_method(), TLS1_2_VERSION);

	assert_non_null(ctx);
	assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx),
	    r->ca.cert), 1);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	return ctx;
}

static inline void
rig_open_chan(struct rig *r)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(chan_open(&r->chan, r->base, fd[0], rig_ready), 0);
	r->wire = fd[1];
	r->calls = 0;
}

static inline int
rig_setup(void **state)
{
	static const struct rig_ext exts[] = {RIG_CA_EXTS, {0, NULL}};
	struct rig *r = mem_must_zalloc(sizeof(*r));
	const char *why = "";

	r->base = event_base_new();
	assert_non_null(r->base);
	r->ca = rig_ca(EVP_EC_gen("P-256"), exts);
	r->mint = mint_new(r->ca.cert, r->ca.key, &why);
	if (!r->mint)
		fail_msg("no mint: %s", why);
	r->client = rig_client_context(r);
	r->server = rig_server_context(r, RIG_HOST);
	rig_open_chan(r);
	*state = r;
	return 0;
}

static inline void
rig_hang_up(struct rig *r)
{
	if (r->wire >= 0)
		close(r->wire);
	r->wire = -1;
}

static inline int
rig_teardown(void **state)
{
	struct rig *r = *state;

	chan_close(&r->chan);
	rig_hang_up(r);
	SSL_free(r->peer);
	SSL_CTX_free(r->client);
	SSL_CTX_free(r->server);
	mint_free(r->mint);
	rig_ca_free(&r->ca);
	event_base_free(r->base);
	mem_free(r);
	return 0;
}

/* What has become possible on the chan becomes known. */
static inline void
rig_turn(struct rig *r)
{
	assert_true(event_base_loop(r->base, EVLOOP_NONBLOCK) >= 0);
}

/* --- the wire -------------------------------------------------------------- */

/* From the peer's records to the socket, n bytes at most. */
static inline size_t
rig_deliver(struct rig *r, size_t n)
{
	BIO *out = SSL_get_wbio(r->peer);
	size_t got = 0;

	if (n > sizeof(r->seen))
		n = sizeof(r->seen);
	if (BIO_ctrl_pending(out) == 0 || r->wire < 0)
		return 0;
	assert_int_equal(BIO_read_ex(out, r->seen, n, &got), 1);
	assert_int_equal(send(r->wire, r->seen, got, MSG_NOSIGNAL), got);
	rig_turn(r);
	return got;
}

/* From the socket to the peer, n bytes at most. */
static inline size_t
rig_collect(struct rig *r, size_t n)
{
	ssize_t got;
	size_t done;

	if (n > sizeof(r->seen))
		n = sizeof(r->seen);
	got = r->wire < 0 ? -1 : recv(r->wire, r->seen, n, 0);
	if (got <= 0)
		return 0;
	assert_int_equal(BIO_write_ex(SSL_get_rbio(r->peer), r->seen,
	    (size_t)got, &done), 1);
	assert_int_equal(done, got);
	rig_turn(r);
	return (size_t)got;
}

/* All that there is, both ways. */
static inline size_t
rig_exchange(struct rig *r, size_t step)
{
	size_t sum = 0, n;

	do {
		n = rig_deliver(r, step);
		n += rig_collect(r, step);
		sum += n;
	} while (n > 0);
	return sum;
}

/* --- sessions --------------------------------------------------------------- */

static inline void
rig_peer(struct rig *r, bool server)
{
	SSL_free(r->peer);
	r->peer = SSL_new(server ? r->server : r->client);
	assert_non_null(r->peer);
	SSL_set_bio(r->peer, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	if (server) {
		SSL_set_accept_state(r->peer);
		return;
	}
	SSL_set_connect_state(r->peer);
	assert_int_equal(SSL_set1_host(r->peer, RIG_HOST), 1);
	assert_int_equal(SSL_set_tlsext_host_name(r->peer, RIG_HOST), 1);
}

/* The chan as client, or as server, and a peer for it. */
static inline void
rig_begin(struct rig *r, bool as_client)
{
	struct span none = {NULL, 0};

	rig_peer(r, as_client);
	if (as_client)
		assert_int_equal(
		    tls_connect(&r->chan, r->client, RIG_HOST, NULL), 0);
	else
		assert_int_equal(tls_accept(&r->chan, r->server, none), 0);
}

/* Both sides until the chan's is done: its result. step: bytes at a time. */
static inline int
rig_handshake(struct rig *r, size_t step)
{
	int res = CHAN_AGAIN;

	for (int idle = 0; idle < 3 && res == CHAN_AGAIN;) {
		res = tls_handshake(r->chan.tls);
		(void)SSL_do_handshake(r->peer);
		idle = rig_deliver(r, step) + rig_collect(r, step) == 0
		    ? idle + 1
		    : 0;
	}
	if (res == 0) {
		(void)rig_exchange(r, RIG_BYTES);
		(void)SSL_do_handshake(r->peer);
		(void)rig_exchange(r, RIG_BYTES);
	}
	ERR_clear_error();
	return res;
}

static inline void
rig_established(struct rig *r, bool as_client)
{
	rig_begin(r, as_client);
	assert_int_equal(rig_handshake(r, RIG_BYTES), 0);
	/* Tickets have been read. */
	assert_int_equal(chan_peek(&r->chan), CHAN_AGAIN);
	assert_true(SSL_is_init_finished(r->peer));
}

static inline ssize_t
rig_write(struct rig *r, const void *p, size_t n)
{
	struct iovec v = {(void *)p, n};

	return chan_writev(&r->chan, &v, 1);
}

static inline void
rig_peer_says(struct rig *r, const char *text)
{
	size_t done;

	assert_int_equal(SSL_write_ex(r->peer, text, strlen(text), &done), 1);
}

/* What the peer reads now; 0 and SSL_get_error in *ret_error. */
static inline size_t
rig_peer_reads(struct rig *r, void *p, size_t n, int *ret_error)
{
	size_t got = 0;
	int res;

	ERR_clear_error();
	res = SSL_read_ex(r->peer, p, n, &got);
	*ret_error = SSL_get_error(r->peer, res);
	ERR_clear_error();
	return res == 1 ? got : 0;
}

#endif

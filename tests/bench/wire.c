/* SPDX-License-Identifier: MIT */
/*
 * wire.c: bytes in and out of a socket, over TLS where that was begun.
 *
 * Decides what makes a benchmark's peers ordinary ones: an answer's head and
 * small body share a record, a close_notify ends each connection, the newest
 * session is the one that is taken up. Knows no HTTP.
 */
#include "wire.h"

#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECORD_MAX 16384

static SSL_CTX *
context(const SSL_METHOD *role)
{
	SSL_CTX *ctx = SSL_CTX_new(role);

	if (ctx == NULL)
		return NULL;
	(void)SSL_CTX_set_mode(ctx,
	    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(ctx, 1);
	(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	return ctx;
}

SSL_CTX *
wire_server(const char *pem, bool tickets)
{
	SSL_CTX *ctx = context(TLS_server_method());

	if (ctx == NULL)
		return NULL;
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	if (!tickets) {
		(void)SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
		(void)SSL_CTX_set_num_tickets(ctx, 0);
	}
	if (SSL_CTX_use_certificate_chain_file(ctx, pem) == 1 &&
	    SSL_CTX_use_PrivateKey_file(ctx, pem, SSL_FILETYPE_PEM) == 1)
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

static int
keep_session(SSL *ssl, SSL_SESSION *session)
{
	struct wire *w = SSL_get_app_data(ssl);

	SSL_SESSION_free(w->session);
	w->session = session;
	return 1;
}

SSL_CTX *
wire_client(void)
{
	SSL_CTX *ctx = context(TLS_client_method());

	if (ctx == NULL)
		return NULL;
	(void)SSL_CTX_set_session_cache_mode(ctx,
	    SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, keep_session);
	return ctx;
}

int
wire_secure(struct wire *w, SSL_CTX *ctx)
{
	w->ssl = SSL_new(ctx);
	if (w->ssl == NULL || SSL_set_fd(w->ssl, w->fd) != 1)
		return -1;
	SSL_set_app_data(w->ssl, w);
	if (SSL_is_server(w->ssl))
		SSL_set_accept_state(w->ssl);
	else
		SSL_set_connect_state(w->ssl);
	if (w->session != NULL && SSL_set_session(w->ssl, w->session) != 1)
		return -1;
	return 0;
}

/* What a call of OpenSSL that did not succeed means, as a system call would
 * say it. */
static int
outcome(struct wire *w, int rc)
{
	switch (SSL_get_error(w->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		ERR_clear_error();
		errno = EPROTO;
		return -1;
	}
}

int
wire_shake(struct wire *w)
{
	int rc = SSL_do_handshake(w->ssl);

	if (rc == 1)
		return 1;
	return outcome(w, rc) < 0 && errno == EAGAIN ? 0 : -1;
}

bool
wire_resumed(const struct wire *w)
{
	return SSL_session_reused(w->ssl);
}

ssize_t
wire_recv(struct wire *w, void *p, size_t n)
{
	size_t got;
	int rc;

	if (w->ssl == NULL)
		return recv(w->fd, p, n, 0);
	rc = SSL_read_ex(w->ssl, p, n, &got);
	return rc == 1 ? (ssize_t)got : outcome(w, rc);
}

/* As much of v as a record holds. */
static size_t
gather(const struct iovec *v, int n, char *buf)
{
	size_t have = 0;

	for (int i = 0; i < n && have < RECORD_MAX; i++) {
		size_t part = v[i].iov_len;

		if (part > RECORD_MAX - have)
			part = RECORD_MAX - have;
		if (part > 0)
			memcpy(buf + have, v[i].iov_base, part);
		have += part;
	}
	return have;
}

ssize_t
wire_send(struct wire *w, const struct iovec *v, int n)
{
	static char buf[RECORD_MAX];
	struct msghdr m = {.msg_iov = (struct iovec *)v,
	    .msg_iovlen = (size_t)n};
	size_t done;
	int rc;

	if (w->ssl == NULL)
		return sendmsg(w->fd, &m, MSG_NOSIGNAL);
	rc = SSL_write_ex(w->ssl, buf, gather(v, n, buf), &done);
	if (rc == 1)
		return (ssize_t)done;
	(void)outcome(w, rc);
	return -1;
}

bool
wire_more(const struct wire *w)
{
	return w->ssl != NULL && SSL_has_pending(w->ssl);
}

void
wire_close(struct wire *w)
{
	if (w->ssl != NULL && SSL_is_init_finished(w->ssl)) {
		(void)SSL_shutdown(w->ssl);
		ERR_clear_error();
	}
	SSL_free(w->ssl);
	w->ssl = NULL;
	(void)close(w->fd);
	w->fd = -1;
}

void
wire_free(struct wire *w)
{
	if (w->fd >= 0)
		wire_close(w);
	SSL_SESSION_free(w->session);
	w->session = NULL;
}

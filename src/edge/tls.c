/* SPDX-License-Identifier: MIT */
/*
 * tls decides how a session's needs (records, alerts, tickets) become reads and
 * writes of a chan. It refuses to know whose certificate is shown and which
 * authority is trusted: contexts say so.
 *
 *   chan -> tls (HTTPS of an intercepted host) -> tls (proxy over TLS) -> socket
 *
 * A write that the socket did not take must be repeated with the same bytes:
 * outbuf does, since it keeps what was not taken and sends it first.
 */
#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/mem.h"
#include "chan.h"
#include "tls_wire.h"

#define RECORD_MAX 16384 /* bytes of a record, RFC 8446 5.1 */

/* --- contexts and sessions ------------------------------------------------ */

static const unsigned char alpn_protos[] = "\x08http/1.1";

/* RFC 7301 3.2: a client that offers nothing we speak is told so. */
static int
alpn_select(SSL *ssl, const unsigned char **out, unsigned char *out_n,
    const unsigned char *in, unsigned int in_n, void *arg)
{
	unsigned char *found;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&found, out_n, alpn_protos,
		sizeof(alpn_protos) - 1, in, in_n) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

SSL_CTX *
tls_context(const SSL_METHOD *role, int min_version)
{
	SSL_CTX *ctx = SSL_CTX_new(role);

	if (!ctx)
		return NULL;
	SSL_CTX_set_mode(ctx,
	    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(ctx,
	    SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(ctx, alpn_select, NULL);
	if (SSL_CTX_set_min_proto_version(ctx, min_version) == 1 &&
	    SSL_CTX_set_alpn_protos(ctx, alpn_protos,
		sizeof(alpn_protos) - 1) == 0)
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

static struct tls *
session_new(struct chan *c, SSL_CTX *ctx)
{
	struct tls *t = mem_zalloc(sizeof(*t));
	BIO *b;

	if (!t)
		return NULL;
	t->chan = c;
	t->alert = -1;
	t->ssl = SSL_new(ctx);
	b = t->ssl ? tls_wire_new(t) : NULL;
	if (!b) {
		SSL_free(t->ssl);
		mem_free(t);
		ERR_clear_error();
		return NULL;
	}
	SSL_set_bio(t->ssl, b, b);
	SSL_set_app_data(t->ssl, t);
	return t;
}

static void
session_free(struct tls *t)
{
	SSL_free(t->ssl);
	mem_free(t->early);
	mem_free(t);
}

void
tls_free(struct tls *t)
{
	while (t) {
		struct tls *below = t->below;

		session_free(t);
		t = below;
	}
}

void
tls_abandon(struct chan *c)
{
	struct tls *t = c->tls;

	c->tls = t->below;
	session_free(t);
}

static void
adopt(struct chan *c, struct tls *t)
{
	t->below = c->tls;
	c->tls = t;
}

int
tls_accept(struct chan *c, SSL_CTX *ctx, struct span early)
{
	struct tls *t = session_new(c, ctx);

	if (!t)
		return -1;
	if (early.n) {
		t->early = mem_dup(early);
		t->early_n = early.n;
		if (!t->early) {
			session_free(t);
			return -1;
		}
	}
	SSL_set_accept_state(t->ssl);
	adopt(c, t);
	return 0;
}

static bool
is_address(const char *host)
{
	struct in6_addr a;

	return inet_pton(AF_INET, host, &a) == 1 ||
	    inet_pton(AF_INET6, host, &a) == 1;
}

/* Whom the certificate must be for. */
static int
expect_host(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	char name[256];
	size_t n = strlen(host);

	if (is_address(host))
		return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1 ? 0 : -1;
	if (n > 0 && host[n - 1] == '.')
		n--; /* RFC 6066 3: SNI has no trailing dot, nor has a SAN */
	if (n == 0 || n >= sizeof(name))
		return -1;
	memcpy(name, host, n);
	name[n] = '\0';
	/* RFC 9525 6.3: the subject's common name is no proof. */
	X509_VERIFY_PARAM_set_hostflags(param,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
		X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set1_host(ssl, name) == 1 &&
		SSL_set_tlsext_host_name(ssl, name) == 1
	    ? 0
	    : -1;
}

int
tls_connect(struct chan *c, SSL_CTX *ctx, const char *host, SSL_SESSION *resume)
{
	struct tls *t = session_new(c, ctx);

	if (!t)
		return -1;
	if (expect_host(t->ssl, host) < 0 ||
	    (resume && SSL_set_session(t->ssl, resume) != 1)) {
		session_free(t);
		ERR_clear_error();
		return -1;
	}
	SSL_set_connect_state(t->ssl);
	adopt(c, t);
	return 0;
}

void
tls_set_owner(struct tls *t, void *owner)
{
	t->owner = owner;
}

void *
tls_owner_of(const SSL *ssl)
{
	return ((struct tls *)SSL_get_app_data(ssl))->owner;
}

void
tls_was_told(const SSL *ssl)
{
	((struct tls *)SSL_get_app_data(ssl))->told = true;
}

bool
tls_resumed(const struct tls *t)
{
	return SSL_session_reused(t->ssl);
}

SSL_SESSION *
tls_session_again(const struct tls *t)
{
	if (!SSL_session_reused(t->ssl) ||
	    SSL_version(t->ssl) >= TLS1_3_VERSION)
		return NULL;
	return SSL_get1_session(t->ssl);
}

/* --- bytes ---------------------------------------------------------------- */

static bool
wants_more(const struct tls *t, int res)
{
	int err = SSL_get_error(t->ssl, res);

	return err == SSL_ERROR_WANT_READ || err == SSL_ERROR_WANT_WRITE;
}

int
tls_handshake(struct tls *t)
{
	int res;

	t->taken = 0;
	ERR_clear_error();
	res = SSL_do_handshake(t->ssl);
	if (res == 1)
		return 0;
	if (wants_more(t, res))
		return CHAN_AGAIN;
	tls_find_fault(t);
	return CHAN_ERROR;
}

/* A read or write failed for good; errno as a socket would set it. */
static int
broke(struct tls *t)
{
	t->broken = true;
	/* In TLS 1.3 a server looks at the client's certificate when for the
	 * client the handshake is done. */
	if (SSL_version(t->ssl) >= TLS1_3_VERSION)
		(void)tls_find_alert(t, ERR_peek_last_error());
	ERR_clear_error();
	errno = ECONNRESET;
	return CHAN_ERROR;
}

/* After SSL_read or SSL_peek gave nothing. A stream that ends without a
 * close_notify has been cut, perhaps by somebody in between (RFC 8446 6.1). */
static int
read_result(struct tls *t, int res)
{
	if (wants_more(t, res))
		return CHAN_AGAIN;
	if (SSL_get_error(t->ssl, res) == SSL_ERROR_ZERO_RETURN)
		return 0;
	return broke(t);
}

/*
 * For each message after the handshake OpenSSL takes a buffer for writing, of
 * more than 16 KB, and keeps it until something is written. To write nothing is
 * enough (SSL_write(3)), where nothing is half written.
 */
static void
release(struct tls *t)
{
	size_t none;

	if (!t->told || t->blocked || t->broken)
		return;
	t->told = false;
	if (SSL_write_ex(t->ssl, "", 0, &none) != 1)
		ERR_clear_error();
}

static ssize_t
take(struct tls *t, int (*how)(SSL *, void *, size_t, size_t *), void *p,
    size_t n)
{
	ssize_t out;
	size_t got;
	int res;

	if (t->broken)
		return broke(t);
	t->taken = 0;
	ERR_clear_error();
	res = how(t->ssl, p, n, &got);
	out = res == 1 ? (ssize_t)got : read_result(t, res);
	release(t);
	return out;
}

ssize_t
tls_read(struct tls *t, void *p, size_t n)
{
	return take(t, SSL_read_ex, p, n);
}

int
tls_peek(struct tls *t)
{
	char byte;

	return (int)take(t, SSL_peek_ex, &byte, 1);
}

bool
tls_pending(const struct tls *t)
{
	return t->early || SSL_has_pending(t->ssl) ||
	    (t->below && tls_pending(t->below));
}

/* The socket took no more, or the session is no good. In the first case what
 * the peer said before may be read: why it wants no more, perhaps. */
static int
write_failed(struct tls *t)
{
	if (!t->mute)
		return broke(t);
	ERR_clear_error();
	errno = ECONNRESET;
	return CHAN_ERROR;
}

/* The next record's worth of v[i ...] from `skip` on: in place where one part
 * has it all, else put together in buf. */
static struct span
gather(const struct iovec *v, int n, size_t skip, char *buf)
{
	size_t have = 0;

	while (n > 0 && skip >= v->iov_len) {
		skip -= v->iov_len;
		v++;
		n--;
	}
	if (n == 1 || (n > 0 && v->iov_len - skip >= RECORD_MAX)) {
		have = v->iov_len - skip;
		return (struct span){(char *)v->iov_base + skip,
		    have < RECORD_MAX ? have : RECORD_MAX};
	}
	for (; n > 0 && have < RECORD_MAX; v++, n--, skip = 0) {
		size_t part = v->iov_len - skip;

		if (part > RECORD_MAX - have)
			part = RECORD_MAX - have;
		memcpy(buf + have, (char *)v->iov_base + skip, part);
		have += part;
	}
	return (struct span){buf, have};
}

ssize_t
tls_writev(struct tls *t, const struct iovec *v, int n)
{
	static _Thread_local char buf[RECORD_MAX];
	size_t want = 0, done = 0, part;

	if (t->broken || t->mute)
		return write_failed(t);
	t->taken = 0;
	for (int i = 0; i < n; i++)
		want += v[i].iov_len;
	while (done < want) {
		struct span s = gather(v, n, done, buf);
		int res;

		ERR_clear_error();
		res = SSL_write_ex(t->ssl, s.p, s.n, &part);
		t->blocked = res != 1;
		if (res == 1) {
			done += part;
			continue;
		}
		/* WANT_READ: half of a ticket, or of new keys, has come. */
		if (wants_more(t, res) || (write_failed(t) && done > 0))
			break;
		return CHAN_ERROR;
	}
	return (ssize_t)done;
}

/* False: it waits for room. */
static bool
say_goodbye(struct tls *t)
{
	int res, sent = SSL_get_shutdown(t->ssl) & SSL_SENT_SHUTDOWN;

	if (t->broken || t->mute || !SSL_is_init_finished(t->ssl) ||
	    (sent && !t->ending))
		return true;
	ERR_clear_error();
	res = SSL_shutdown(t->ssl);
	t->ending =
	    res < 0 && SSL_get_error(t->ssl, res) == SSL_ERROR_WANT_WRITE;
	ERR_clear_error();
	return !t->ending;
}

void
tls_cut(struct tls *t)
{
	for (; t; t = t->below)
		t->mute = true;
}

bool
tls_shutdown(struct tls *t)
{
	for (; t; t = t->below)
		if (!say_goodbye(t))
			return false;
	return true;
}

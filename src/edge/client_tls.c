/* SPDX-License-Identifier: MIT */
/*
 * client_tls decides what follows a CONNECT that is intercepted: a TLS
 * handshake in which we are that server, plain HTTP, or an end that says why.
 * It refuses to know which hosts are intercepted (intake) and what a
 * certificate says (leaf, mint).
 *
 *   HEAD -> HELLO -> TLS -> HEAD ...        a tls: listener: TLS -> HEAD ...
 *              \---> HEAD ...  (plain HTTP, on another port than 443)
 */
#include <ctype.h>

#include "access.h"
#include "base/mem.h"
#include "client.h"
#include "leaf.h"
#include "message.h"
#include "proto/reply.h"

#define TLS_HANDSHAKE 22 /* a record's first byte, RFC 8446 5.1 */
#define HELLO_BYTES 512  /* of a first read */

/* What clients say that do not trust the CA: RFC 8446 6.2. */
static bool
is_distrust(int alert)
{
	return alert == SSL_AD_BAD_CERTIFICATE || alert == SSL_AD_UNKNOWN_CA ||
	    alert == SSL_AD_CERTIFICATE_UNKNOWN;
}

/* Nothing can be answered: the log says why it ended. */
static void
client_tls_over(struct client *c, const char *text)
{
	access_no_tls(c, text);
	client_lost(c);
}

static struct client_inner *
inner_new(struct span host, uint16_t port)
{
	struct client_inner *inner;

	if (host.n && host.p[host.n - 1] == '.')
		host.n--;
	inner = mem_zalloc(sizeof(*inner) + host.n + 1);
	if (!inner)
		return NULL;
	inner->port = port;
	for (size_t i = 0; i < host.n; i++)
		inner->host[i] = (char)tolower((unsigned char)host.p[i]);
	return inner;
}

/* Says that the tunnel stands. -1: the client is lost. */
static int
client_say_open(struct client *c)
{
	struct strbuf *text = &c->worker->text;
	struct iovec v;

	strbuf_clear(text);
	strbuf_lit(text, "HTTP/1.1 200 Connection established\r\nVia: 1.1 ");
	strbuf_span(text, c->worker->proc->via_span);
	strbuf_lit(text, "\r\nProxy-Status: ");
	reply_proxy_status(text, NULL, 0, SPAN("intercepted"));
	strbuf_lit(text, "\r\n\r\n");
	v = (struct iovec){text->p, text->n};
	if (!text->failed)
		return client_send(c, &v, 1);
	client_lost(c);
	return -1;
}

void
client_intercept(struct client *c, struct span host, uint16_t port)
{
	mem_free(c->inner);
	c->inner = inner_new(host, port);
	if (!c->inner) {
		client_lost(c);
		return;
	}
	access_intercepted(c);
	c->state = CLIENT_HELLO;
	if (!c->redirect && client_say_open(c) < 0)
		return;
	client_timer(c, client_policy(c)->head_timeout_ms);
	if (c->state == CLIENT_HELLO && outbuf_empty(&c->out))
		client_read_hello(c);
}

/* HTTP where TLS was due: a client that is set up wrongly, and can be told. */
static void
client_plain_on_443(struct client *c)
{
	struct refusal why = {
	    .status = 400,
	    .why = GIVE_UP_BAD_REQUEST,
	    .detail = "Plain HTTP came through a tunnel to port 443, where TLS "
		      "is spoken: ask for an https:// URL.",
	};

	c->close = true;
	client_refuse_unread(c, &why);
}

void
client_read_hello(struct client *c)
{
	char buf[HELLO_BYTES];
	SSL_CTX *ctx;
	ssize_t got;

	if (c->in_n == 0) {
		got = chan_read(&c->chan, buf, sizeof(buf));
		if (got == CHAN_AGAIN)
			return;
		if (got <= 0) {
			client_lost(c);
			return;
		}
		if (client_stash(c, buf, (size_t)got) < 0) {
			client_lost(c);
			return;
		}
	}
	if (c->in[0] == TLS_HANDSHAKE) {
		struct worker *w = c->worker;

		c->inner->tls = true;
		ctx = w->conf->tls && w->conf->tls->mint
		    ? leafs_get(&w->leafs, w->conf->tls, &w->proc->hash,
			  c->inner->host, clock_wall_ms() / 1000)
		    : NULL;
		if (ctx)
			client_begin_tls(c, ctx);
		else
			client_tls_over(c,
			    "no certificate could be made for this host: see abidectl ca show");
	} else if (!isupper((unsigned char)c->in[0])) {
		client_tls_over(c, "neither TLS nor HTTP came");
	} else if (c->inner->port == 443) {
		client_plain_on_443(c);
	} else {
		c->state = CLIENT_HEAD;
		client_read_head(c);
	}
}

void
client_begin_tls(struct client *c, SSL_CTX *ctx)
{
	struct span early = {c->in, c->in_n};

	if (tls_accept(&c->chan, ctx, early) < 0 ||
	    client_stash(c, NULL, 0) < 0) {
		client_lost(c);
		return;
	}
	if (c->inner)
		tls_set_owner(c->chan.tls, c->inner->host);
	c->state = CLIENT_TLS;
	client_handshake(c);
}

/* A proxy's URL with http:// where the listener wants https:// in it. OpenSSL
 * has seen that much and said nothing yet, so the answer can be read. */
static void
client_plain_on_listener(struct client *c)
{
	struct refusal why = {
	    .status = 400,
	    .why = GIVE_UP_CLIENT_TLS,
	    .detail = "Plain HTTP came to a listener where TLS is spoken: "
		      "write https:// in the URL of this proxy.",
	};

	tls_abandon(&c->chan);
	c->close = true;
	client_refuse_unread(c, &why);
}

void
client_handshake(struct client *c)
{
	int res = tls_handshake(c->chan.tls);

	if (res == CHAN_AGAIN)
		return;
	if (res == 0) {
		c->state = CLIENT_HEAD;
		client_timer(c, client_policy(c)->head_timeout_ms);
		if (c->state == CLIENT_HEAD)
			client_read_head(c);
		return;
	}
	if (tls_fault_of(c->chan.tls) == TLS_FAULT_HTTP && !c->inner) {
		client_plain_on_listener(c);
		return;
	}
	client_tls_over(c,
	    is_distrust(tls_alert_of(c->chan.tls))
		? "the client does not trust the CA: install it there, or set "
		  "tls = tunnel for this host"
		: tls_fault_text(c->chan.tls));
}

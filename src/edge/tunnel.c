/* SPDX-License-Identifier: MIT */
/*
 * tunnel decides when a side is read: only while the other one has taken all
 * that came before. It refuses to know what passes.
 */
#include "tunnel.h"

#include <errno.h>

#include "client.h"
#include "message.h"
#include "relay.h"

#define TUNNEL_READS_MAX 16 /* of one side in one go; then the others' turn */

static void
tunnel_over(struct exchange *x)
{
	struct upstream *u = x->up;
	struct client *c = x->client;

	x->up = NULL;
	if (u) {
		u->x = NULL;
		upstream_close(u);
	}
	/* An end that came from the upstream has been passed on. And its unread
	 * bytes must not draw a RST that overtakes what it got. */
	if (c) {
		chan_cut(&c->chan);
		c->close = true;
		client_done(c, true);
	}
	request_closed(&x->r);
}

/* A side that takes no more ends the way there, not the way back: what it said
 * before may still have to be passed on. */
static int
way_blocked(void)
{
	return errno == ENOMEM ? -1 : 1;
}

/* One way. 0: wait; 1: it has ended; -1: broken, as all is. */
static int
tunnel_way(struct exchange *x, struct chan *from, struct chan *to,
    struct outbuf *out, uint64_t *count)
{
	char *buf = x->worker->scratch;
	struct iovec v;
	ssize_t got;
	size_t moved;

	for (int i = 0; i < TUNNEL_READS_MAX; i++) {
		if (outbuf_flush(out, to, &moved) < 0)
			return way_blocked();
		if (moved)
			request_progress(&x->r);
		if (!outbuf_empty(out))
			return 0;
		got = chan_read(from, buf, WORKER_SCRATCH);
		if (got == CHAN_AGAIN)
			return 0;
		if (got < 0)
			return -1;
		if (got == 0) {
			chan_shutdown(to);
			return 1;
		}
		*count += (uint64_t)got;
		request_progress(&x->r);
		v = (struct iovec){buf, (size_t)got};
		if (outbuf_send(out, to, &v, 1) < 0)
			return way_blocked();
	}
	worker_again(x->worker, &x->up->again, upstream_look_again);
	return 0;
}

void
tunnel_pump(struct exchange *x)
{
	struct upstream *u = x->up;
	struct client *c = x->client;
	int res = 0;

	if (!x->up_ended)
		res = tunnel_way(x, &c->chan, &u->chan, &u->out, &x->bytes_in);
	if (res > 0)
		x->up_ended = true;
	if (res >= 0 && !x->down_ended)
		res = tunnel_way(x, &u->chan, &c->chan, &c->out, &x->bytes_out);
	if (res > 0)
		x->down_ended = true;
	if (res < 0 || (x->up_ended && x->down_ended))
		tunnel_over(x);
}

/* What the client sent behind its head goes first. */
static void
tunnel_open(struct exchange *x)
{
	struct upstream *u = x->up;
	struct client *c = x->client;
	struct iovec v = {c->in, c->in_n};

	x->tunnel = true;
	u->state = UPSTREAM_TUNNEL;
	request_tunnel(&x->r);
	x->bytes_in += c->in_n;
	if (c->in_n && outbuf_send(&u->out, &u->chan, &v, 1) < 0) {
		tunnel_over(x);
		return;
	}
	c->in_n = 0;
	tunnel_pump(x);
}

void
tunnel_connect(struct exchange *x)
{
	struct strbuf *text = &x->worker->text;
	struct iovec v;

	x->final_status = 200;
	if (x->blind) {
		tunnel_open(x);
		return;
	}
	strbuf_clear(text);
	strbuf_lit(text, "HTTP/1.1 200 Connection established\r\nVia: 1.1 ");
	strbuf_span(text, x->worker->proc->via_span);
	strbuf_lit(text, "\r\nProxy-Status: ");
	message_proxy_status(text, x, 0);
	strbuf_lit(text, "\r\n\r\n");
	v = (struct iovec){text->p, text->n};
	if (text->failed) {
		tunnel_over(x);
		return;
	}
	if (client_send(x->client, &v, 1) == 0)
		tunnel_open(x);
}

void
tunnel_upgrade(struct exchange *x, struct span rest)
{
	struct iovec v = {(char *)rest.p, rest.n};

	if (relay_flush(x) < 0)
		return;
	x->bytes_out += rest.n;
	if (rest.n && client_send(x->client, &v, 1) < 0)
		return;
	tunnel_open(x);
}

/* SPDX-License-Identifier: MIT */
/*
 * send decides which bytes of a request come next. It refuses to know whether
 * this is the first try: the stored bytes are the same each time.
 *
 *   head | stored body, from 0 | `rest`, then live from the client (`once`)
 *
 * Each piece is handed to u->out, which keeps what the socket does not take;
 * nothing more is handed over until that has gone.
 */
#include "send.h"

#include <errno.h>

#include "client.h"

/* Head; chunk line, data, CRLF; last chunk, trailer, CRLF. */
#define PARTS_MAX 7

struct parts {
	struct iovec v[PARTS_MAX];
	int n;
	char line[24];
};

static void
part(struct parts *ps, const void *p, size_t n)
{
	if (n)
		ps->v[ps->n++] = (struct iovec){(void *)p, n};
}

static void
part_data(struct parts *ps, const struct exchange *x, struct span s)
{
	if (s.n == 0)
		return;
	if (!x->chunk_out) {
		part(ps, s.p, s.n);
		return;
	}
	part(ps, ps->line,
	    (size_t)snprintf(ps->line, sizeof(ps->line), "%zx\r\n", s.n));
	part(ps, s.p, s.n);
	part(ps, "\r\n", 2);
}

static void
part_end(struct parts *ps, const struct exchange *x)
{
	const struct body *b = &x->r.body;

	if (!x->chunk_out)
		return;
	if (b->trailer_bytes == 0) {
		part(ps, "0\r\n\r\n", 5);
		return;
	}
	part(ps, "0\r\n", 3);
	part(ps, b->trailer, b->trailer_bytes);
	part(ps, "\r\n", 2);
}

/* The connection takes no more: perhaps an answer says why. */
static void
send_broken(struct upstream *u)
{
	u->keep = false;
	u->send_broken = true;
	u->chan.readable = true;
	upstream_resume(u);
}

/* The next piece of the body. 0, or -1: the file can't be read. */
static int
send_data(struct upstream *u, struct parts *ps, bool *ret_rest)
{
	struct exchange *x = u->x;
	struct worker *w = u->worker;
	struct span s = {NULL, 0};

	*ret_rest = false;
	if (!x->r.has_body)
		return 0;
	if (u->body_at < x->r.body.bytes) {
		if (body_at(&x->r.body, &w->engine, u->body_at, w->scratch_out,
			WORKER_SCRATCH, &s) < 0)
			return -1;
		u->body_at += s.n;
		part_data(ps, x, s);
	} else if (!outbuf_empty(&x->rest)) {
		s = (struct span){x->rest.p + x->rest.at,
		    x->rest.n - x->rest.at};
		part_data(ps, x, s);
		*ret_rest = true;
	}
	return 0;
}

/* Hands the next piece over. False: there is none now, or it broke. */
static bool
send_piece(struct upstream *u)
{
	struct exchange *x = u->x;
	struct parts ps = {.n = 0};
	bool rest;
	int res;

	if (u->body_ended || u->send_broken)
		return false;
	if (u->head_at == 0)
		part(&ps, x->send.p, x->send.n);
	u->head_at = x->send.n;
	if (send_data(u, &ps, &rest) < 0) {
		upstream_close(u);
		request_give_up(&x->r, 502, GIVE_UP_SPILL);
		return false;
	}
	if (!x->r.has_body ||
	    (x->r.body.complete && u->body_at >= x->r.body.bytes &&
		(rest || outbuf_empty(&x->rest)))) {
		part_end(&ps, x);
		u->body_ended = true;
	}
	if (ps.n == 0)
		return false;
	res = outbuf_send(&u->out, &u->chan, ps.v, ps.n);
	/* A connection that takes nothing at all has got nothing. */
	if (res == 0 || errno == ENOMEM)
		u->sent_any = true;
	if (rest && u->sent_any)
		outbuf_free(&x->rest);
	if (res < 0) {
		send_broken(u);
		return false;
	}
	x->r.starved = false;
	request_progress(&x->r);
	return true;
}

void
upstream_send(struct upstream *u)
{
	struct exchange *x = u->x;
	size_t moved;

	if (u->state != UPSTREAM_BUSY || u->sent_all || u->send_broken)
		return;
	do {
		if (outbuf_flush(&u->out, &u->chan, &moved) < 0) {
			send_broken(u);
			return;
		}
		if (moved)
			request_progress(&x->r);
		if (!outbuf_empty(&u->out))
			return;
		if (u->body_ended) {
			u->sent_all = true;
			request_sent(&x->r);
			return;
		}
	} while (send_piece(u));
	/* All that is there has gone: the client may send more of a body that
	 * was too large to keep. */
	if (u->x == x && !u->send_broken && x->r.body.once != BODY_WHOLE &&
	    x->client) {
		x->r.starved = true;
		client_read_body(x->client);
	}
}

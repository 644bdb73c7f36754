/* SPDX-License-Identifier: MIT */
/*
 * client_body decides how much of a request's body is read, and where the
 * decoded bytes go: into the replay buffer while the request is READING, and
 * what finds no place there upstream, piece by piece, once an attempt is on.
 */
#include "base/mem.h"
#include "client.h"
#include "send.h"

#define READS_MAX 16 /* of one body in one go; then the others' turn */

/* Decoded body bytes: stored for replay, or kept to be streamed. */
static int
client_body_data(struct exchange *x, struct span s)
{
	struct request *r = &x->r;
	struct body_cfg cfg = {
	    .memory_bytes = r->policy->body_buffer_bytes,
	    .spill_bytes = r->policy->body_spill_bytes,
	};
	size_t done = 0;

	x->bytes_in += s.n;
	if (r->body.once == BODY_WHOLE)
		done = body_append(&r->body, r->engine, &cfg, s.p, s.n);
	return outbuf_put(&x->rest, s.p + done, s.n - done);
}

/* 0: go on; else the status to refuse with. *ret_used of p[0, n). */
static int
client_body_chunks(struct client *c, const char *p, size_t n, size_t *ret_used)
{
	struct exchange *x = c->x;
	const char *why;
	struct span data;
	size_t used;

	*ret_used = 0;
	for (;;) {
		switch (chunked_next(&c->chunked, p + *ret_used, n - *ret_used,
		    &used, &data, &why)) {
		case CHUNKED_MORE:
			*ret_used += used;
			return 0;
		case CHUNKED_DATA:
			*ret_used += used;
			if (client_body_data(x, data) < 0)
				return 503;
			break;
		case CHUNKED_DONE:
			*ret_used += used;
			x->r.body.complete = true;
			if (c->chunked.trailer.n == 0 || x->no_trailer)
				return 0;
			x->r.body.trailer =
			    mem_dup(strbuf_view(&c->chunked.trailer));
			x->r.body.trailer_bytes = c->chunked.trailer.n;
			return x->r.body.trailer ? 0 : 503;
		case CHUNKED_BAD:
			return chunked_no_memory(&c->chunked) ? 503 : 400;
		}
	}
}

static int
client_body_feed(struct client *c, const char *p, size_t n, size_t *ret_used)
{
	struct exchange *x = c->x;

	if (x->body.kind == FRAMING_CHUNKED)
		return client_body_chunks(c, p, n, ret_used);
	if (n > c->body_left)
		n = (size_t)c->body_left;
	c->body_left -= n;
	*ret_used = n;
	if (client_body_data(x, (struct span){p, n}) < 0)
		return 503;
	if (c->body_left == 0)
		x->r.body.complete = true;
	return 0;
}

/* Whether the body's next bytes have somewhere to go. */
bool
client_body_wanted(const struct client *c)
{
	const struct exchange *x = c->x;

	if (c->state != CLIENT_BUSY || !x || !x->r.has_body ||
	    x->r.body.complete)
		return false;
	if (x->r.state == REQUEST_READING)
		return true;
	return x->r.state >= REQUEST_SENDING &&
	    x->r.state <= REQUEST_RELAYING && x->up && outbuf_empty(&x->rest);
}

/* What has been read goes on: to the engine once, or to the upstream. */
static void
client_body_step(struct exchange *x)
{
	struct request *r = &x->r;

	if (r->state != REQUEST_READING) {
		if (x->up)
			upstream_send(x->up);
		return;
	}
	if (r->body.once != BODY_WHOLE)
		request_body_over(r);
	else if (r->body.complete)
		request_body_done(r);
}

/* The body can't be taken: an answer where there is none yet, else a cut. */
static void
client_body_bad(struct client *c, int status)
{
	struct request *r = &c->x->r;

	c->close = true;
	if (r->state >= REQUEST_RELAYING)
		client_lost(c);
	else
		request_give_up(r, status,
		    status == 503 ? GIVE_UP_MEMORY : GIVE_UP_BAD_REQUEST);
}

/* One read's worth. False: nothing more now, or it is over. */
static bool
client_body_read(struct client *c)
{
	struct exchange *x = c->x;
	const char *p = c->in;
	size_t used, n = c->in_n;
	ssize_t got;
	int bad;

	if (n == 0) {
		p = c->worker->scratch;
		got = chan_read(&c->chan, c->worker->scratch, WORKER_SCRATCH);
		if (got == CHAN_AGAIN)
			return false;
		if (got <= 0) {
			client_lost(c);
			return false;
		}
		n = (size_t)got;
	}
	bad = client_body_feed(c, p, n, &used);
	if (bad == 0 && client_stash(c, p + used, n - used) < 0)
		bad = 503;
	if (bad) {
		client_body_bad(c, bad);
		return false;
	}
	client_body_step(x);
	return c->x == x;
}

void
client_read_body(struct client *c)
{
	struct exchange *x = c->x;

	/* What is read may ask for more: this loop is what gives it. */
	if (c->reading)
		return;
	c->reading = true;
	for (int i = 0; client_body_wanted(c) && client_body_read(c); i++)
		if (i >= READS_MAX) {
			worker_again(c->worker, &c->again, client_look_again);
			break;
		}
	c->reading = false;
	if (c->x == x && client_body_wanted(c))
		client_timer(c, client_policy(c)->idle_timeout_ms);
}

/* SPDX-License-Identifier: MIT */
/*
 * receive decides what the bytes from an origin are: part of a head, of a body
 * that is relayed or thrown away. It refuses to know what follows from an
 * answer (engine/flow) and how its body is framed for the client (relay).
 */
#include "base/mem.h"
#include "client.h"
#include "parent.h"
#include "proto/forward.h"
#include "relay.h"
#include "tunnel.h"

#define READS_MAX 16 /* of one connection in one go; then the others' turn */

static const struct head_limits upstream_limits = {
    .head_bytes = 64 * 1024,
    .line_bytes = 16 * 1024,
    .fields = HEAD_FIELDS_MAX,
};

/* Whether the connection can serve again, and for how long it may idle. */
static void
upstream_note_keep(struct upstream *u, const struct head *h)
{
	int64_t idle_ms = u->x->r.policy->idle_timeout_ms;
	int64_t told_s = head_keep_alive_timeout_s(h);

	u->keep = !head_list_has(h, FIELD_CONNECTION, SPAN("close")) &&
	    (h->minor == 1 ||
		head_list_has(h, FIELD_CONNECTION, SPAN("keep-alive")));
	if (u->framing.kind == FRAMING_CLOSE ||
	    u->framing.kind == FRAMING_TUNNEL)
		u->keep = false;
	u->keep_ms = idle_ms;
	/* Half a second less than it says: ours may be on the way when the
	 * server gives up. */
	if (told_s >= 0 && told_s < idle_ms / 1000)
		u->keep_ms = told_s * 1000 - 500;
}

/* A 1xx: kept until it is known that this attempt is the last. 100 is ours. */
static bool
upstream_interim(struct upstream *u, const struct head *h)
{
	struct forward_response how = {.via = u->worker->proc->via_span};
	size_t before = u->held.n;

	if (++u->interims > UPSTREAM_INTERIM_MAX)
		return false;
	if (h->status == 100 || u->x->http10)
		return true;
	forward_response_head(&u->held, h, &how, -1);
	/* One that finds no room is left out whole. */
	if (u->held.failed) {
		u->held.n = before;
		u->held.failed = false;
	}
	return true;
}

/* A final head. False: it can't be used, and the attempt has failed. */
static bool
upstream_usable(struct upstream *u, const struct head *h)
{
	struct exchange *x = u->x;
	const char *why;

	/* The client could do nothing about it: it is the proxy's word to us
	 * (RFC 9110 11.7.1). */
	if (x->parent && !x->tls && h->status == 407) {
		parent_unauthorized(u);
		return false;
	}
	if (framing_response(h, x->method, &u->framing, &why) < 0 ||
	    (u->framing.kind == FRAMING_TUNNEL && !x->upgrade)) {
		upstream_fail(u, ATTEMPT_BAD_RESPONSE);
		return false;
	}
	return true;
}

/* A hint counts from here, not from the start of this turn. */
static void
upstream_judge(struct upstream *u, const struct head *h,
    const struct body_view *body)
{
	u->got_head = true;
	u->left = u->framing.kind == FRAMING_LENGTH ? u->framing.length : 0;
	u->no_trailer = forward_names_fields(h);
	if (u->framing.kind == FRAMING_CHUNKED)
		chunked_init(&u->chunked, true);
	upstream_note_keep(u, h);
	worker_now(u->worker);
	request_got_head(&u->x->r, h, body, u->served > 0);
}

/* Body bytes that nobody wants. Returns those used, or -1: closed. */
static ssize_t
upstream_drain(struct upstream *u, const char *p, size_t n, bool *ret_done)
{
	size_t used = 0, step;
	struct span data;
	const char *why;

	*ret_done = false;
	u->drained += n;
	if (u->framing.kind == FRAMING_CHUNKED) {
		for (;;) {
			enum chunked_result res;

			res = chunked_next(&u->chunked, p + used, n - used,
			    &step, &data, &why);
			used += step;
			if (res == CHUNKED_DATA)
				continue;
			*ret_done = res == CHUNKED_DONE;
			if (res == CHUNKED_BAD)
				u->drained = UINT64_MAX;
			break;
		}
	} else {
		used = n > u->left ? (size_t)u->left : n;
		u->left -= used;
		*ret_done = u->left == 0;
	}
	if (!*ret_done && u->drained > UPSTREAM_DRAIN_BYTES) {
		upstream_close(u);
		return -1;
	}
	return (ssize_t)used;
}

/* Bytes of the body, behind a head that has been judged. */
static ssize_t
upstream_body(struct upstream *u, const char *p, size_t n)
{
	bool done = false;
	ssize_t used;

	if (u->state == UPSTREAM_BUSY && u->framing.kind == FRAMING_TUNNEL) {
		tunnel_upgrade(u->x, (struct span){p, n});
		return (ssize_t)n;
	}
	used = u->state == UPSTREAM_BUSY ? relay_feed(u, p, n, &done)
					 : upstream_drain(u, p, n, &done);
	if (used < 0 || !done)
		return used;
	if ((size_t)used < n)
		u->keep = false; /* more than it promised */
	if (u->state == UPSTREAM_BUSY)
		relay_end(u);
	else
		upstream_drained(u);
	return -1;
}

/* Room for `cap` bytes of an incomplete head. */
int
upstream_room(struct upstream *u, size_t cap)
{
	char *q;

	if (cap <= u->in_cap)
		return 0;
	q = mem_realloc(u->in, cap);
	if (!q)
		return -1;
	u->in = q;
	u->in_cap = cap;
	return 0;
}

static int
upstream_stash(struct upstream *u, const char *p, size_t n)
{
	if (p >= u->in && p < u->in + u->in_cap) {
		memmove(u->in, p, n);
	} else {
		if (upstream_room(u, n < 1024 ? 1024 : n) < 0)
			return -1;
		memcpy(u->in, p, n);
	}
	u->in_n = n;
	return 0;
}

static bool
has_body(const struct framing *f)
{
	return f->kind == FRAMING_CHUNKED || f->kind == FRAMING_CLOSE ||
	    (f->kind == FRAMING_LENGTH && f->length > 0);
}

/* The head in u->in, again: spans of it did not live through the wait. */
static size_t
upstream_peeked(struct upstream *u)
{
	struct peek *p = u->peek;
	struct body_view body = peek_view(p);
	struct head *h = &u->worker->head;
	struct head_scan scan = {0};
	const char *why;
	size_t bytes = p->head_bytes;

	timer_stop(&u->worker->engine.timers, &u->timer);
	u->peek = NULL;
	if (AB_NEVER(head_response(u->in, bytes, &scan, &upstream_limits, h,
			 &why) != HEAD_OK))
		upstream_fail(u, ATTEMPT_BAD_RESPONSE);
	else
		upstream_judge(u, h, &body);
	peek_free(p);
	return bytes;
}

/* A body that is to be looked at first. Bytes used; 0: more are needed. */
static ssize_t
upstream_peek_more(struct upstream *u)
{
	struct peek *p = u->peek;

	peek_feed(p, u->in + p->head_bytes, u->in_n - p->head_bytes);
	return p->enough ? (ssize_t)upstream_peeked(u) : 0;
}

static ssize_t
upstream_peek(struct upstream *u, const struct look *look, const struct head *h,
    const char *p, size_t n)
{
	struct peek *peek = peek_new(look, &u->framing, h->bytes);
	size_t bytes = h->bytes;
	struct body_view body;

	if (peek)
		peek_feed(peek, p + bytes, n - bytes);
	if (peek && peek->enough) {
		body = peek_view(peek);
		upstream_judge(u, h, &body);
		peek_free(peek);
		return (ssize_t)bytes;
	}
	u->peek = peek;
	if (peek && upstream_timer(u, look->ms) == 0 &&
	    upstream_stash(u, p, n) == 0)
		return 0;
	upstream_fail(u, ATTEMPT_NO_MEMORY);
	return -1;
}

/* One head of p[0, n). Bytes used; 0: more are needed; -1: it is over. */
static ssize_t
upstream_head(struct upstream *u, const char *p, size_t n)
{
	static const struct body_view unseen = {.whole = false};
	struct head *h = &u->worker->head;
	const char *why = NULL;
	enum head_result res;
	struct look look;
	size_t bytes;

	if (u->peek)
		return upstream_peek_more(u);
	res = head_response(p, n, &u->scan, &upstream_limits, h, &why);
	if (res == HEAD_AGAIN) {
		if (upstream_stash(u, p, n) == 0)
			return 0;
		upstream_fail(u, ATTEMPT_NO_MEMORY);
		return -1;
	}
	u->scan = (struct head_scan){0};
	if (res != HEAD_OK) {
		upstream_fail(u, ATTEMPT_BAD_RESPONSE);
		return -1;
	}
	bytes = h->bytes;
	if (h->status < 200 && h->status != 101) {
		if (upstream_interim(u, h))
			return (ssize_t)bytes;
		upstream_fail(u, ATTEMPT_BAD_RESPONSE);
		return -1;
	}
	if (!upstream_usable(u, h))
		return -1;
	look = request_look(&u->x->r, h);
	if (look.bytes > 0 && has_body(&u->framing))
		return upstream_peek(u, &look, h, p, n);
	upstream_judge(u, h, &unseen);
	return (ssize_t)bytes;
}

/* A long look at a body has left a large buffer behind. */
static void
upstream_trim(struct upstream *u)
{
	if (u->in_cap <= WORKER_SCRATCH)
		return;
	mem_free(u->in);
	u->in = NULL;
	u->in_cap = 0;
}

/* What stands behind a head that was judged. False: this connection is done
 * with for now. */
static bool
upstream_rest(struct upstream *u, const char *p, size_t n)
{
	ssize_t used;

	u->in_n = 0;
	do {
		if (u->state != UPSTREAM_BUSY && u->state != UPSTREAM_DRAINING)
			return false;
		used = upstream_body(u, p, n);
		if (used < 0)
			return false;
		p += used;
		n -= (size_t)used;
	} while (n > 0);
	upstream_trim(u);
	return u->state == UPSTREAM_DRAINING ||
	    (u->state == UPSTREAM_BUSY && relay_flush(u->x) == 0);
}

void
upstream_peek_over(struct upstream *u)
{
	size_t n = u->in_n, used = upstream_peeked(u);

	(void)upstream_rest(u, u->in + used, n - used);
}

void
upstream_peek_eof(struct upstream *u, bool clean)
{
	if (clean && u->framing.kind == FRAMING_CLOSE)
		u->peek->whole = true;
	upstream_peek_over(u);
	if (u->state == UPSTREAM_BUSY)
		relay_eof(u, clean);
	else if (u->state == UPSTREAM_DRAINING)
		upstream_close(u);
}

/* Takes what was read. False: this connection is done with for now. */
static bool
upstream_feed(struct upstream *u, const char *p, size_t n)
{
	ssize_t used;

	while (u->state == UPSTREAM_BUSY && !u->got_head) {
		used = n ? upstream_head(u, p, n) : 0;
		if (used < 0)
			return false;
		if (used == 0) {
			if (n == 0)
				u->in_n = 0;
			return true;
		}
		p += used;
		n -= (size_t)used;
	}
	return upstream_rest(u, p, n);
}

/* The client has not taken yet what it was sent. */
static bool
upstream_held_back(const struct upstream *u)
{
	return u->state == UPSTREAM_BUSY && u->got_head && u->x->client &&
	    !outbuf_empty(&u->x->client->out);
}

static ssize_t
upstream_read(struct upstream *u, char **ret_p, size_t *ret_n)
{
	struct worker *w = u->worker;
	ssize_t got;

	if (u->in_n == 0) {
		got = chan_read(&u->chan, w->scratch, WORKER_SCRATCH);
		*ret_p = w->scratch;
		*ret_n = got > 0 ? (size_t)got : 0;
		return got;
	}
	if (u->in_n == u->in_cap && upstream_room(u, u->in_cap * 2) < 0)
		return CHAN_ERROR;
	got = chan_read(&u->chan, u->in + u->in_n, u->in_cap - u->in_n);
	if (got > 0)
		u->in_n += (size_t)got;
	*ret_p = u->in;
	*ret_n = u->in_n;
	return got;
}

void
upstream_receive(struct upstream *u)
{
	ssize_t got;
	char *p;
	size_t n;

	for (int i = 0; i < READS_MAX; i++) {
		if (upstream_held_back(u))
			return;
		got = upstream_read(u, &p, &n);
		if (got == CHAN_AGAIN)
			return;
		if (got <= 0) {
			upstream_eof(u, got == 0);
			return;
		}
		u->got_any = true;
		if (!upstream_feed(u, p, n))
			return;
	}
	worker_again(u->worker, &u->again, upstream_look_again);
}

void
upstream_resume(struct upstream *u)
{
	if (u->state == UPSTREAM_BUSY && u->chan.fd >= 0)
		upstream_receive(u);
}

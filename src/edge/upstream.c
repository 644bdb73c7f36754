/* SPDX-License-Identifier: MIT */
/*
 * upstream decides what the bytes on an origin's connection are: part of a
 * head, of a body that is relayed or thrown away, or something that no one
 * asked for. It refuses to know what follows from an answer (engine/flow).
 */
#include "upstream.h"

#include <errno.h>

#include "base/mem.h"
#include "client.h"
#include "proto/forward.h"
#include "relay.h"
#include "send.h"
#include "tunnel.h"

#define READS_MAX 16 /* of one connection in one go; then the others' turn */

static const struct head_limits upstream_limits = {
    .head_bytes = 64 * 1024,
    .line_bytes = 16 * 1024,
    .fields = HEAD_FIELDS_MAX,
};

static void
upstream_bury(struct corpse *corpse)
{
	struct upstream *u = AB_CONTAINER(corpse, struct upstream, corpse);

	mem_free(u->dial);
	mem_free(u->host);
	mem_free(u->in);
	outbuf_free(&u->out);
	strbuf_free(&u->held);
	chunked_free(&u->chunked);
	mem_free(u);
}

void
upstream_close(struct upstream *u)
{
	struct worker *w = u->worker;

	if (u->state == UPSTREAM_DEAD)
		return;
	u->state = UPSTREAM_DEAD;
	pool_drop(&w->pool, u);
	if (u->dial)
		dial_cancel(u->dial);
	if (u->x)
		u->x->up = NULL;
	u->x = NULL;
	chan_close(&u->chan);
	timer_stop(&w->engine.timers, &u->timer);
	list_del(&u->link);
	list_del(&u->again.link);
	worker_bury(w, &u->corpse, upstream_bury);
}

void
upstream_look_again(struct again *a)
{
	struct upstream *u = AB_CONTAINER(a, struct upstream, again);

	u->chan.ready(&u->chan);
}

/* Idle for too long, or too slow to drain. */
static void
upstream_timeout(struct timer *t, int64_t now_ms)
{
	(void)now_ms;
	upstream_close(AB_CONTAINER(t, struct upstream, timer));
}

static int
upstream_timer(struct upstream *u, int64_t ms)
{
	struct engine *e = &u->worker->engine;

	return timer_arm(&e->timers, &u->timer, clock_add(e->now_ms, ms));
}

/* ---- the end of an attempt ---- */

static void
upstream_fail(struct upstream *u, enum attempt_end end)
{
	struct exchange *x = u->x;
	struct attempt a = {
	    .end = end,
	    .reused = u->served > 0 && !u->got_any,
	    .sent = u->sent_any,
	};

	u->x = NULL;
	x->up = NULL;
	upstream_close(u);
	request_failed(&x->r, &a);
}

/* The connection ended, with or without a RST. */
static void
upstream_eof(struct upstream *u, bool clean)
{
	switch (u->state) {
	case UPSTREAM_BUSY:
		if (!u->got_head)
			upstream_fail(u, ATTEMPT_RESET);
		else
			relay_eof(u, clean);
		break;
	case UPSTREAM_TUNNEL:
		tunnel_pump(u->x);
		break;
	default:
		upstream_close(u);
		break;
	}
}

void
upstream_to_pool(struct upstream *u)
{
	struct worker *w = u->worker;

	u->state = UPSTREAM_IDLE;
	u->served++;
	mem_free(u->in);
	u->in = NULL;
	u->in_n = u->in_cap = 0;
	strbuf_free(&u->held);
	chunked_free(&u->chunked);
	if (u->chan.fin || w->draining || u->keep_ms <= 0 ||
	    upstream_timer(u, u->keep_ms) < 0 || pool_put(&w->pool, u) < 0)
		upstream_close(u);
}

static void
upstream_drained(struct upstream *u)
{
	if (u->keep && u->sent_all)
		upstream_to_pool(u);
	else
		upstream_close(u);
}

void
upstream_discard(struct upstream *u)
{
	struct exchange *x = u->x;

	u->x = NULL;
	x->up = NULL;
	u->state = UPSTREAM_DRAINING;
	u->drained = 0;
	/* Only worth it where the end of the body can be known. */
	if (!u->keep || !u->sent_all ||
	    (u->framing.kind == FRAMING_LENGTH &&
		u->left > UPSTREAM_DRAIN_BYTES) ||
	    upstream_timer(u, UPSTREAM_DRAIN_MS) < 0)
		upstream_close(u);
}

/* ---- receiving ---- */

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

	if (++u->interims > UPSTREAM_INTERIM_MAX)
		return false;
	u->got_any = true;
	if (h->status != 100 && !u->x->http10)
		forward_response_head(&u->held, h, &how, -1);
	return true;
}

/* A final head. False: it can't be used, and the attempt has failed. */
static bool
upstream_final(struct upstream *u, const struct head *h)
{
	struct exchange *x = u->x;
	const char *why;

	if (framing_response(h, x->method, &u->framing, &why) < 0 ||
	    (u->framing.kind == FRAMING_TUNNEL && !x->upgrade)) {
		upstream_fail(u, ATTEMPT_BAD_RESPONSE);
		return false;
	}
	u->got_any = u->got_head = true;
	u->left = u->framing.kind == FRAMING_LENGTH ? u->framing.length : 0;
	if (u->framing.kind == FRAMING_CHUNKED)
		chunked_init(&u->chunked, true);
	upstream_note_keep(u, h);
	/* A hint counts from here, not from the start of this turn. */
	worker_now(u->worker);
	request_got_head(&x->r, h, u->served > 0);
	return true;
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

			res = chunked_next(&u->chunked, p + used, n - used, &step,
			    &data, &why);
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
	used = u->state == UPSTREAM_BUSY ? relay_feed(u, p, n, &done) :
	    upstream_drain(u, p, n, &done);
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
static int
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

/* One head of p[0, n). Bytes used; 0: more are needed; -1: it is over. */
static ssize_t
upstream_head(struct upstream *u, const char *p, size_t n)
{
	struct head *h = &u->worker->head;
	const char *why = NULL;
	enum head_result res;
	size_t bytes;

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
	return upstream_final(u, h) ? (ssize_t)bytes : -1;
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
	return u->state == UPSTREAM_DRAINING ||
	    (u->state == UPSTREAM_BUSY && relay_flush(u->x) == 0);
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

static void
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

static void
upstream_ready(struct chan *ch)
{
	struct upstream *u = AB_CONTAINER(ch, struct upstream, chan);

	worker_enter(u->worker);
	switch (u->state) {
	case UPSTREAM_BUSY:
		if (!u->sent_all)
			upstream_send(u);
		if (u->state == UPSTREAM_BUSY)
			upstream_receive(u);
		break;
	case UPSTREAM_DRAINING:
		upstream_receive(u);
		break;
	case UPSTREAM_IDLE:
		if (u->chan.readable)
			upstream_close(u); /* nobody asked: its end, or garbage */
		break;
	case UPSTREAM_TUNNEL:
		tunnel_pump(u->x);
		break;
	case UPSTREAM_DIALING:
	case UPSTREAM_DEAD:
		break;
	}
}

/* ---- the beginning of an attempt ---- */

static void
upstream_begin(struct upstream *u, struct exchange *x)
{
	u->state = UPSTREAM_BUSY;
	u->x = x;
	x->up = u;
	u->head_at = 0;
	u->body_at = 0;
	u->body_ended = u->sent_any = u->sent_all = u->send_broken = false;
	u->got_any = u->got_head = u->keep = false;
	u->interims = 0;
	u->scan = (struct head_scan){0};
	strbuf_init(&u->held, 16 * 1024);
	request_connected(&x->r);
	if (x->r.connect)
		tunnel_connect(x);
	else
		upstream_send(u);
}

static enum attempt_end
dial_end(enum dial_error err, int err_no)
{
	switch (err) {
	case DIAL_NO_NAME:
		return ATTEMPT_DNS_NAME;
	case DIAL_DNS:
		return ATTEMPT_DNS_FAILED;
	case DIAL_NO_FILES:
	case DIAL_NO_MEMORY:
		return ATTEMPT_NO_MEMORY;
	default:
		return err_no == ETIMEDOUT ? ATTEMPT_CONNECT_TIMEOUT :
		    ATTEMPT_CONNECT_FAILED;
	}
}

static void
upstream_dialed(struct dial *d, int fd, enum dial_error err, int err_no)
{
	struct upstream *u = d->arg;
	struct exchange *x = u->x;

	worker_enter(u->worker);
	if (err == DIAL_OK) {
		mem_free(u->dial);
		u->dial = NULL;
		if (chan_open(&u->chan, u->worker->base, fd, upstream_ready) == 0)
			upstream_begin(u, x);
		else
			upstream_fail(u, ATTEMPT_NO_MEMORY);
		return;
	}
	if (err == DIAL_DENIED) {
		u->x = NULL;
		x->up = NULL;
		upstream_close(u);
		request_give_up(&x->r, 403, GIVE_UP_DENIED);
		return;
	}
	if (err == DIAL_NO_FILES)
		pool_clear_idle(&u->worker->pool); /* theirs are the cheapest */
	upstream_fail(u, dial_end(err, err_no));
}

static struct upstream *
upstream_new(struct exchange *x)
{
	struct worker *w = x->worker;
	struct upstream *u = mem_zalloc(sizeof(*u));

	if (!u)
		return NULL;
	u->dial = mem_zalloc(sizeof(*u->dial));
	u->host = mem_dup(span_of(x->host));
	if (!u->dial || !u->host) {
		mem_free(u->dial);
		mem_free(u->host);
		mem_free(u);
		return NULL;
	}
	u->worker = w;
	u->chan.fd = -1;
	u->place = x->place;
	u->port = x->port;
	list_init(&u->again.link);
	list_init(&u->in_pool);
	list_init(&u->in_host);
	timer_init(&u->timer, upstream_timeout);
	list_push_back(&w->upstreams, &u->link);
	return u;
}

void
upstream_start(struct exchange *x, bool fresh)
{
	struct attempt a = {.end = ATTEMPT_NO_MEMORY};
	struct worker *w = x->worker;
	struct upstream *u = NULL;

	if (!fresh && !x->r.connect)
		u = pool_take(&w->pool, x->place, x->host, x->port);
	if (u) {
		upstream_begin(u, x);
		return;
	}
	u = upstream_new(x);
	if (!u) {
		request_failed(&x->r, &a);
		return;
	}
	u->x = x;
	x->up = u;
	dial_start(u->dial, &w->dialer, u->host, u->port, u, upstream_dialed);
}

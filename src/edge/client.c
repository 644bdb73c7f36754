/* SPDX-License-Identifier: MIT */
/*
 * client decides when a client's bytes are read, and as what: a head, a body,
 * or nothing until its answer has gone. It refuses to know what an answer
 * means, and which request waits for what.
 *
 *   HEAD -> BUSY -> HEAD ...          BUSY -> CLOSING -> LINGER -> DEAD
 *
 * While a request waits the socket is only looked at (peek), to see whether
 * the client is still there.
 */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include "access.h"
#include "base/mem.h"
#include "message.h"
#include "send.h"
#include "tunnel.h"

#define READS_MAX 16 /* of one body in one go; then the others' turn */

static const struct head_limits client_limits = {
    .head_bytes = 64 * 1024,
    .line_bytes = 16 * 1024,
    .fields = HEAD_FIELDS_MAX,
};

static const struct policy *
client_policy(const struct client *c)
{
	return c->x ? c->x->r.policy : &c->worker->conf->defaults.policy;
}

static void
client_bury(struct corpse *corpse)
{
	struct client *c = AB_CONTAINER(corpse, struct client, corpse);

	mem_free(c->text);
	mem_free(c->in);
	outbuf_free(&c->out);
	chunked_free(&c->chunked);
	mem_free(c);
}

static void
client_die(struct client *c)
{
	struct worker *w = c->worker;

	if (c->state == CLIENT_DEAD)
		return;
	c->state = CLIENT_DEAD;
	chan_close(&c->chan);
	timer_stop(&w->engine.timers, &c->timer);
	list_del(&c->link);
	list_del(&c->again.link);
	atomic_fetch_sub(&w->proc->connections, 1);
	worker_bury(w, &c->corpse, client_bury);
}

/* The client left, or can't be spoken to. */
static void
client_lost(struct client *c)
{
	struct exchange *x = c->x;

	c->x = NULL;
	client_die(c);
	if (!x)
		return;
	x->client = NULL;
	request_gone(&x->r);
}

void
client_cut(struct client *c, bool reset)
{
	if (c->x)
		c->x->client = NULL;
	c->x = NULL;
	if (reset)
		chan_reset(&c->chan);
	client_die(c);
}

/* Renewing an armed timer can't fail; the first arming may. */
static void
client_timer(struct client *c, int64_t ms)
{
	struct engine *e = &c->worker->engine;

	if (timer_arm(&e->timers, &c->timer, clock_add(e->now_ms, ms)) < 0)
		client_lost(c);
}

/* Keeps bytes for later; p may lie in c->in itself. */
static int
client_stash(struct client *c, const char *p, size_t n)
{
	char *q;

	if (n == 0) {
		mem_free(c->in);
		c->in = NULL;
		c->in_n = c->in_cap = 0;
		return 0;
	}
	if (p >= c->in && p < c->in + c->in_cap) {
		memmove(c->in, p, n);
	} else {
		if (n > c->in_cap) {
			q = mem_realloc(c->in, n);
			if (!q)
				return -1;
			c->in = q;
			c->in_cap = n;
		}
		memcpy(c->in, p, n);
	}
	c->in_n = n;
	return 0;
}

/* Room for more behind what is stashed. */
static int
client_grow(struct client *c, size_t most)
{
	size_t cap = c->in_cap < 1024 ? 2048 : c->in_cap * 2;
	char *q;

	if (c->in_n < c->in_cap)
		return 0;
	if (cap > most)
		cap = most;
	if (cap <= c->in_n)
		return -1;
	q = mem_realloc(c->in, cap);
	if (!q)
		return -1;
	c->in = q;
	c->in_cap = cap;
	return 0;
}

int
client_send(struct client *c, struct iovec *v, int n)
{
	if (outbuf_send(&c->out, &c->chan, v, n) == 0)
		return 0;
	client_lost(c);
	return -1;
}

/* Our last word is out: wait for the client's end, so that a RST caused by
 * bytes nobody read can't destroy the answer on its way. */
static void
client_linger(struct client *c)
{
	if (c->in_n == 0 && !c->chan.readable && !c->chan.fin) {
		client_die(c);
		return;
	}
	c->state = CLIENT_LINGER;
	chan_shutdown(&c->chan);
	client_timer(c, CLIENT_LINGER_MS);
	if (c->state == CLIENT_LINGER)
		c->chan.ready(&c->chan);
}

static void
client_read_linger(struct client *c)
{
	struct worker *w = c->worker;
	ssize_t got;

	do
		got = chan_read(&c->chan, w->scratch, WORKER_SCRATCH);
	while (got > 0);
	if (got != CHAN_AGAIN)
		client_die(c);
}

static void
client_look_again(struct again *a)
{
	struct client *c = AB_CONTAINER(a, struct client, again);

	c->chan.ready(&c->chan);
}

void
client_done(struct client *c, bool whole)
{
	if (c->x)
		c->x->client = NULL;
	c->x = NULL;
	if (!whole) {
		client_cut(c, false);
		return;
	}
	c->served = true;
	if (c->worker->draining)
		c->close = true;
	c->state = c->close ? CLIENT_CLOSING : CLIENT_HEAD;
	client_timer(c, client_policy(c)->idle_timeout_ms);
	if (c->state == CLIENT_CLOSING && outbuf_empty(&c->out))
		client_linger(c);
	else if (c->in_n > 0 || c->chan.readable)
		worker_again(c->worker, &c->again, client_look_again);
}

void
client_answer(struct client *c, struct exchange *x, const struct answer *a,
    const struct refusal *why)
{
	struct worker *w = c->worker;
	struct iovec v;

	if (!x || !x->keep || (x->r.has_body && !x->r.body.complete) || w->draining)
		c->close = true;
	if (why && why->keep)
		c->close = false;
	strbuf_clear(&w->text);
	message_answer(&w->text, x, a, why, c->close);
	if (w->text.failed) {
		client_lost(c);
		return;
	}
	v = (struct iovec){w->text.p, w->text.n};
	if (x)
		x->final_status = a->status;
	if (client_send(c, &v, 1) < 0)
		return;
	if (x)
		request_answered(&x->r);
	client_done(c, true);
}

/* A request that gets no further than its head, and has been logged. */
static void
client_refuse(struct client *c, const struct refusal *why)
{
	struct answer a = {why->status, why->why, -1};

	client_answer(c, NULL, &a, why);
}

static void
client_refuse_unread(struct client *c, const struct refusal *why)
{
	c->worker->head.method = (struct span){NULL, 0};
	access_refused(c, &c->worker->head, why);
	client_refuse(c, why);
}

static void
client_bad_head(struct client *c, enum head_result res, const char *text)
{
	struct refusal why = {
	    .status = 400,
	    .why = GIVE_UP_BAD_REQUEST,
	    .detail = text,
	};

	if (res == HEAD_TOO_LARGE)
		why.status = 431;
	else if (res == HEAD_URI_TOO_LONG)
		why.status = 414;
	else if (res == HEAD_VERSION)
		why.status = 505;
	client_refuse_unread(c, &why);
}

/* A head is complete, in p[0, n); what follows it is kept. */
static void
client_begin(struct client *c, const char *p, size_t n)
{
	struct worker *w = c->worker;
	struct refusal why = {0};
	struct exchange *x;

	x = exchange_new(c, &w->head, &why);
	if (!x)
		access_refused(c, &w->head, &why);
	if (client_stash(c, p + w->head.bytes, n - w->head.bytes) < 0) {
		if (x)
			exchange_free(x);
		client_lost(c);
		return;
	}
	c->scan = (struct head_scan){0};
	if (!x) {
		client_refuse(c, &why);
		return;
	}
	c->state = CLIENT_BUSY;
	c->x = x;
	c->body_left = x->body.length;
	if (x->body.kind == FRAMING_CHUNKED) {
		chunked_free(&c->chunked);
		chunked_init(&c->chunked, false);
	}
	request_begin(&x->r);
}

/* p[0, n) begins with a head. False: it is not complete yet. */
static bool
client_take_head(struct client *c, const char *p, size_t n)
{
	struct worker *w = c->worker;
	const char *text = NULL;
	bool first = c->in_n == 0;
	enum head_result res;

	res = head_request(p, n, &c->scan, &client_limits, &w->head, &text);
	if (res == HEAD_OK) {
		client_begin(c, p, n);
		return true;
	}
	if (res != HEAD_AGAIN) {
		client_bad_head(c, res, text);
		return true;
	}
	if (client_stash(c, p, n) < 0)
		client_lost(c);
	else if (first && n > 0)
		client_timer(c, client_policy(c)->head_timeout_ms);
	return false;
}

static void
client_read_head(struct client *c)
{
	struct worker *w = c->worker;
	ssize_t got;

	/* What was pipelined is there already. */
	if (c->in_n > 0 && c->scan.at == 0 &&
	    client_take_head(c, c->in, c->in_n))
		return;
	while (c->state == CLIENT_HEAD) {
		if (c->in_n == 0) {
			got = chan_read(&c->chan, w->scratch, WORKER_SCRATCH);
		} else {
			if (client_grow(c, client_limits.head_bytes + 2) < 0) {
				client_bad_head(c, HEAD_TOO_LARGE,
				    "the request head is too large");
				return;
			}
			got = chan_read(&c->chan, c->in + c->in_n,
			    c->in_cap - c->in_n);
		}
		if (got == CHAN_AGAIN)
			return;
		if (got <= 0) {
			client_lost(c);
			return;
		}
		if (c->in_n == 0) {
			if (client_take_head(c, w->scratch, (size_t)got))
				return;
		} else {
			c->in_n += (size_t)got;
			if (client_take_head(c, c->in, c->in_n))
				return;
		}
	}
}

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
			if (c->chunked.trailer.n == 0)
				return 0;
			x->r.body.trailer = mem_dup(
			    strbuf_view(&c->chunked.trailer));
			x->r.body.trailer_bytes = c->chunked.trailer.n;
			return x->r.body.trailer ? 0 : 503;
		case CHUNKED_BAD:
			return 400;
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
static bool
client_body_wanted(const struct client *c)
{
	const struct exchange *x = c->x;

	if (c->state != CLIENT_BUSY || !x || !x->r.has_body ||
	    x->r.body.complete)
		return false;
	if (x->r.state == REQUEST_READING)
		return true;
	return x->r.state >= REQUEST_SENDING && x->r.state <= REQUEST_RELAYING &&
	    x->up && outbuf_empty(&x->rest);
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
		request_give_up(r, status, status == 503 ? GIVE_UP_MEMORY :
		    GIVE_UP_BAD_REQUEST);
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

/* Is the client still there? Only asked where its bytes are not wanted. */
static void
client_check(struct client *c)
{
	struct request *r = &c->x->r;
	int got = chan_peek(&c->chan);

	if (got == CHAN_ERROR) {
		client_lost(c);
		return;
	}
	if (got == 0 || c->chan.fin) {
		c->close = true;
		if (r->state == REQUEST_WAITING && !r->policy->allow_half_close)
			client_lost(c);
	}
}

void
client_parked(struct client *c)
{
	if (c->chan.fin && !c->x->r.policy->allow_half_close)
		client_lost(c);
}

static void
client_ready(struct chan *ch)
{
	struct client *c = AB_CONTAINER(ch, struct client, chan);
	struct exchange *x = c->x;
	size_t moved;

	worker_enter(c->worker);
	if (!outbuf_empty(&c->out)) {
		if (outbuf_flush(&c->out, ch, &moved) < 0) {
			client_lost(c);
			return;
		}
		if (x && moved)
			request_progress(&x->r);
		else if (moved)
			client_timer(c, client_policy(c)->idle_timeout_ms);
	}
	switch (c->state) {
	case CLIENT_HEAD:
		if (outbuf_empty(&c->out))
			client_read_head(c);
		break;
	case CLIENT_BUSY:
		if (x->tunnel) {
			tunnel_pump(x);
			break;
		}
		if (outbuf_empty(&c->out) && x->up)
			upstream_resume(x->up);
		if (c->x != x || c->state != CLIENT_BUSY)
			break;
		if (client_body_wanted(c))
			client_read_body(c);
		else
			client_check(c);
		break;
	case CLIENT_CLOSING:
		if (outbuf_empty(&c->out))
			client_linger(c);
		break;
	case CLIENT_LINGER:
		client_read_linger(c);
		break;
	case CLIENT_DEAD:
		break;
	}
}

static void
client_timeout(struct timer *t, int64_t now_ms)
{
	struct client *c = AB_CONTAINER(t, struct client, timer);
	struct refusal why = {
	    .status = 408,
	    .why = GIVE_UP_CLIENT_TIMEOUT,
	    .detail = "the request head did not arrive in time",
	};

	(void)now_ms;
	switch (c->state) {
	case CLIENT_HEAD:
		if (c->in_n == 0 || !outbuf_empty(&c->out)) {
			client_die(c);
			break;
		}
		client_refuse_unread(c, &why);
		break;
	case CLIENT_BUSY:
		client_timer(c, client_policy(c)->idle_timeout_ms);
		if (c->state == CLIENT_BUSY && c->x->r.state == REQUEST_READING)
			request_give_up(&c->x->r, 408, GIVE_UP_CLIENT_TIMEOUT);
		break;
	case CLIENT_CLOSING:
	case CLIENT_LINGER:
		client_die(c);
		break;
	case CLIENT_DEAD:
		break;
	}
}

void
client_drain(struct client *c)
{
	c->close = true;
	if (c->x)
		c->x->keep = false;
	if (c->state == CLIENT_HEAD && c->in_n == 0 && outbuf_empty(&c->out))
		client_die(c);
}

void
client_drop(struct client *c)
{
	client_lost(c);
}

/* The address as text, and a hash of it without the port: fairness is between
 * machines, not between connections. */
static int
client_name(struct client *c, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in4 = (const void *)sa;
	char text[INET6_ADDRSTRLEN] = "unix";

	if (sa->sa_family == AF_INET)
		inet_ntop(AF_INET, &in4->sin_addr, text, sizeof(text));
	else if (sa->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	c->who = hash_bytes(&c->worker->proc->hash, text, strlen(text));
	c->text = mem_dup(span_of(text));
	return c->text ? 0 : -1;
}

void
client_new(struct worker *w, int fd, const struct sockaddr *sa, socklen_t len)
{
	struct client *c = mem_zalloc(sizeof(*c));
	int on = 1;

	(void)len;
	if (!c) {
		close(fd);
		return;
	}
	c->worker = w;
	list_init(&c->link);
	list_init(&c->again.link);
	timer_init(&c->timer, client_timeout);
	if (client_name(c, sa) < 0 ||
	    chan_open(&c->chan, w->base, fd, client_ready) < 0) {
		if (!c->text)
			close(fd);
		mem_free(c->text);
		mem_free(c);
		return;
	}
	if (sa->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	list_push_back(&w->clients, &c->link);
	atomic_fetch_add(&w->proc->connections, 1);
	client_timer(c, client_policy(c)->head_timeout_ms);
}

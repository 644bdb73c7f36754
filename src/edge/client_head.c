/* SPDX-License-Identifier: MIT */
/*
 * client_head decides when a head is whole, and turns it into an exchange or
 * an answer. It refuses to know what makes a request acceptable (intake).
 */
#include "access.h"
#include "base/log.h"
#include "base/mem.h"
#include "client_login.h"

static const struct head_limits client_limits = {
    .head_bytes = 64 * 1024,
    .line_bytes = 16 * 1024,
    .fields = HEAD_FIELDS_MAX,
};

int
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

/* A request that gets no further than its head, and has been logged. */
static void
client_refuse(struct client *c, const struct refusal *why)
{
	struct answer a = {why->status, why->why,
	    why->retry_after_s ? why->retry_after_s * 1000 : -1};

	client_answer(c, NULL, &a, why);
}

void
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

/* A CONNECT in p[0, n) that is to be intercepted. What has gone through intake
 * parses. */
static void
client_begin_inner(struct client *c, const char *p, size_t n)
{
	struct worker *w = c->worker;
	char text[TARGET_HOST_MAX + 16];
	struct span target = w->head.target;
	struct authority a;
	const char *why;

	/* The head may lie in c->in, which is about to move. */
	if (target.n > sizeof(text)) {
		client_lost(c);
		return;
	}
	memcpy(text, target.p, target.n);
	target.p = text;
	c->scan = (struct head_scan){0};
	if (target_authority(target, 0, &a, &why) < 0 ||
	    client_stash(c, p + w->head.bytes, n - w->head.bytes) < 0) {
		client_lost(c);
		return;
	}
	client_intercept(c, a.host, a.port);
}

/* It is not known yet who asks: p[0, n), all of it, is read again later. */
static void
client_await_login(struct client *c, const char *p, size_t n)
{
	if (client_stash(c, p, n) < 0) {
		client_lost(c);
		return;
	}
	c->scan = (struct head_scan){0};
	c->state = CLIENT_LOGIN;
	log_debug("client=%s HEAD -> LOGIN", c->text);
	client_timer(c, client_policy(c)->deadline_ms);
	/* A RST that came together with the head had no event of its own. */
	if (c->state == CLIENT_LOGIN)
		client_login_watch(c);
}

/* An exchange, or NULL: refused, see *why; or, status 0, to be intercepted. */
static struct exchange *
client_exchange(struct client *c, enum check_result login, struct refusal *why)
{
	struct worker *w = c->worker;
	struct exchange *x = NULL;

	if (login == CHECK_YES)
		x = exchange_new(c, &w->head, why);
	if (!x && why->status)
		access_refused(c, &w->head, why);
	client_login_end(c);
	return x;
}

/* A head is complete, in p[0, n); what follows it is kept. */
static void
client_begin(struct client *c, const char *p, size_t n)
{
	struct worker *w = c->worker;
	struct refusal why = {0};
	enum check_result login = client_login(c, &w->head, &why);
	struct exchange *x;

	if (login == CHECK_WAIT) {
		client_await_login(c, p, n);
		return;
	}
	x = client_exchange(c, login, &why);
	if (!x && !why.status) {
		client_begin_inner(c, p, n);
		return;
	}
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

void
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

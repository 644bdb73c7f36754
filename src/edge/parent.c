/* SPDX-License-Identifier: MIT */
/*
 * parent decides whether another proxy stands on the way, and what its answer
 * to our CONNECT means for the request. It refuses to know what goes through
 * the tunnel, and whether another try would help (policy/verdict).
 *
 *   CONNECT sent -> 1xx ... -> 2xx     the way is open
 *                           -> other   ATTEMPT_PARENT: final
 *                           -> lost    as a connection that failed
 *
 * The bytes behind a 2xx are the server's: the answer is looked at where it
 * lies, in the socket, and only its head is taken out.
 */
#include "parent.h"

#include <errno.h>

#include "base/mem.h"
#include "intake.h"
#include "proto/forward.h"

#define PARENT_READS_MAX 16 /* in one go; then the others' turn */
#define PARENT_READ_MIN 1024
#define CHALLENGE_MAX 8192 /* bytes of Proxy-Authenticate lines */

static const struct head_limits parent_limits = {
    .head_bytes = 64 * 1024,
    .line_bytes = 16 * 1024,
    .fields = HEAD_FIELDS_MAX,
};

static const struct hint_source retry_after = {
    {"retry-after", 11},
    HINT_AUTO,
    HINT_WAIT,
};
static const struct hint_cfg parent_hints = {&retry_after, 1};

/* --- which way ------------------------------------------------------------ */

const struct conf_parent *
parent_for(const struct conf_service *s, struct span host, uint16_t port)
{
	if (!s->parent.host || conf_places_name(s->no_proxy, host, port))
		return NULL;
	return &s->parent;
}

void
parent_head(const struct intake *in, struct strbuf *out)
{
	struct span via = in->c->worker->proc->via_span;
	struct connect_request ask = {.via = via};
	struct forward_request how = {.via = via, .max_forwards = -1};
	struct strbuf authority;

	if (!in->parent || !(in->connect || in->tls))
		return;
	if (in->parent->auth)
		ask.auth = how.proxy_auth = span_of(in->parent->auth);
	strbuf_init(&authority, 512);
	target_authority_put(&authority, in->host, in->port, 0);
	ask.authority = how.host = how.path = strbuf_view(&authority);
	/* A client's own CONNECT goes on with all that it says. */
	if (in->connect)
		forward_request_head(out, in->h, &how);
	else
		connect_build(out, &ask);
	out->failed |= authority.failed;
	strbuf_free(&authority);
}

/* --- what it says --------------------------------------------------------- */

/*
 * A client that asked for a tunnel itself is told as its proxy was. Within TLS
 * the client talks to the server, and knows of no proxy: only what it can make
 * sense of is passed on.
 */
static int
status_for(const struct exchange *x, int status)
{
	bool throttled = status == 429 || status == 503 || status == 504;

	if (throttled || (x->r.connect && status >= 400 && status < 600))
		return status;
	return 502;
}

/* A 407 has a challenge (RFC 9110 15.5.8). 0; -1: none, or no memory. */
static int
keep_challenge(struct exchange *x, const struct head *h)
{
	struct strbuf lines;

	strbuf_init(&lines, CHALLENGE_MAX);
	for (unsigned i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_PROXY_AUTHENTICATE)
			continue;
		strbuf_lit(&lines, "Proxy-Authenticate: ");
		strbuf_span(&lines, h->fields[i].value);
		strbuf_lit(&lines, "\r\n");
	}
	if (lines.n && !lines.failed)
		x->challenge = mem_dup(strbuf_view(&lines));
	strbuf_free(&lines);
	return x->challenge ? 0 : -1;
}

static void
parent_refused(struct upstream *u, const struct head *h)
{
	struct exchange *x = u->x;
	struct attempt a = {
	    .end = ATTEMPT_PARENT,
	    .status = status_for(x, h->status),
	    .hint = hint_find(&parent_hints, h, clock_wall_ms()),
	};

	x->parent_status = h->status;
	exchange_trouble(x, "parent proxy %s answered %d to CONNECT",
	    x->parent->text, h->status);
	if (a.status == 407 && keep_challenge(x, h) < 0)
		a.status = 502;
	upstream_ended(u, &a);
}

static void
parent_failed(struct upstream *u, const char *what)
{
	struct attempt a = {.end = ATTEMPT_PARENT, .status = 502};

	exchange_trouble(u->x, "parent proxy %s %s", u->x->parent->text, what);
	upstream_ended(u, &a);
}

void
parent_unauthorized(struct upstream *u)
{
	u->x->parent_status = 407;
	parent_failed(u, "answered 407: it asks for other credentials");
}

void
parent_is_self(struct upstream *u)
{
	parent_failed(u, "is this proxy itself");
}

void
parent_unreached(struct exchange *x)
{
	exchange_trouble(x, "no connection to parent proxy %s",
	    x->parent->text);
}

static enum parent_result
parent_lost(struct upstream *u)
{
	exchange_trouble(u->x, "parent proxy %s closed before it answered",
	    u->x->parent->text);
	upstream_fail(u, ATTEMPT_CONNECT_FAILED);
	return PARENT_OVER;
}

static enum parent_result
parent_bad(struct upstream *u, const char *what)
{
	parent_failed(u, what);
	return PARENT_OVER;
}

/* --- the answer ----------------------------------------------------------- */

static enum parent_result
parent_open(struct upstream *u)
{
	if (!outbuf_empty(&u->out))
		return parent_bad(u, "answered before it was asked");
	mem_free(u->in);
	u->in = NULL;
	u->in_n = u->in_cap = 0;
	return PARENT_OPEN;
}

/* `got` bytes lie in the socket, and behind u->in[0, in_n) as well. */
static enum parent_result
parent_take(struct upstream *u, size_t got)
{
	struct head *h = &u->worker->head;
	size_t all = u->in_n + got, used, taken;
	const char *why;
	enum connect_result res;

	res =
	    connect_read(&u->asked, u->in, all, &parent_limits, h, &used, &why);
	if (res == CONNECT_REFUSED) {
		parent_refused(u, h);
		return PARENT_OVER;
	}
	if (res == CONNECT_BAD)
		return parent_bad(u, "sent no valid answer to CONNECT");
	taken = res == CONNECT_OPEN ? used - u->in_n : got;
	if (chan_read(&u->chan, u->in + u->in_n, taken) != (ssize_t)taken)
		return parent_lost(u);
	if (res == CONNECT_OPEN)
		return parent_open(u);
	u->in_n = all - used;
	memmove(u->in, u->in + used, u->in_n);
	return PARENT_AGAIN;
}

static int
parent_room(struct upstream *u)
{
	size_t cap = u->in_cap ? u->in_cap : PARENT_READ_MIN;

	while (cap - u->in_n < PARENT_READ_MIN)
		cap *= 2;
	return upstream_room(u, cap);
}

static enum parent_result
parent_read(struct upstream *u)
{
	enum parent_result res;
	ssize_t got;

	for (int i = 0; i < PARENT_READS_MAX; i++) {
		if (parent_room(u) < 0) {
			upstream_fail(u, ATTEMPT_NO_MEMORY);
			return PARENT_OVER;
		}
		got = chan_look(&u->chan, u->in + u->in_n, u->in_cap - u->in_n);
		if (got == CHAN_AGAIN)
			return PARENT_AGAIN;
		if (got <= 0)
			return parent_lost(u);
		res = parent_take(u, (size_t)got);
		if (res != PARENT_AGAIN)
			return res;
	}
	worker_again(u->worker, &u->again, upstream_look_again);
	return PARENT_AGAIN;
}

enum parent_result
parent_begin(struct upstream *u)
{
	struct span ask = u->x->to_parent;
	struct iovec v = {(char *)ask.p, ask.n};

	u->step = UPSTREAM_PARENT;
	u->asked = (struct connect_answer){.interims = 0};
	u->in_n = 0;
	u->chan.readable = true;
	if (chan_peek(&u->chan) > 0)
		return parent_bad(u, "answered before it was asked");
	if (outbuf_send(&u->out, &u->chan, &v, 1) == 0)
		return parent_read(u);
	if (errno != ENOMEM)
		return parent_lost(u);
	upstream_fail(u, ATTEMPT_NO_MEMORY);
	return PARENT_OVER;
}

enum parent_result
parent_ready(struct upstream *u)
{
	size_t moved;

	/* It may have said why it takes no more. */
	if (outbuf_flush(&u->out, &u->chan, &moved) < 0)
		u->chan.readable = true;
	return parent_read(u);
}

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
#include "parent.h"
#include "proto/forward.h"
#include "reach.h"
#include "relay.h"
#include "send.h"
#include "tls.h"
#include "tunnel.h"

static void
upstream_bury(struct corpse *corpse)
{
	struct upstream *u = AB_CONTAINER(corpse, struct upstream, corpse);

	conf_unref(u->conf);
	mem_free(u->dial);
	mem_free(u->host);
	mem_free(u->in);
	peek_free(u->peek);
	outbuf_free(&u->out);
	strbuf_free(&u->held);
	chunked_free(&u->chunked);
	mem_free(u);
}

void
upstream_close(struct upstream *u)
{
	enum upstream_state was = u->state;
	struct worker *w = u->worker;

	if (was == UPSTREAM_DEAD)
		return;
	u->state = UPSTREAM_DEAD;
	pool_drop(&w->pool, u);
	if (u->dial)
		dial_cancel(u->dial);
	if (u->x)
		u->x->up = NULL;
	u->x = NULL;
	ways_del(&w->proc->ways, &u->way);
	/* An end that came from the client has been passed on. */
	if (was == UPSTREAM_TUNNEL)
		chan_cut(&u->chan);
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

/* Idle for too long, or too slow to drain or to be looked at. */
static void
upstream_timeout(struct timer *t, int64_t now_ms)
{
	struct upstream *u = AB_CONTAINER(t, struct upstream, timer);

	(void)now_ms;
	if (u->peek)
		upstream_peek_over(u);
	else
		upstream_close(u);
}

int
upstream_timer(struct upstream *u, int64_t ms)
{
	struct engine *e = &u->worker->engine;

	return timer_arm(&e->timers, &u->timer, clock_add(e->now_ms, ms));
}

void
upstream_ended(struct upstream *u, struct attempt *a)
{
	struct exchange *x = u->x;

	a->reused = u->served > 0 && !u->got_any;
	a->sent = u->sent_any;
	u->x = NULL;
	x->up = NULL;
	upstream_close(u);
	request_failed(&x->r, a);
}

void
upstream_fail(struct upstream *u, enum attempt_end end)
{
	struct attempt a = {.end = end};

	upstream_ended(u, &a);
}

/* It ended before the head. A server that says why, in an alert and on a new
 * connection, will do so again. */
static void
upstream_lost(struct upstream *u)
{
	const struct tls *t = u->chan.tls;

	if (t && u->served == 0 && tls_fault_of(t) == TLS_FAULT_ALERT) {
		u->x->trouble = tls_fault_text(t);
		u->x->alerted = true;
		upstream_fail(u, ATTEMPT_TLS);
	} else {
		upstream_fail(u, ATTEMPT_RESET);
	}
}

/* The connection ended, with or without a RST. */
void
upstream_eof(struct upstream *u, bool clean)
{
	switch (u->state) {
	case UPSTREAM_BUSY:
		if (u->peek)
			upstream_peek_eof(u, clean);
		else if (!u->got_head)
			upstream_lost(u);
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
	/* One that older rules let pass may lead where nobody may go now. What
	 * came behind the answer has had its event: its end, or garbage. */
	if (u->chan.fin || w->draining || u->keep_ms <= 0 ||
	    u->conf != w->conf ||
	    (chan_has_input(&u->chan) && chan_peek(&u->chan) != CHAN_AGAIN) ||
	    upstream_timer(u, u->keep_ms) < 0 || pool_put(&w->pool, u) < 0)
		upstream_close(u);
}

void
upstream_drained(struct upstream *u)
{
	if (u->keep && u->sent_all)
		upstream_to_pool(u);
	else
		upstream_close(u);
}

/* Nothing was sent on it yet: whoever comes next may have it. */
static void
upstream_spare(struct upstream *u, const struct exchange *x)
{
	u->keep_ms = x->r.connect ? 0 : x->r.policy->idle_timeout_ms;
	upstream_to_pool(u);
}

void
upstream_discard(struct upstream *u)
{
	struct exchange *x = u->x;

	u->x = NULL;
	x->up = NULL;
	if (!u->got_head) {
		upstream_spare(u, x);
		return;
	}
	u->state = UPSTREAM_DRAINING;
	u->drained = 0;
	/* Only worth it where the end of the body can be known. */
	if (!u->keep || !u->sent_all ||
	    (u->framing.kind == FRAMING_LENGTH &&
		u->left > UPSTREAM_DRAIN_BYTES) ||
	    upstream_timer(u, UPSTREAM_DRAIN_MS) < 0)
		upstream_close(u);
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
		/* Nobody asked: its end, or garbage; but TLS has news of its
		 * own, such as session tickets. */
		if (u->chan.fin || chan_peek(&u->chan) != CHAN_AGAIN)
			upstream_close(u);
		break;
	case UPSTREAM_TUNNEL:
		tunnel_pump(u->x);
		break;
	case UPSTREAM_DIALING:
		reach_ready(u);
		break;
	case UPSTREAM_DEAD:
		break;
	}
}

static void
upstream_later(struct chan *ch)
{
	struct upstream *u = AB_CONTAINER(ch, struct upstream, chan);

	worker_again(u->worker, &u->again, upstream_look_again);
}

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
	if (!request_connected(&x->r, u->served > 0))
		return;
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
		return err_no == ETIMEDOUT ? ATTEMPT_CONNECT_TIMEOUT
					   : ATTEMPT_CONNECT_FAILED;
	}
}

/* An HTTP server has nothing to say before it was asked: what is there already
 * can't be the answer to this request. */
static bool
speaks_first(struct upstream *u)
{
	u->chan.readable = true;
	return chan_peek(&u->chan) > 0;
}

void
upstream_reached(struct upstream *u)
{
	if (!u->x->r.connect && speaks_first(u))
		upstream_fail(u, ATTEMPT_BAD_RESPONSE);
	else
		upstream_begin(u, u->x);
}

static void upstream_dial(struct upstream *u);

static void
upstream_dialed(struct dial *d, int fd, enum dial_error err, int err_no)
{
	struct upstream *u = d->arg;
	struct exchange *x = u->x;

	worker_enter(u->worker);
	if (err == DIAL_OK) {
		mem_free(u->dial);
		u->dial = NULL;
		/* Before a byte goes: it may come back to us, see ways.h. */
		ways_add(&u->worker->proc->ways, &u->way,
		    &u->worker->proc->hash, fd);
		if (chan_open(&u->chan, u->worker->base, fd, upstream_ready) <
		    0) {
			upstream_fail(u, ATTEMPT_NO_MEMORY);
			return;
		}
		u->chan.later = upstream_later;
		reach_begin(u);
		return;
	}
	/* Those of idle connections are the cheapest to get back. */
	if (err == DIAL_NO_FILES && u->worker->pool.n > 0) {
		pool_clear_idle(&u->worker->pool);
		upstream_dial(u);
		return;
	}
	if (x->parent && err == DIAL_DENIED) {
		parent_is_self(u);
		return;
	}
	if (x->parent)
		parent_unreached(x);
	if (err == DIAL_DENIED) {
		u->x = NULL;
		x->up = NULL;
		upstream_close(u);
		request_give_up(&x->r, 403, GIVE_UP_DENIED);
		return;
	}
	upstream_fail(u, dial_end(err, err_no));
}

static void
upstream_dial(struct upstream *u)
{
	const struct conf_parent *p = u->x->parent;

	dial_start(u->dial, &u->worker->dialer, p ? p->host : u->host,
	    p ? p->port : u->port, u, upstream_dialed);
}

static struct upstream *
upstream_new(struct exchange *x)
{
	struct worker *w = x->worker;
	struct upstream *u = mem_zalloc(sizeof(*u));

	if (!u)
		return NULL;
	u->dial = mem_zalloc(sizeof(*u->dial));
	u->host = mem_dup(span_of(x->address ? x->address : x->host));
	if (!u->dial || !u->host) {
		mem_free(u->dial);
		mem_free(u->host);
		mem_free(u);
		return NULL;
	}
	u->worker = w;
	u->conf = conf_ref(x->conf);
	u->chan.fd = -1;
	u->service = x->service;
	u->tls = x->tls;
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

	x->trouble = NULL;
	x->alerted = false;
	if (!fresh && !x->r.connect)
		u = pool_take(&w->pool, x);
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
	upstream_dial(u);
}

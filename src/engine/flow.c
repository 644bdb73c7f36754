/* SPDX-License-Identifier: MIT */
/*
 * flow decides what happens next: one function per event, each a row of the
 * transition table in request.h. It refuses to know sockets (ports.h), policy
 * arithmetic (policy/verdict) and who else waits (dispatch).
 *
 * A request's one timer is armed from its first event to its end, so that
 * re-arming can't fail. Ports that may call back are called last.
 */
#include "flow.h"

#include "dispatch.h"

/* Something will wake it: an event of its own, or the key. */
static bool
flow_is_live(const struct request *r)
{
	if (r->state == REQUEST_GONE)
		return true;
	if (r->state == REQUEST_WAITING && r->grant == GRANT_NONE &&
	    r->own_until_ms == 0)
		return false;
	return timer_armed(&r->timer);
}

/* Enters a state that ends at due_ms at the latest. */
void
flow_enter(struct request *r, enum request_state to, int64_t due_ms)
{
	request_move(r, to);
	if (timer_arm(&r->engine->timers, &r->timer, due_ms) < 0)
		(void)AB_NEVER(true); /* armed since request_begin */
	(void)AB_NEVER(!flow_is_live(r));
}

int64_t
flow_in(const struct request *r, int64_t ms)
{
	return clock_add(r->engine->now_ms, ms);
}

void
flow_end(struct request *r)
{
	if (r->grant == GRANT_HELD)
		dispatch_release(r, true);
	timer_stop(&r->engine->timers, &r->timer);
	request_move(r, REQUEST_GONE);
}

/* It can't go on as it is, and what the client has got can't be taken back. */
void
flow_cut(struct request *r, enum give_up why)
{
	if (r->state == REQUEST_GONE)
		return;
	if (why != GIVE_UP_NONE)
		r->gave_up = why;
	flow_end(r);
	r->engine->ports->cut(r);
}

void
flow_answer(struct request *r, int status, enum give_up why,
    int64_t retry_after_ms)
{
	struct answer a = {status, why, retry_after_ms};

	dispatch_release(r, true);
	r->gave_up = why;
	r->answered = status;
	STATS_ADD(r->engine->stats.own_answers, 1);
	flow_enter(r, REQUEST_ANSWERING,
	    flow_in(r, r->policy->idle_timeout_ms));
	r->engine->ports->answer(r, &a);
}

/* 503 and the like, with the true time to come back. */
void
flow_answer_later(struct request *r, int status, enum give_up why)
{
	int shut_status;
	int64_t after_ms = dispatch_retry_after_ms(r, &shut_status);

	if (status == 0)
		status = shut_status ? shut_status : 503;
	flow_answer(r, status, why, after_ms);
}

static void
flow_wait(struct request *r, int64_t own_until_ms, int64_t end_ms)
{
	r->own_until_ms = own_until_ms;
	r->wait_began_ms = r->engine->now_ms;
	STATS_ADD(r->engine->stats.parks, 1);
	flow_enter(r, REQUEST_WAITING, end_ms);
	r->engine->ports->parked(r);
}

/* A dry run is never held up; what would have been is told. */
static enum dispatch_result
flow_ask_dry(struct request *r)
{
	enum dispatch_result res = dispatch_ask(r);

	if (res == DISPATCH_GO)
		return res;
	dispatch_leave(r);
	r->dry_waited = true;
	return DISPATCH_GO;
}

/* What follows where an attempt may not begin now. */
static void
flow_not_now(struct request *r, enum dispatch_result res)
{
	struct engine_shared *s = r->engine->shared;

	switch (res) {
	case DISPATCH_SHUT:
		flow_refused(r);
		return;
	case DISPATCH_FULL:
		flow_answer_later(r, 503, GIVE_UP_QUEUE_FULL);
		return;
	case DISPATCH_NO_MEMORY:
		flow_answer(r, 503, GIVE_UP_MEMORY, 1000);
		return;
	case DISPATCH_GO:
	case DISPATCH_PARKED:
		break;
	}
	if (r->state != REQUEST_WAITING && r->attempts == 0 &&
	    atomic_load(&s->parked) >= atomic_load(&s->max_parked)) {
		dispatch_leave(r);
		flow_answer_later(r, 503, GIVE_UP_QUEUE_FULL);
		return;
	}
	flow_wait(r, 0,
	    flow_earlier(request_limit_ms(r),
		flow_in(r, r->policy->queue_timeout_ms)));
}

void
flow_ask(struct request *r)
{
	enum dispatch_result res;

	res = r->policy->dry_run ? flow_ask_dry(r) : dispatch_ask(r);
	if (res == DISPATCH_GO)
		flow_start(r);
	else
		flow_not_now(r, res);
}

void
flow_admitted(struct request *r)
{
	enum dispatch_result res =
	    dispatch_follow(r) ? dispatch_ask(r) : dispatch_confirm(r);

	if (res == DISPATCH_GO)
		flow_start(r);
	else if (res != DISPATCH_PARKED)
		flow_not_now(r, res);
	else if (request_limit_ms(r) < r->timer.due_ms)
		flow_enter(r, REQUEST_WAITING, request_limit_ms(r));
	/* else it just goes on waiting */
}

/* Is what it was admitted under still so? A dry run is not held up. */
static enum dispatch_result
flow_confirm(struct request *r)
{
	return r->policy->dry_run ? DISPATCH_GO : dispatch_confirm(r);
}

/* Rule 14, unless the key has been shut since the attempt began. */
static void
flow_reconnect(struct request *r)
{
	enum dispatch_result res = flow_confirm(r);

	if (res != DISPATCH_GO) {
		flow_not_now(r, res);
		return;
	}
	r->fresh = true;
	STATS_ADD(r->engine->stats.reconnects, 1);
	flow_enter(r, REQUEST_CONNECTING,
	    flow_earlier(r->deadline_ms,
		flow_in(r, r->policy->connect_timeout_ms)));
	r->engine->ports->start(r, true);
}

void
flow_start(struct request *r)
{
	if (r->state == REQUEST_WAITING && r->own_until_ms)
		r->own_until_ms = 0;
	r->attempts++;
	r->fresh = false;
	r->answer_in_hand = false;
	if (r->first_attempt_ms < 0)
		r->first_attempt_ms = r->engine->now_ms;
	STATS_ADD(r->engine->stats.attempts, 1);
	flow_enter(r, REQUEST_CONNECTING,
	    flow_earlier(r->deadline_ms,
		flow_in(r, r->policy->connect_timeout_ms)));
	r->engine->ports->start(r, false);
}

/* Its wait can't end in time: the key is shut for longer. */
void
flow_refused(struct request *r)
{
	int status = r->last_throttled;
	enum give_up why = GIVE_UP_SHUT;

	if (r->engine->drain_ms != TIMER_NEVER) {
		status = 503;
		why = GIVE_UP_DRAINING;
	} else if (r->signature_bound) {
		why = GIVE_UP_SIGNATURE;
	}
	flow_answer_later(r, status, why);
}

void
request_begin(struct request *r)
{
	struct engine *e = r->engine;

	if (timer_arm(&e->timers, &r->timer, r->deadline_ms) < 0) {
		r->gave_up = GIVE_UP_MEMORY;
		request_move(r, REQUEST_GONE);
		e->ports->cut(r);
		return;
	}
	if (!r->has_body || r->body.complete) {
		flow_ask(r);
		return;
	}
	if (!r->policy->dry_run && dispatch_is_shut(r)) {
		flow_refused(r);
		return;
	}
	/* The deadline begins when the body is in: a slow upload is not a
	 * wait. Edge bounds the upload by idle_timeout. */
	flow_enter(r, REQUEST_READING, TIMER_NEVER - 1);
	e->ports->want_body(r);
}

static void
flow_body_in(struct request *r)
{
	if (r->state != REQUEST_READING)
		return;
	request_count_down(r);
	flow_ask(r);
}

void
request_body_done(struct request *r)
{
	r->body.complete = true;
	flow_body_in(r);
}

void
request_body_over(struct request *r)
{
	flow_body_in(r);
}

bool
request_connected(struct request *r, bool reused)
{
	enum dispatch_result res = DISPATCH_GO;

	if (AB_NEVER(r->state != REQUEST_CONNECTING))
		return false;
	/* Names and handshakes take their time; others may have been refused
	 * in it. An idle connection takes none. */
	if (!reused)
		res = flow_confirm(r);
	if (res == DISPATCH_GO) {
		flow_enter(r, REQUEST_SENDING,
		    flow_in(r, r->policy->idle_timeout_ms));
		return true;
	}
	if (--r->attempts == 0)
		r->first_attempt_ms = -1;
	r->engine->ports->discard(r);
	flow_not_now(r, res);
	return false;
}

void
request_sent(struct request *r)
{
	int64_t due = flow_in(r, r->policy->response_timeout_ms);

	if (r->state != REQUEST_SENDING)
		return; /* an early answer is being relayed already */
	/* A streamed body took its own time; the answer gets its due. */
	if (r->body.once != BODY_WHOLE && r->deadline_ms < due)
		r->deadline_ms = due;
	flow_enter(r, REQUEST_AWAITING, flow_earlier(r->deadline_ms, due));
}

void
flow_retry(struct request *r, const struct verdict *v)
{
	r->retries++;
	if (v->counts_reset)
		r->resets++;
	r->own_until_ms = 0;
	if (v->at_ms > r->engine->now_ms)
		flow_wait(r, v->at_ms,
		    flow_earlier(v->at_ms, request_limit_ms(r)));
	else
		flow_ask(r);
}

static int
failure_status(const struct attempt *a)
{
	switch (a->end) {
	case ATTEMPT_CONNECT_TIMEOUT:
	case ATTEMPT_RESPONSE_TIMEOUT:
		return 504;
	case ATTEMPT_NO_MEMORY:
		return 503;
	case ATTEMPT_PARENT:
		return a->status;
	default:
		return 502;
	}
}

/* When to come back, as far as the failure tells; -1: it does not. */
static int64_t
failure_retry_after_ms(const struct attempt *a)
{
	if (a->end == ATTEMPT_NO_MEMORY)
		return 1000;
	return a->end == ATTEMPT_PARENT && a->hint.valid ? a->hint.wait_ms : -1;
}

void
request_failed(struct request *r, const struct attempt *a)
{
	struct verdict v;

	if (AB_NEVER(
		r->state < REQUEST_CONNECTING || r->state > REQUEST_AWAITING))
		return;
	v = dispatch_outcome(r, a);
	switch (v.kind) {
	case VERDICT_RECONNECT:
		flow_reconnect(r);
		return;
	case VERDICT_RETRY:
		flow_retry(r, &v);
		return;
	case VERDICT_DELIVER:
	case VERDICT_GIVE_UP:
		break;
	}
	flow_answer(r, failure_status(a), v.why, failure_retry_after_ms(a));
}

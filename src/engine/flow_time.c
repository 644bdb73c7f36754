/* SPDX-License-Identifier: MIT */
/*
 * flow_time decides what happens when time runs out, or is made to: a wait is
 * over, an attempt takes too long, nothing moves, the process drains.
 */
#include "flow.h"

#include "dispatch.h"

void
request_progress(struct request *r)
{
	int64_t due = flow_in(r, r->policy->idle_timeout_ms);

	switch (r->state) {
	case REQUEST_SENDING:
		/* A stored body goes out within the deadline; one that the
		 * client is still sending takes the client's time. */
		if (r->body.once == BODY_WHOLE)
			due = flow_earlier(due, r->deadline_ms);
		break;
	case REQUEST_RELAYING:
	case REQUEST_TUNNELING:
	case REQUEST_ANSWERING:
		break;
	default:
		return;
	}
	(void)!timer_arm(&r->engine->timers, &r->timer, due);
}

/* WAITING is over without an admission. */
static void
flow_wait_over(struct request *r)
{
	struct engine *e = r->engine;
	int status = r->last_throttled;

	if (r->own_until_ms) {
		r->waited_ms[WAIT_BACKOFF] += e->now_ms - r->wait_began_ms;
		if (e->now_ms >= r->own_until_ms &&
		    e->now_ms < request_limit_ms(r)) {
			r->own_until_ms = 0;
			flow_ask(r);
			return;
		}
	} else if (r->grant == GRANT_MAIL) {
		/* Admitted in this very turn: that counts. */
		flow_enter(r, REQUEST_WAITING, flow_in(r, 1));
		return;
	}
	dispatch_leave(r);
	if (e->now_ms >= r->deadline_ms)
		flow_answer_later(r, status ? status : 504,
		    r->signature_bound ? GIVE_UP_SIGNATURE : GIVE_UP_DEADLINE);
	else if (e->drain_ms != TIMER_NEVER)
		flow_answer_later(r, 503, GIVE_UP_DRAINING);
	else
		flow_answer_later(r, 503, GIVE_UP_QUEUE_TIMEOUT);
}

/* An attempt has run out of time. */
static void
flow_attempt_over(struct request *r)
{
	struct engine *e = r->engine;
	struct attempt a = {.end = ATTEMPT_RESPONSE_TIMEOUT, .sent = true};

	e->ports->abort(r);
	if (r->state == REQUEST_SENDING && r->starved) {
		flow_answer(r, 408, GIVE_UP_CLIENT_TIMEOUT, -1);
		return;
	}
	if (r->body.once == BODY_WHOLE && e->now_ms >= r->deadline_ms) {
		flow_answer(r, 504,
		    r->signature_bound ? GIVE_UP_SIGNATURE : GIVE_UP_DEADLINE,
		    -1);
		return;
	}
	if (r->state == REQUEST_CONNECTING)
		a = (struct attempt){.end = ATTEMPT_CONNECT_TIMEOUT};
	request_failed(r, &a);
}

void
flow_timeout(struct request *r)
{
	switch (r->state) {
	case REQUEST_READING:
		flow_answer(r, 408, GIVE_UP_CLIENT_TIMEOUT, -1);
		return;
	case REQUEST_WAITING:
		flow_wait_over(r);
		return;
	case REQUEST_CONNECTING:
	case REQUEST_SENDING:
	case REQUEST_AWAITING:
		flow_attempt_over(r);
		return;
	case REQUEST_RELAYING:
		flow_cut(r, GIVE_UP_IDLE);
		return;
	case REQUEST_TUNNELING:
	case REQUEST_ANSWERING:
		flow_cut(r, GIVE_UP_NONE);
		return;
	case REQUEST_GONE:
	case REQUEST_STATE_COUNT:
		break;
	}
}

void
flow_drain(struct request *r)
{
	int64_t due = r->timer.due_ms, at_ms;

	dispatch_hurry(r);
	if (r->grant == GRANT_MAIL)
		return; /* it starts in this turn */
	if (r->own_until_ms)
		at_ms = r->own_until_ms;
	else
		(void)dispatch_why(r, &at_ms);
	if (at_ms != TIMER_NEVER && at_ms >= r->engine->drain_ms)
		due = r->engine->now_ms;
	(void)!timer_arm(&r->engine->timers, &r->timer,
	    flow_earlier(due, r->engine->drain_ms));
}

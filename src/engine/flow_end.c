/* SPDX-License-Identifier: MIT */
/*
 * flow_end decides how a request ends once its answer, or its client, has gone:
 * the last events of its life.
 */
#include "dispatch.h"
#include "flow.h"

void
request_relayed(struct request *r)
{
	if (AB_NEVER(r->state != REQUEST_RELAYING))
		return;
	flow_end(r);
}

void
request_cut(struct request *r)
{
	if (r->state == REQUEST_GONE)
		return;
	r->gave_up = GIVE_UP_UPSTREAM_CUT;
	flow_end(r);
}

void
request_tunnel(struct request *r)
{
	/* A tunnel holds no slot: what passes in it is nobody's business. */
	dispatch_release(r, true);
	r->head_ms = r->engine->now_ms;
	flow_enter(r, REQUEST_TUNNELING,
	    flow_in(r, r->policy->idle_timeout_ms));
}

void
request_closed(struct request *r)
{
	if (r->state != REQUEST_GONE)
		flow_end(r);
}

void
request_answered(struct request *r)
{
	if (AB_NEVER(r->state != REQUEST_ANSWERING))
		return;
	flow_end(r);
}

void
request_gone(struct request *r)
{
	struct engine *e = r->engine;
	enum request_state was = r->state;

	if (was == REQUEST_GONE)
		return;
	if (was == REQUEST_WAITING) {
		if (r->own_until_ms)
			r->waited_ms[WAIT_BACKOFF] +=
			    e->now_ms - r->wait_began_ms;
		dispatch_leave(r);
	}
	if (was != REQUEST_ANSWERING && was != REQUEST_TUNNELING) {
		r->gave_up = GIVE_UP_CLIENT_GONE;
		STATS_ADD(e->stats.client_gone, 1);
	}
	flow_end(r);
	if (was >= REQUEST_CONNECTING && was <= REQUEST_TUNNELING)
		e->ports->abort(r);
}

void
request_give_up(struct request *r, int status, enum give_up why)
{
	if (r->state > REQUEST_AWAITING) {
		flow_cut(r, why);
		return;
	}
	if (r->state == REQUEST_WAITING)
		dispatch_leave(r);
	if (r->state >= REQUEST_CONNECTING && r->state <= REQUEST_AWAITING)
		r->engine->ports->abort(r);
	flow_answer(r, status, why, -1);
}

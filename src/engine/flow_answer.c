/* SPDX-License-Identifier: MIT */
/*
 * flow_answer decides what becomes of an answer: it is read, judged, and then
 * relayed or thrown away for another try.
 */
#include "dispatch.h"
#include "flow.h"

static void
flow_note_status(struct request *r, int status)
{
	if (r->nstatuses < REQUEST_STATUSES_MAX)
		r->statuses[r->nstatuses] = (short)status;
	r->nstatuses++;
	r->last_status = status;
}

static void
flow_deliver(struct request *r, const struct attempt *a, bool throttled,
    enum give_up why)
{
	struct stats *s = &r->engine->stats;

	if (throttled)
		STATS_ADD(s->leaked, 1);
	else if (r->last_throttled && a->status < 400)
		STATS_ADD(s->absorbed, 1);
	r->gave_up = why;
	r->head_ms = r->engine->now_ms;
	flow_enter(r, REQUEST_RELAYING, flow_in(r, r->policy->idle_timeout_ms));
	r->engine->ports->relay(r);
}

void
request_got_head(struct request *r, const struct head *h,
    const struct body_view *body, bool reused)
{
	struct engine *e = r->engine;
	struct attempt a = {
	    .end = ATTEMPT_ANSWER,
	    .status = h->status,
	    .reused = reused,
	    .sent = true,
	};
	struct reading is;
	struct verdict v;

	if (AB_NEVER(
		r->state != REQUEST_SENDING && r->state != REQUEST_AWAITING))
		return;
	r->answer_in_hand = true;
	flow_note_status(r, h->status);
	is = reading_of(r->policy, h, body, e->ports->wall_ms(e));
	a.says = is.says;
	a.hint = is.hint;
	if (is.throttled) {
		STATS_ADD(e->stats.throttled, 1);
		r->last_throttled = verdict_refusal_status(&a);
	}
	v = dispatch_outcome(r, &a);
	if (v.kind != VERDICT_RETRY || r->policy->dry_run) {
		flow_deliver(r, &a, is.throttled, v.why);
		return;
	}
	STATS_ADD(e->stats.discarded, 1);
	r->answer_in_hand = false;
	e->ports->discard(r);
	flow_retry(r, &v);
}

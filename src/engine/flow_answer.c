/* SPDX-License-Identifier: MIT */
/*
 * flow_answer decides what becomes of an answer: it is read, judged, and then
 * relayed or thrown away for another try.
 */
#include "dispatch.h"
#include "flow.h"
#include "proto/coding.h"

#define LOOK_MS 1000       /* rule 13: an answer is not worth more time */
#define LOOK_EVENT_MS 2000 /* the first event of a stream */

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

/* strategy = custom. Its script runs without any lock: others need the key. */
static struct custom_wait
flow_ask_script(struct request *r, const struct head *h,
    const struct body_view *body, const struct hint *hint)
{
	struct engine *e = r->engine;
	int64_t left_ms = request_limit_ms(r) - e->now_ms;
	struct custom_ctx c = {
	    .head = h,
	    .body = body,
	    .attempt = r->attempts,
	    .wall_ms = e->ports->wall_ms(e),
	    .waited_ms = request_waited_ms(r),
	    .deadline_ms = left_ms > 0 ? left_ms : 0,
	    .hint_ms = hint->valid ? hint->wait_ms : 0,
	    .backoff_ms = dispatch_own_ms(r),
	};
	struct custom_wait said = {.kind = CUSTOM_OWN};

	if (e->ports->custom(r, &c, &said) < 0)
		STATS_ADD(e->stats.script_errors, 1);
	if (said.kind != CUSTOM_WAIT)
		said.ms = c.backoff_ms;
	return said;
}

/* Its events can't be told apart. */
static bool
is_coded(const struct head *h)
{
	struct coding_list codings;

	return coding_list_of(h, &codings) != 0 || codings.n > 0;
}

/* Does the script of strategy = custom look at the body of this one? Only where
 * it is a refusal whatever its body says. */
static bool
script_looks(const struct policy *p, const struct head *h)
{
	struct body_view none = {.whole = false};

	return p->script_body && reading_of(p, h, &none, 0).throttled;
}

struct look
request_look(const struct request *r, const struct head *h)
{
	const struct policy *p = r->policy;
	int64_t left_ms = r->timer.due_ms - r->engine->now_ms - 1;
	struct look look = {.bytes = 0};

	if (left_ms < 1 ||
	    (!when_wants_body(&p->when, h) && !script_looks(p, h)))
		return look;
	look.event = when_is_events(h);
	if (look.event && is_coded(h))
		return look;
	look.ms = flow_earlier(look.event ? LOOK_EVENT_MS : LOOK_MS, left_ms);
	/* A stream is not held up unless it was asked for: its first bytes may
	 * be long in coming. */
	look.bytes = look.event ? p->stream_peek_bytes : WHEN_BODY_MAX;
	return look;
}

/* What no wait would mend parks nobody: what it says of quotas may be about the
 * month. Whom it is about is asked of refusals only. */
static struct lesson
flow_lesson(const struct request *r, const struct head *h,
    const struct reading *is)
{
	const struct policy *p = r->policy;
	struct lesson l = {.pause_ms = 0};

	if (!is->throttled && is->says != SAYS_PERMANENT)
		l = lesson_of(&p->quota, &p->hint, h,
		    r->engine->ports->wall_ms(r->engine));
	lesson_marks(&l, &p->lesson, h);
	if (!is->throttled)
		l.scope = SCOPE_BUCKET;
	return l;
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
	if (body->bytes.p)
		STATS_ADD(e->stats.looks, 1);
	if (is.says == SAYS_PERMANENT)
		STATS_ADD(e->stats.permanent, 1);
	if (is.throttled) {
		STATS_ADD(e->stats.throttled, 1);
		r->last_throttled = verdict_refusal_status(&a);
		if (r->policy->backoff.strategy == STRATEGY_CUSTOM)
			a.custom = flow_ask_script(r, h, body, &is.hint);
	}
	a.lesson = flow_lesson(r, h, &is);
	dispatch_bucket(r, &a);
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

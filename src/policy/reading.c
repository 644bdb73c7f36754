/* SPDX-License-Identifier: MIT */
/*
 * reading decides in which order an answer's signs count: what a rule says comes
 * before the status, what a field says before the body. It refuses to know what
 * follows from it (verdict).
 */
#include "policy/reading.h"

static bool
has_rules(const struct when_cfg *w)
{
	return w->permanent.n || w->throttled.n || w->wait_body.n || w->wait.n;
}

static enum attempt_says
says_of(enum when_verdict v)
{
	switch (v) {
	case WHEN_THROTTLED:
		return SAYS_THROTTLED;
	case WHEN_PERMANENT:
		return SAYS_PERMANENT;
	case WHEN_NONE:
		break;
	}
	return SAYS_STATUS;
}

/* Fields, then the body, then what is known to be the price. */
static struct hint
wait_of(const struct policy *p, const struct head *h, struct when_view *view,
    int64_t wall_ms)
{
	struct hint_clock clk = hint_clock_of(h, wall_ms);
	struct hint hint = hint_find(&p->hint, h, wall_ms);

	if (!hint.valid && view)
		hint = when_hint(&p->when, view, &clk);
	if (!hint.valid && view)
		hint = when_penalty(&p->when, view);
	return hint;
}

struct reading
reading_of(const struct policy *p, const struct head *h,
    const struct body_view *body, int64_t wall_ms)
{
	struct attempt a = {.end = ATTEMPT_ANSWER, .status = h->status};
	bool rules = has_rules(&p->when);
	struct reading r = {.throttled = false};
	struct when_view view;

	if (rules) {
		when_view_init(&view, h, body->bytes, body->whole);
		a.says = says_of(when_judge(&p->when, &view));
	}
	r.says = a.says;
	r.throttled = verdict_throttled(&p->verdict, &a);
	if (r.throttled)
		r.hint = wait_of(p, h, rules ? &view : NULL, wall_ms);
	if (rules)
		when_view_clear(&view);
	return r;
}

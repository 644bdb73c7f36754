/* SPDX-License-Identifier: MIT */
/*
 * Decides which answers teach something, and which of their fields. It refuses
 * to know what is made of it (quota).
 */
#include "policy/lesson.h"

static bool
may_pause(int status)
{
	return status >= 200 && status < 300 && status != 201 && status != 202;
}

static int64_t
pause_of(const struct head *h, int64_t wall_ms)
{
	struct hint_clock clk = hint_clock_of(h, wall_ms);
	int64_t ms;

	if (hint_value(head_get(h, FIELD_RETRY_AFTER), HINT_AUTO, &clk, &ms) <
	    0)
		return 0;
	return ms;
}

struct lesson
lesson_of(const struct quota_cfg *cfg, const struct hint_cfg *hints,
    const struct head *h, int64_t wall_ms)
{
	struct lesson l = {.pause_ms = 0};
	struct hint_quota q;

	if (hints->n == 0)
		return l;
	if (cfg->percent > 0) {
		q = hint_quota_find(hints, h, wall_ms);
		if (q.valid)
			l.quota = (struct quota_told){q.remaining, q.limit,
			    q.reset_ms};
	}
	if (cfg->pauses && may_pause(h->status) &&
	    head_has(h, FIELD_RETRY_AFTER))
		l.pause_ms = pause_of(h, wall_ms);
	return l;
}

void
lesson_marks(struct lesson *l, const struct lesson_cfg *cfg,
    const struct head *h)
{
	struct span scope;

	if (cfg->bucket.n > 0)
		l->bucket = head_find(h, cfg->bucket);
	if (cfg->scope.n == 0)
		return;
	scope = head_find(h, cfg->scope);
	if (span_ieq(scope, SPAN("global")) || span_ieq(scope, SPAN("true")))
		l->scope = SCOPE_GLOBAL;
	else if (span_ieq(scope, SPAN("shared")))
		l->scope = SCOPE_SHARED;
}

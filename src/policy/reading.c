/* SPDX-License-Identifier: MIT */
/*
 * reading decides in which order an answer's signs count: what a rule says comes
 * before the status, what a field says before the body. It refuses to know what
 * follows from it (verdict).
 */
#include "policy/reading.h"

struct reading
reading_of(const struct policy *p, const struct head *h,
    const struct body_view *body, int64_t wall_ms)
{
	struct reading r = {.says = SAYS_STATUS};
	struct attempt a = {.end = ATTEMPT_ANSWER, .status = h->status};

	(void)body;
	r.throttled = verdict_throttled(&p->verdict, &a);
	if (r.throttled)
		r.hint = hint_find(&p->hint, h, wall_ms);
	return r;
}

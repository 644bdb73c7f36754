/* SPDX-License-Identifier: MIT */
/*
 * limit is an upstream that counts for itself, in arithmetic of its own: it
 * must not share a mistake with the pace that it judges.
 */
#include <stdio.h>

#include "world.h"

/* 0: it may pass; else us until it might. */
static int64_t
bucket_judge(struct origin *o, const struct limit *l, int64_t now_us)
{
	int64_t now = now_us * l->count, early = (l->burst - 1) * l->per_us;

	if (o->tat - early > now)
		return (o->tat - early - now + l->count - 1) / l->count;
	o->tat = (o->tat > now ? o->tat : now) + l->per_us;
	return 0;
}

static int64_t
window_judge(struct origin *o, const struct limit *l, int64_t now_us)
{
	int64_t window = now_us / l->per_us;

	if (window != o->window) {
		o->window = window;
		o->in_window = 0;
	}
	if (o->in_window < l->count) {
		o->in_window++;
		return 0;
	}
	return (window + 1) * l->per_us - now_us;
}

static void
put_hint(struct step *s, const struct limit *l, int64_t wait_us)
{
	int64_t ms = (wait_us + 999) / 1000;

	switch (l->hint) {
	case LIMIT_HINT_NONE:
		return;
	case LIMIT_HINT_S:
		ms = (ms + 999) / 1000 * 1000;
		break;
	case LIMIT_HINT_MS:
		break;
	case LIMIT_HINT_FIXED:
		ms = l->hint_us / 1000;
		break;
	}
	if (ms % 1000 == 0)
		snprintf(s->fields, sizeof(s->fields), "Retry-After: %lld\r\n",
		    (long long)(ms / 1000));
	else
		snprintf(s->fields, sizeof(s->fields),
		    "retry-after-ms: %lld\r\n", (long long)ms);
}

/* What is left now, and how long it has to last from the answer on. */
static void
put_quota(struct step *s, const struct limit *l, const struct origin *o,
    int64_t now_us)
{
	int64_t ends_us = (o->window + 1) * l->per_us;
	int64_t ms = (ends_us - now_us - l->after_us + 999) / 1000;

	if (ms > 0)
		snprintf(s->fields, sizeof(s->fields),
		    "X-RateLimit-Limit: %lld\r\n"
		    "X-RateLimit-Remaining: %lld\r\n"
		    "X-RateLimit-Reset-After: %lld.%03lld\r\n",
		    (long long)l->count, (long long)(l->count - o->in_window),
		    (long long)(ms / 1000), (long long)(ms % 1000));
}

void
limit_judge(struct world *w, struct try *t)
{
	int service = t->job->service;
	const struct limit *l = &w->scene->services[service].limit;
	struct origin *o = &w->origins[service];
	int64_t wait_us = 0;

	if (l->kind == LIMIT_BUCKET)
		wait_us = bucket_judge(o, l, w->now_us);
	else if (l->kind == LIMIT_WINDOW)
		wait_us = window_judge(o, l, w->now_us);
	else if (o->busy >= l->count)
		wait_us = 1000000;
	t->step = &t->own_step;
	if (wait_us == 0) {
		t->own_step = (struct step){.kind = STEP_ANSWER,
		    .status = 200,
		    .after_us = l->after_us};
		t->counted = true;
		o->busy++;
		if (l->tells)
			put_quota(&t->own_step, l, o, w->now_us);
		return;
	}
	t->own_step = (struct step){.kind = STEP_ANSWER,
	    .status = l->status,
	    .after_us = l->refuse_after_us};
	put_hint(&t->own_step, l, wait_us);
}

void
limit_over(struct world *w, struct try *t)
{
	if (t->counted)
		w->origins[t->job->service].busy--;
	t->counted = false;
}

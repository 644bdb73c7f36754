/* SPDX-License-Identifier: MIT */
/*
 * Limiters. This file decides who is over a limit; it is the judge of others,
 * so it rounds nothing in anybody's favour.
 *
 *   bucket    level counts in units of 1/period_ns token: one ns adds `count`,
 *             an attempt takes period_ns, burst * period_ns is full. No drift,
 *             because nothing is ever divided but to find a waiting time.
 *   fixed     a grid of windows from the first attempt on, one counter.
 *   sliding   the times of the last `count` admitted attempts in a ring; the
 *             oldest must be a whole period old.
 *   penalty   the same ring, fed by refused attempts too, so knocking early
 *             moves the door further away.
 *
 * It reads no clock and knows nothing of HTTP.
 */
#include "limit.h"

#include "base/mem.h"

static bool
is_ring(const struct limit *l)
{
	return l->cfg.kind == LIMIT_SLIDING || l->cfg.kind == LIMIT_PENALTY;
}

const char *
limit_cfg_fault(const struct limit_cfg *cfg)
{
	if (cfg->count == 0 || cfg->period_ns <= 0)
		return "the rate must be above zero";
	if (cfg->kind == LIMIT_BUCKET && cfg->burst == 0)
		return "the burst must be at least 1";
	if (cfg->kind == LIMIT_BUCKET &&
	    cfg->burst > INT64_MAX / cfg->period_ns)
		return "burst x period is too large to be exact";
	if ((cfg->kind == LIMIT_SLIDING || cfg->kind == LIMIT_PENALTY) &&
	    cfg->count > LIMIT_SLIDING_MAX)
		return "a sliding window holds at most 100000 attempts";
	return NULL;
}

bool
limit_cfg_eq(const struct limit_cfg *a, const struct limit_cfg *b)
{
	return a->kind == b->kind && a->count == b->count &&
	    a->burst == b->burst && a->period_ns == b->period_ns;
}

void
limit_init(struct limit *l, const struct limit_cfg *cfg)
{
	*l = (struct limit){.cfg = *cfg};
}

void
limit_clear(struct limit *l)
{
	mem_free(l->seen_ns);
	limit_init(l,
	    &(struct limit_cfg){
		.kind = l->cfg.kind,
		.count = l->cfg.count,
		.burst = l->cfg.burst,
		.period_ns = l->cfg.period_ns,
	    });
}

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static uint64_t
bucket_full(const struct limit *l)
{
	return (uint64_t)l->cfg.burst * (uint64_t)l->cfg.period_ns;
}

static void
bucket_refill(struct limit *l, uint64_t elapsed_ns)
{
	uint64_t full = bucket_full(l);

	/* compare first: elapsed * count may not fit */
	if (elapsed_ns >= ceil_div(full - l->level, l->cfg.count))
		l->level = full;
	else
		l->level += elapsed_ns * l->cfg.count;
}

/* Brings the state to now_ns; returns the time to reckon with. */
static int64_t
advance(struct limit *l, int64_t now_ns)
{
	if (!l->begun) {
		l->begun = true;
		l->at_ns = l->window_ns = now_ns;
		l->level = bucket_full(l);
	}
	if (now_ns < l->at_ns)
		now_ns = l->at_ns;
	if (l->cfg.kind == LIMIT_BUCKET)
		bucket_refill(l, (uint64_t)(now_ns - l->at_ns));
	if (l->cfg.kind == LIMIT_FIXED &&
	    now_ns - l->window_ns >= l->cfg.period_ns) {
		l->window_ns =
		    now_ns - (now_ns - l->window_ns) % l->cfg.period_ns;
		l->used = 0;
	}
	l->at_ns = now_ns;
	return now_ns;
}

/* The oldest of the last `count` attempts; there are that many. */
static int64_t
ring_oldest(const struct limit *l)
{
	return l->seen_ns[l->first];
}

static int
ring_grow(struct limit *l)
{
	uint32_t cap = l->cap ? l->cap * 2 : 16;
	int64_t *v;

	if (cap > l->cfg.count)
		cap = l->cfg.count;
	v = mem_realloc(l->seen_ns, cap * sizeof *v);
	if (v == NULL)
		return -1;
	l->seen_ns = v;
	l->cap = cap;
	return 0;
}

/* The ring wraps only once it has grown to `count`, so growing keeps order. */
static int
ring_push(struct limit *l, int64_t now_ns)
{
	if (l->n == l->cfg.count) {
		l->seen_ns[l->first] = now_ns;
		l->first = (l->first + 1) % l->n;
		return 0;
	}
	if (l->n == l->cap && ring_grow(l) < 0)
		return -1;
	l->seen_ns[l->n++] = now_ns;
	return 0;
}

bool
limit_fits(struct limit *l, int64_t now_ns)
{
	int64_t ready_ns = limit_ready_ns(l, now_ns);

	/* at_ns is now_ns, or later where time seemed to run backwards */
	return ready_ns <= l->at_ns;
}

int
limit_take(struct limit *l, int64_t now_ns)
{
	now_ns = advance(l, now_ns);
	if (is_ring(l))
		return ring_push(l, now_ns);
	if (l->cfg.kind == LIMIT_FIXED)
		l->used++;
	else
		l->level -= (uint64_t)l->cfg.period_ns;
	return 0;
}

int
limit_refuse(struct limit *l, int64_t now_ns)
{
	now_ns = advance(l, now_ns);
	return l->cfg.kind == LIMIT_PENALTY ? ring_push(l, now_ns) : 0;
}

int64_t
limit_ready_ns(struct limit *l, int64_t now_ns)
{
	uint64_t token = (uint64_t)l->cfg.period_ns;
	int64_t then = INT64_MIN;

	now_ns = advance(l, now_ns);
	if (is_ring(l)) {
		if (l->n == l->cfg.count)
			then = ring_oldest(l) + l->cfg.period_ns;
	} else if (l->cfg.kind == LIMIT_FIXED) {
		if (l->used >= l->cfg.count)
			then = l->window_ns + l->cfg.period_ns;
	} else if (l->level < token) {
		then =
		    now_ns + (int64_t)ceil_div(token - l->level, l->cfg.count);
	}
	return then > now_ns ? then : now_ns;
}

uint32_t
limit_left(struct limit *l, int64_t now_ns)
{
	uint32_t busy = 0;

	now_ns = advance(l, now_ns);
	if (l->cfg.kind == LIMIT_BUCKET)
		return (uint32_t)(l->level / (uint64_t)l->cfg.period_ns);
	if (l->cfg.kind == LIMIT_FIXED)
		return l->cfg.count - l->used;
	/* newest first: all that are younger than a period */
	while (busy < l->n) {
		uint32_t i = (l->first + l->n - 1 - busy) % l->n;

		if (now_ns - l->seen_ns[i] >= l->cfg.period_ns)
			break;
		busy++;
	}
	return l->cfg.count - busy;
}

size_t
limit_bytes(const struct limit *l)
{
	return l->cap * sizeof *l->seen_ns;
}

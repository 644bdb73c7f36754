/* SPDX-License-Identifier: MIT */
/*
 * bucket.c: when the next token is there.
 *
 *	        tolerance = (burst - 1) * interval
 *	      |<--------------------------------->|
 *	 -----+-----------------------------------+------------> time
 *	     now: a token is there from here on  tat: all taken would be paid
 *
 * A take moves tat one interval on. An interval is per_ms / count, seldom a
 * whole number of ns, so all arithmetic is in units of 1 ns / count: there an
 * interval is the whole number per_ns, and nothing is ever rounded but the
 * wait, upwards. The largest product (366 days in ns, times a 64-bit burst) has
 * 119 bits.
 *
 * Decides times only. It refuses to know who waits, and keeps no queue.
 */
#include "policy/bucket.h"

#define NS_PER_MS 1000000
/* Keeps tat_ns in its 64 bits: 100 years of uptime, this, and an interval. */
#define TOLERANCE_NS_MAX (INT64_MAX / 2)

typedef __int128 wide; /* a time in ns / count of the rate at hand */

static wide
at_ms(const struct bucket_rate *r, int64_t ms)
{
	return (wide)ms * NS_PER_MS * (wide)r->count;
}

static wide
interval(const struct bucket_rate *r)
{
	return (wide)r->per_ms * NS_PER_MS;
}

static wide
tolerance(const struct bucket_rate *r)
{
	wide full = (wide)(r->burst - 1) * interval(r);
	wide most = (wide)TOLERANCE_NS_MAX * (wide)r->count;

	return full < most ? full : most;
}

static wide
tat_get(const struct bucket *b, unsigned i, const struct bucket_rate *r)
{
	return (wide)b->tat_ns[i] * (wide)r->count + (wide)b->tat_part[i];
}

static void
tat_set(struct bucket *b, unsigned i, const struct bucket_rate *r, wide tat)
{
	b->tat_ns[i] = (int64_t)(tat / (wide)r->count);
	b->tat_part[i] = (uint32_t)(tat % (wide)r->count);
}

/*
 * When the next start counts as made. A plan that is less than a step of the
 * clock behind goes on; otherwise a new one begins now, for a rate of more than
 * one a step with those of this step.
 */
static wide
due(const struct bucket_rate *r, wide tat, int64_t now_ms)
{
	wide now = at_ms(r, now_ms), step = at_ms(r, 1);

	if (tat > now - step)
		return tat;
	return interval(r) < step ? now - step + interval(r) : now;
}

void
bucket_init(struct bucket *b)
{
	*b = (struct bucket){.tat_ns = {0}};
}

int64_t
bucket_wait_ms(const struct bucket *b, const struct bucket_cfg *cfg,
    int64_t now_ms)
{
	int64_t longest = 0;

	for (unsigned i = 0; i < cfg->n; i++) {
		const struct bucket_rate *r = &cfg->v[i];
		wide step = at_ms(r, 1);
		wide left = tat_get(b, i, r) - tolerance(r) - at_ms(r, now_ms);
		int64_t wait;

		if (left <= 0)
			continue;
		wait = (int64_t)((left + step - 1) / step);
		if (wait > longest)
			longest = wait;
	}
	return longest;
}

void
bucket_take(struct bucket *b, const struct bucket_cfg *cfg, int64_t now_ms)
{
	for (unsigned i = 0; i < cfg->n; i++) {
		const struct bucket_rate *r = &cfg->v[i];
		wide at = due(r, tat_get(b, i, r), now_ms);

		tat_set(b, i, r, at + interval(r));
	}
}

uint64_t
bucket_tokens(const struct bucket *b, const struct bucket_cfg *cfg,
    int64_t now_ms)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < cfg->n; i++) {
		const struct bucket_rate *r = &cfg->v[i];
		wide room = at_ms(r, now_ms) + tolerance(r) -
		    due(r, tat_get(b, i, r), now_ms);
		wide tokens = room < 0 ? 0 : room / interval(r) + 1;

		if (tokens < (wide)least)
			least = (uint64_t)tokens;
	}
	return least;
}

/* How well an old rate stands for a new one. */
enum kinship { OTHER, SAME_PERIOD, SAME_RATE };

static enum kinship
kinship(const struct bucket_rate *a, const struct bucket_rate *b)
{
	if (a->per_ms != b->per_ms)
		return OTHER;
	return a->count == b->count ? SAME_RATE : SAME_PERIOD;
}

/*
 * How far ahead of now the new rate's tat has to be to stand for the tokens
 * that the old one lacks. Rounded up.
 */
static wide
converted(const struct bucket_rate *from, const struct bucket_rate *to,
    wide debt)
{
	if (debt <= 0)
		return 0;
	return (debt * to->per_ms + from->per_ms - 1) / from->per_ms;
}

static wide
debt_of(const struct bucket *b, const struct bucket_cfg *old,
    const struct bucket_rate *to, int64_t now_ms)
{
	enum kinship nearest = OTHER;
	wide debt = 0;

	for (unsigned i = 0; i < old->n; i++) {
		const struct bucket_rate *from = &old->v[i];
		wide ahead = tat_get(b, i, from) - at_ms(from, now_ms);
		enum kinship k = kinship(from, to);

		if (k != SAME_RATE)
			ahead = converted(from, to, ahead);
		if (k < nearest || (k == nearest && ahead <= debt))
			continue;
		nearest = k;
		debt = ahead;
	}
	return debt;
}

void
bucket_reconfigure(struct bucket *b, const struct bucket_cfg *old,
    const struct bucket_cfg *now_cfg, int64_t now_ms)
{
	struct bucket was = *b;

	bucket_init(b);
	for (unsigned i = 0; i < now_cfg->n; i++) {
		const struct bucket_rate *r = &now_cfg->v[i];
		wide debt = debt_of(&was, old, r, now_ms);
		wide most = tolerance(r) + interval(r);

		if (debt > most)
			debt = most;
		tat_set(b, i, r, at_ms(r, now_ms) + debt);
	}
}

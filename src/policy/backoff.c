/* SPDX-License-Identifier: MIT */
/*
 * backoff.c: how long to wait before the next try.
 *
 *	         own = base * u * (2^n - 1), at most max    hint
 *	                     \                              /
 *	  exponential, auto:  the larger of the two (custom: as auto)
 *	  response_header:    the hint; own where there is none
 *
 * Decides the length alone. It refuses to know the time, where the draws come
 * from, and whether there will be a next try at all.
 */
#include "policy/backoff.h"

/* 2^n - 1 saturates here: far above any max_ms, and times any base finite. */
#define DOUBLINGS_MAX 512

static double
ceiling(unsigned n)
{
	double power = 1.0;

	if (n > DOUBLINGS_MAX)
		n = DOUBLINGS_MAX;
	while (n-- > 0)
		power *= 2.0;
	return power - 1.0;
}

/* Rounds x >= 0 up to a whole number, at most max. */
static int64_t
round_up(double x, int64_t max)
{
	int64_t whole;

	if (x >= (double)max)
		return max;
	whole = (int64_t)x;
	return (double)whole < x ? whole + 1 : whole;
}

int64_t
backoff_own_ms(const struct backoff_cfg *cfg, unsigned n, double u)
{
	return round_up((double)cfg->base_ms * u * ceiling(n), cfg->max_ms);
}

int64_t
backoff_jitter_ms(const struct backoff_cfg *cfg, double u)
{
	return round_up((double)cfg->jitter_ms * u, cfg->jitter_ms);
}

int64_t
backoff_wait_ms(const struct backoff_cfg *cfg, int64_t hint_ms, unsigned n,
    double u)
{
	int64_t own;

	if (hint_ms > 0 && cfg->strategy == STRATEGY_RESPONSE_HEADER)
		return hint_ms;
	own = backoff_own_ms(cfg, n, u);
	return hint_ms > own ? hint_ms : own;
}

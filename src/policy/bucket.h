/* SPDX-License-Identifier: MIT */
/*
 * bucket: token buckets as GCRA (a virtual scheduling clock, ITU-T I.371): no
 * refill loop, no drift. Several rates may hold at once; a token is taken from
 * all or from none. In any window of T milliseconds of the clock a rate lets
 * at most burst + T * rate through.
 *
 * The clock has steps of 1 ms and most rates have not: a start waits for the
 * first step at or after its due time, and the next one's due time is reckoned
 * from the due time, not from the step. So 90/min starts at 0, 667, 1334, 2000,
 * never ahead of plan and never falling behind it; a rate above 1,000/s has the
 * tokens of a whole step at once. Due times are exact fractions of a ns.
 */
#ifndef AB_BUCKET_H
#define AB_BUCKET_H

#include "base/span.h"

#define BUCKET_RATES_MAX 8

struct bucket_rate {
	uint64_t count; /* tokens, 1..10^9 */
	int64_t per_ms; /* 1 .. 366 days */
	uint64_t burst; /* >= 1; worth more than 146 years: counts as those */
};

struct bucket_cfg {
	unsigned n; /* 0: unlimited */
	struct bucket_rate v[BUCKET_RATES_MAX];
};

struct bucket {
	/* theoretical arrival time: tat_ns + tat_part / count of the rate */
	int64_t tat_ns[BUCKET_RATES_MAX];
	uint32_t tat_part[BUCKET_RATES_MAX]; /* < count */
};

/* now_ms throughout: monotonic, 0 .. 100 years, never going back. */

/* Every rate has its whole burst. */
void bucket_init(struct bucket *b);
/* 0: a token is there now; else ms until one will be, rounded up. */
int64_t bucket_wait_ms(const struct bucket *b, const struct bucket_cfg *cfg,
    int64_t now_ms);
/* Takes one from each rate. Only after bucket_wait_ms returned 0 at now_ms. */
void bucket_take(struct bucket *b, const struct bucket_cfg *cfg, int64_t now_ms);
/*
 * How many could be taken now: the least of all rates; UINT64_MAX without
 * rates. Above 1,000/s that may be a step's worth more than burst.
 */
uint64_t bucket_tokens(const struct bucket *b, const struct bucket_cfg *cfg,
    int64_t now_ms);
/*
 * After a reload. A rate that stays keeps its debt to the ns. For another one
 * tokens in debt are carried over, from the old rate of the same period, or
 * else from the one that has the most of them: they all counted the same
 * starts. At most its own burst: a slower new rate never waits longer than one
 * token takes.
 */
void bucket_reconfigure(struct bucket *b, const struct bucket_cfg *old,
    const struct bucket_cfg *now_cfg, int64_t now_ms);

#endif

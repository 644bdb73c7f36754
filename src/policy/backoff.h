/* SPDX-License-Identifier: MIT */
/*
 * backoff: how long to wait before the next try. Pure arithmetic; the random
 * draws are parameters, uniform in [0, 1).
 */
#ifndef AB_BACKOFF_H
#define AB_BACKOFF_H

#include "base/span.h"

enum strategy {
	STRATEGY_AUTO,
	STRATEGY_EXPONENTIAL,
	STRATEGY_RESPONSE_HEADER,
	STRATEGY_CUSTOM, /* a script says (verdict.h); what it leaves open: auto */
};

struct backoff_cfg {
	enum strategy strategy;
	int64_t base_ms;   /* >= 0 */
	int64_t max_ms;    /* >= base_ms; caps own back-off, never a hint */
	int64_t jitter_ms; /* >= 0: U[0, jitter_ms] on top */
};

/*
 * Own back-off of the n-th retry (n >= 1): base * u * (2^n - 1), at most max;
 * rounded up; saturates for any n. Worked example: base 400 gives at most 400,
 * 1200, 2800 for n = 1, 2, 3. The cap is applied after the draw, so that the
 * result is continuous up to max_ms.
 */
int64_t backoff_own_ms(const struct backoff_cfg *cfg, unsigned n, double u);

/* U[0, jitter_ms], rounded up, at most jitter_ms. */
int64_t backoff_jitter_ms(const struct backoff_cfg *cfg, double u);

/*
 * The wait without jitter. hint_ms <= 0: no hint. Never less than a hint:
 * auto, exponential and custom take the larger of hint and own back-off,
 * response_header the hint alone, and own back-off where there is none.
 */
int64_t backoff_wait_ms(const struct backoff_cfg *cfg, int64_t hint_ms,
    unsigned n, double u);

#endif

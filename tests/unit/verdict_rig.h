/* SPDX-License-Identifier: MIT */
/*
 * verdict_rig: one request, one service key and the policy around them, with
 * the defaults of the product and fixed draws. Include it after cmocka.h.
 */
#ifndef AB_VERDICT_RIG_H
#define AB_VERDICT_RIG_H

#include "policy/verdict.h"

struct rig {
	struct verdict_cfg cfg;
	struct backoff_cfg backoff;
	struct service_cfg service_cfg;
	struct verdict_request r;
	struct service s;
	struct ticket t;
	double u_own, u_jitter;
};

static inline struct rig
rig_new(void)
{
	struct rig g = {
	    .cfg = {.retry_on = {3, {429, 503, 504}},
	        .retry_non_idempotent = {1, {429}},
	        .max_retries = 4,
	        .retry_connect = true,
	        .retry_reset = RESET_IDEMPOTENT},
	    .backoff = {.strategy = STRATEGY_AUTO,
	        .base_ms = 1000,
	        .max_ms = 10000,
	        .jitter_ms = 1500},
	    .service_cfg = {.failure_cutoff = 0, .half_open_ms = 30000},
	    .r = {.repeatable = true,
	        .replayable = true,
	        .max_retries = 4,
	        .max_wait_ms = 60000,
	        .deadline_ms = 60000},
	    .u_own = 0.5,
	    .u_jitter = 0.5,
	};

	service_init(&g.s);
	return g;
}

/* hint_ms 0: without one. */
static inline struct attempt
answer(int status, int64_t hint_ms)
{
	return (struct attempt){.end = ATTEMPT_ANSWER,
	    .status = status,
	    .hint = {.valid = hint_ms > 0, .wait_ms = hint_ms},
	    .sent = true};
}

static inline void
rig_begin(struct rig *g, int64_t now_ms)
{
	enum wait_why why;
	int64_t at_ms;

	assert_true(service_ready(&g->s, now_ms, &why, &at_ms));
	service_begin(&g->s, &g->service_cfg, now_ms, &g->t);
}

static inline struct verdict
rig_end(struct rig *g, const struct attempt *a, int64_t now_ms)
{
	return verdict_of(&g->cfg, &g->backoff, &g->service_cfg, &g->r, a,
	    &g->s, &g->t, now_ms, g->u_own, g->u_jitter);
}

#define assert_retry(got, at)                                  \
	do {                                                   \
		struct verdict v_ = (got);                     \
		assert_int_equal(v_.kind, VERDICT_RETRY);      \
		assert_int_equal(v_.at_ms, (at));              \
	} while (0)

#define assert_gave_up(got, reason)                            \
	do {                                                   \
		struct verdict v_ = (got);                     \
		assert_int_equal(v_.kind, VERDICT_GIVE_UP);    \
		assert_int_equal(v_.why, (reason));            \
	} while (0)

#endif

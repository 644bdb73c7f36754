/* SPDX-License-Identifier: MIT */
/*
 * service_rig: one service key and the short words in which its tests are
 * written. Include it after cmocka.h.
 */
#ifndef AB_SERVICE_RIG_H
#define AB_SERVICE_RIG_H

#include "policy/service.h"

#define JITTER 300
#define HALF_OPEN 30000
#define STEP 125 /* ms of slow start, after a hold of 1000 */

static const struct service_cfg plain = {.failure_cutoff = 5,
    .half_open_ms = HALF_OPEN,
    .has_rate = false};
static const struct service_cfg rated = {.failure_cutoff = 5,
    .half_open_ms = HALF_OPEN,
    .has_rate = true};

static inline bool
ready(const struct service *s, int64_t now_ms)
{
	enum wait_why why;
	int64_t at_ms;

	return service_ready(s, now_ms, &why, &at_ms);
}

static inline void
assert_waits(const struct service *s, int64_t now_ms, enum wait_why why,
    int64_t at_ms)
{
	enum wait_why got_why = WAIT_WHY_COUNT;
	int64_t got_at_ms = -7;

	assert_false(service_ready(s, now_ms, &got_why, &got_at_ms));
	assert_int_equal(got_why, why);
	assert_int_equal(got_at_ms, at_ms);
}

static inline struct ticket
begin_with(struct service *s, const struct service_cfg *cfg, int64_t now_ms)
{
	struct ticket t;

	assert_true(ready(s, now_ms));
	service_begin(s, cfg, now_ms, &t);
	return t;
}

static inline struct ticket
begin(struct service *s, int64_t now_ms)
{
	return begin_with(s, &plain, now_ms);
}

/* The same as soon as slow start has a place for it; *now_ms moves on. */
static inline struct ticket
begin_soon(struct service *s, int64_t *now_ms)
{
	enum wait_why why;
	int64_t at_ms;

	if (!service_ready(s, *now_ms, &why, &at_ms)) {
		assert_true(at_ms > *now_ms && at_ms <= *now_ms + STEP);
		*now_ms = at_ms;
	}
	return begin(s, *now_ms);
}

/* A refusal with a hint. */
static inline bool
told(struct service *s, const struct ticket *t, int64_t now_ms, int64_t wait_ms)
{
	return service_throttled(s, &plain, t, now_ms, 429, wait_ms, true,
	    JITTER);
}

/* A refusal without one. */
static inline bool
refused(struct service *s, const struct ticket *t, int64_t now_ms,
    int64_t wait_ms)
{
	return service_throttled(s, &plain, t, now_ms, 503, wait_ms, false,
	    JITTER);
}

static inline void
ok(struct service *s, const struct ticket *t, int64_t now_ms)
{
	service_ok(s, &plain, t, now_ms);
}

/* Shut at 0 by one refusal for `wait_ms`; returns the end of the hold. */
static inline int64_t
shut(struct service *s, int64_t wait_ms)
{
	struct ticket t;

	service_init(s);
	t = begin(s, 0);
	assert_true(told(s, &t, 0, wait_ms));
	return wait_ms + JITTER;
}

/* In slow start with a window of two and nothing under way; returns now. */
static inline int64_t
paced(struct service *s)
{
	int64_t now_ms = shut(s, 1000);
	struct ticket probe = begin(s, now_ms);

	ok(s, &probe, now_ms);
	assert_int_equal(s->state, SERVICE_PACED);
	return now_ms;
}

#endif

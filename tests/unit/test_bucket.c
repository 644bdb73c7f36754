/* SPDX-License-Identifier: MIT */
/*
 * Token buckets. The promise is about every window of a schedule, so most tests
 * make a schedule, at random or greedily, and then look at all its windows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "policy/bucket.h"

#define TEN_YEARS_MS INT64_C(315576000000)
#define DAY_MS INT64_C(86400000)
#define NOW_MS_MAX (10 * TEN_YEARS_MS) /* as bucket.h says */
#define STARTS_MAX 1500
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct bucket_cfg
one_rate(uint64_t count, int64_t per_ms, uint64_t burst)
{
	return (struct bucket_cfg){1, {{count, per_ms, burst}}};
}

static bool
try_take(struct bucket *b, const struct bucket_cfg *cfg, int64_t now_ms)
{
	if (bucket_wait_ms(b, cfg, now_ms) > 0)
		return false;
	bucket_take(b, cfg, now_ms);
	return true;
}

/*
 * at[0, n) are starts in order. In the window from at[i] to at[j], ends
 * included, lie at[j] - at[i] + 1 steps of the clock: T of them let at most
 * burst + T * count / per through.
 */
static void
assert_no_window_exceeds(const int64_t *at, size_t n,
    const struct bucket_rate *r)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i; j < n; j++) {
			__int128 t = at[j] - at[i] + 1;
			__int128 let = (__int128)r->burst * r->per_ms +
			    t * (__int128)r->count;

			assert_true((__int128)(j - i + 1) * r->per_ms <= let);
		}
	}
}

static const struct bucket_rate shapes[] = {
    {90, 60000, 1}, /* 666.67 ms: no whole number of ns */
    {90, 60000, 10},
    {1000, 1000, 1},
    {1000, 1000, 50},
    {10000, DAY_MS, 1},
    {10000, DAY_MS, 100},
    {3, 2000, 1}, /* 1.5/s */
    {3, 2000, 5},
    {7, 1000, 2},
    {300, 1000, 1}, /* 3.33 ms */
    {999, 1000, 1},
    {1001, 1000, 1}, /* more than one a step */
    {2500, 1000, 3},
    {1, 366 * DAY_MS, 2},
    {1000000000, 366 * DAY_MS, 4},
};
#define SHAPES COUNT(shapes)

/* Pauses of all sizes, from none to many intervals, as clients make them. */
static int64_t
random_pause(struct rng *rng, const struct bucket_rate *r)
{
	int64_t interval = r->per_ms / (int64_t)r->count + 1;

	switch (rng_next(rng) % 8) {
	case 0:
		return (int64_t)(rng_next(rng) % 20) * interval;
	case 1:
		return (int64_t)(rng_next(rng) % (uint64_t)interval);
	case 2:
		return 1;
	default:
		return 0;
	}
}

static size_t
random_schedule(struct rng *rng, const struct bucket_rate *r, int64_t now_ms,
    int64_t *at, size_t max)
{
	struct bucket_cfg cfg = {1, {*r}};
	struct bucket b;
	size_t n = 0;

	bucket_init(&b);
	while (n < max && now_ms < NOW_MS_MAX) {
		int64_t wait = bucket_wait_ms(&b, &cfg, now_ms);

		now_ms += random_pause(rng, r);
		if (wait > 0 && rng_next(rng) % 4 > 0)
			now_ms += wait;
		if (try_take(&b, &cfg, now_ms))
			at[n++] = now_ms;
	}
	return n;
}

static void
take_at_random_never_exceeds_any_window(void **state)
{
	static const int64_t begins[] = {0, 1, 12345678901, TEN_YEARS_MS};
	int64_t at[300];
	struct rng rng;

	(void)state;
	for (size_t i = 0; i < SHAPES * 40; i++) {
		const struct bucket_rate *r = &shapes[i % SHAPES];
		size_t n;

		rng_seed(&rng, i);
		n = random_schedule(&rng, r, begins[i % 4], at, 300);
		assert_no_window_exceeds(at, n, r);
	}
}

static void
take_as_soon_as_possible_never_exceeds_any_window(void **state)
{
	static int64_t at[STARTS_MAX];

	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		struct bucket_cfg cfg = {1, {shapes[i]}};
		struct bucket b;
		int64_t now = 1000;
		size_t n = 0;

		bucket_init(&b);
		while (n < STARTS_MAX && now < NOW_MS_MAX) {
			now += bucket_wait_ms(&b, &cfg, now);
			assert_true(try_take(&b, &cfg, now));
			at[n++] = now;
		}
		assert_no_window_exceeds(at, n, &shapes[i]);
	}
}

/* Asked every ms for `ms`: how many come through. */
static uint64_t
granted(const struct bucket_cfg *cfg, int64_t from_ms, int64_t ms)
{
	struct bucket b;
	uint64_t n = 0;

	bucket_init(&b);
	for (int64_t t = from_ms; t < from_ms + ms; t++) {
		while (try_take(&b, cfg, t))
			n++;
	}
	return n;
}

static void
take_every_ms_uses_the_rate_up(void **state)
{
	static const uint64_t per_second[] = {10, 11, 13, 27, 99, 100, 300, 333,
	    500, 667, 900, 999, 1000, 1001, 1500, 3000, 7777, 10000};

	(void)state;
	for (size_t i = 0; i < COUNT(per_second); i++) {
		struct bucket_cfg cfg = one_rate(per_second[i], 1000, 1);
		uint64_t ideal = per_second[i] * 20;
		uint64_t n = granted(&cfg, TEN_YEARS_MS, 20000);

		assert_in_range(n, ideal - ideal / 200, ideal + 1);
	}
}

static void
take_of_90_per_minute_spends_400_s_on_600(void **state)
{
	struct bucket_cfg cfg = one_rate(90, 60000, 1);
	struct bucket b;
	int64_t now = 0;

	(void)state;
	bucket_init(&b);
	for (int64_t k = 0; k < 600; k++) {
		now += bucket_wait_ms(&b, &cfg, now);
		/* the k-th is due at k * 2000 / 3 ms */
		assert_int_equal(now, (k * 2000 + 2) / 3);
		bucket_take(&b, &cfg, now);
	}
	assert_int_equal(now, 399334);
}

static void
take_over_years_does_not_drift(void **state)
{
	struct bucket_cfg cfg = one_rate(3, 2000, 1);
	struct bucket b;
	int64_t now = TEN_YEARS_MS - 2000000, first = now;

	(void)state;
	bucket_init(&b);
	for (int i = 0; i < 3000; i++) {
		now += bucket_wait_ms(&b, &cfg, now);
		bucket_take(&b, &cfg, now);
	}
	assert_int_equal(now + bucket_wait_ms(&b, &cfg, now), first + 2000000);
}

static void
wait_is_exact_to_the_ms(void **state)
{
	static const struct {
		struct bucket_rate r;
		int64_t wait; /* after one take of a full bucket, burst 1 */
	} cases[] = {
	    {{90, 60000, 1}, 667},
	    {{1000, 1000, 1}, 1},
	    {{10000, DAY_MS, 1}, 8640},
	    {{3, 2000, 1}, 667},
	    {{1, 1, 1}, 1},
	    {{1, 366 * DAY_MS, 1}, 366 * DAY_MS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bucket_cfg cfg = {1, {cases[i].r}};
		int64_t now = TEN_YEARS_MS, due = now + cases[i].wait;
		struct bucket b;

		bucket_init(&b);
		assert_int_equal(bucket_wait_ms(&b, &cfg, now), 0);
		bucket_take(&b, &cfg, now);
		assert_int_equal(bucket_wait_ms(&b, &cfg, now), cases[i].wait);
		assert_int_equal(bucket_wait_ms(&b, &cfg, due - 1), 1);
		assert_int_equal(bucket_wait_ms(&b, &cfg, due), 0);
	}
}

static void
burst_is_there_at_first_and_after_a_rest(void **state)
{
	struct bucket_cfg cfg = one_rate(10, 1000, 5);
	struct bucket b;

	(void)state;
	bucket_init(&b);
	for (int round = 0; round < 3; round++) {
		int64_t now = round * 10000;

		for (unsigned left = 5; left > 0; left--) {
			assert_int_equal(bucket_tokens(&b, &cfg, now), left);
			assert_true(try_take(&b, &cfg, now));
		}
		assert_int_equal(bucket_tokens(&b, &cfg, now), 0);
		assert_int_equal(bucket_wait_ms(&b, &cfg, now), 100);
	}
	assert_int_equal(bucket_tokens(&b, &cfg, 20099), 0);
	assert_int_equal(bucket_tokens(&b, &cfg, 20100), 1);
	assert_int_equal(bucket_tokens(&b, &cfg, 20199), 1);
	assert_int_equal(bucket_tokens(&b, &cfg, 20200), 2);
	assert_int_equal(bucket_tokens(&b, &cfg, 20500), 5);
	assert_int_equal(bucket_tokens(&b, &cfg, 20600), 5);
}

static void
tokens_are_what_can_be_taken(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (size_t i = 0; i < SHAPES; i++) {
		struct bucket_cfg cfg = {1, {shapes[i]}};
		int64_t now = 5000;
		struct bucket b;

		bucket_init(&b);
		for (int k = 0; k < 50; k++) {
			uint64_t n = bucket_tokens(&b, &cfg, now);

			for (uint64_t t = 0; t < n; t++)
				assert_true(try_take(&b, &cfg, now));
			assert_false(try_take(&b, &cfg, now));
			now += random_pause(&rng, &shapes[i]);
		}
	}
}

static void
tokens_of_fast_rate_are_those_of_a_step(void **state)
{
	static const struct {
		uint64_t per_second, burst;
		uint64_t rested, then; /* after one step more */
	} cases[] = {
	    {1000, 1, 1, 1},
	    {1000, 3, 3, 1},
	    {1001, 1, 1, 1},
	    {1500, 1, 1, 2}, /* the half left over comes on top */
	    {2000, 1, 2, 2},
	    {2000, 3, 4, 2},
	    {5000, 1, 5, 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bucket_cfg cfg =
		    one_rate(cases[i].per_second, 1000, cases[i].burst);
		struct bucket b;

		bucket_init(&b);
		assert_int_equal(bucket_tokens(&b, &cfg, 50), cases[i].rested);
		while (try_take(&b, &cfg, 50))
			continue;
		assert_int_equal(bucket_tokens(&b, &cfg, 51), cases[i].then);
	}
}

static void
take_with_interval_of_1_5_ns_loses_no_part(void **state)
{
	struct bucket_cfg cfg = one_rate(1000000000, 1500, 1);

	(void)state;
	assert_in_range(granted(&cfg, 50, 1), 666666, 666667);
	assert_in_range(granted(&cfg, 50, 3), 1999999, 2000001);
}

static void
wait_for_several_rates_is_the_longest(void **state)
{
	struct bucket_cfg cfg = {3, {{1, 500, 1}, {1, 60000, 1}, {1, 700, 1}}};
	struct bucket b;

	(void)state;
	bucket_init(&b);
	bucket_take(&b, &cfg, 10);
	assert_int_equal(bucket_wait_ms(&b, &cfg, 10), 60000);
	assert_int_equal(bucket_wait_ms(&b, &cfg, 600), 59410);
	assert_int_equal(bucket_tokens(&b, &cfg, 60009), 0);
	assert_int_equal(bucket_tokens(&b, &cfg, 60010), 1);
}

static void
several_rates_hold_at_once(void **state)
{
	struct bucket_cfg cfg = {2, {{5, 1000, 5}, {20, 60000, 20}}};
	int64_t at[60];
	struct bucket b;
	int64_t now = 0;

	(void)state;
	bucket_init(&b);
	for (size_t n = 0; n < 60; n++) {
		now += bucket_wait_ms(&b, &cfg, now);
		assert_true(try_take(&b, &cfg, now));
		at[n] = now;
	}
	assert_no_window_exceeds(at, 60, &cfg.v[0]);
	assert_no_window_exceeds(at, 60, &cfg.v[1]);
	/* 5 at once, then one in 200 ms, until the minute's are used up */
	assert_int_equal(at[4], 0);
	assert_int_equal(at[5], 200);
	assert_int_equal(at[20], 3200);
	/* 20 and the 21st at 3 s, by then one more had come */
	assert_int_equal(at[21], 6000);
	assert_int_equal(at[22], 9000);
	/* the one that has fewer tells */
	assert_int_equal(bucket_tokens(&b, &cfg, now), 0);
	assert_int_equal(bucket_tokens(&b, &cfg, now + 3000), 1);
	assert_int_equal(bucket_tokens(&b, &cfg, now + 60000), 5);
}

static void
no_rate_never_waits(void **state)
{
	struct bucket_cfg cfg = {.n = 0};
	struct bucket b;

	(void)state;
	bucket_init(&b);
	for (int i = 0; i < 1000; i++)
		assert_true(try_take(&b, &cfg, 0));
	assert_true(bucket_tokens(&b, &cfg, 0) == UINT64_MAX);
}

static void
largest_numbers_do_not_overflow(void **state)
{
	static const struct bucket_rate extremes[] = {
	    {1, 366 * DAY_MS, UINT64_MAX},
	    {1000000000, 366 * DAY_MS, UINT64_MAX},
	    {1, 1, UINT64_MAX},
	    {1000000000, 1, UINT64_MAX},
	    {1, 366 * DAY_MS, 1000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(extremes); i++) {
		struct bucket_cfg cfg = {1, {extremes[i]}};
		int64_t now = NOW_MS_MAX;
		struct bucket b;
		int n = 0;

		bucket_init(&b);
		while (n < 2000 && try_take(&b, &cfg, now))
			n++;
		/* of one a year, 146 years' worth are let through at once */
		if (extremes[i].count == 1 && extremes[i].per_ms > 1)
			assert_int_equal(n, 146);
		else
			assert_int_equal(n, 2000);
		assert_true(bucket_wait_ms(&b, &cfg, now) >= 0);
		assert_true(bucket_wait_ms(&b, &cfg, now) <= 366 * DAY_MS);
	}
}

/* --- reconfigure --------------------------------------------------------- */

static struct bucket
spent(const struct bucket_cfg *cfg, unsigned n, int64_t now_ms)
{
	struct bucket b;

	bucket_init(&b);
	while (n-- > 0)
		assert_true(try_take(&b, cfg, now_ms));
	return b;
}

static void
reconfigure_with_the_same_rates_changes_nothing(void **state)
{
	struct bucket_cfg cfg = {3,
	    {{90, 60000, 9}, {7, 60000, 8}, {3, 2000, 8}}};
	struct bucket_cfg turned = {3,
	    {{3, 2000, 8}, {90, 60000, 9}, {7, 60000, 8}}};
	struct bucket b = spent(&cfg, 7, 1000), was = b;

	(void)state;
	bucket_reconfigure(&b, &cfg, &cfg, 1500);
	assert_memory_equal(&b, &was, sizeof(b));
	/* nor does their order matter, nor how long they have been at rest */
	bucket_reconfigure(&b, &cfg, &turned, 900000);
	bucket_reconfigure(&b, &turned, &cfg, 900000);
	assert_memory_equal(&b, &was, sizeof(b));
}

static void
reconfigure_carries_tokens_in_debt_over(void **state)
{
	static const struct {
		struct bucket_rate from, to; /* 6 of from's burst are taken */
		uint64_t tokens;
		int64_t wait;
	} cases[] = {
	    {{10, 1000, 10}, {20, 1000, 10}, 4, 0},   /* faster */
	    {{10, 1000, 10}, {5, 1000, 10}, 4, 0},    /* slower */
	    {{10, 1000, 10}, {600, 60000, 10}, 4, 0}, /* another period */
	    {{10, 1000, 10}, {1, 3600000, 7}, 1, 0},
	    {{10, 1000, 10}, {20, 1000, 6}, 0, 50},
	    {{10, 1000, 10}, {1, 1000, 5}, 0, 1000}, /* capped by its burst */
	    {{10, 1000, 10}, {1, 1000, 1}, 0, 1000},
	    {{10, 1000, 10}, {1, DAY_MS, 1}, 0, DAY_MS},
	    {{3, 2000, 6}, {90, 60000, 6}, 0, 667},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bucket_cfg old = {1, {cases[i].from}};
		struct bucket_cfg new = {1, {cases[i].to}};
		struct bucket b = spent(&old, 6, TEN_YEARS_MS);

		bucket_reconfigure(&b, &old, &new, TEN_YEARS_MS);
		assert_int_equal(bucket_tokens(&b, &new, TEN_YEARS_MS),
		    cases[i].tokens);
		assert_int_equal(bucket_wait_ms(&b, &new, TEN_YEARS_MS),
		    cases[i].wait);
	}
}

static void
reconfigure_after_a_rest_owes_nothing(void **state)
{
	struct bucket_cfg old = one_rate(1000, 1000, 10);
	struct bucket_cfg new = one_rate(1, 1000, 3);
	struct bucket b = spent(&old, 10, 0);

	(void)state;
	bucket_reconfigure(&b, &old, &new, 50000);
	assert_int_equal(b.tat_ns[0], INT64_C(50000) * 1000000);
	assert_int_equal(b.tat_part[0], 0);
	assert_int_equal(bucket_tokens(&b, &new, 50000), 3);
}

static void
reconfigure_from_no_rate_begins_full(void **state)
{
	struct bucket_cfg none = {.n = 0}, new = one_rate(1, 1000, 3);
	struct bucket b = spent(&none, 10, 777);

	(void)state;
	bucket_reconfigure(&b, &none, &new, 777);
	assert_int_equal(bucket_tokens(&b, &new, 777), 3);
	bucket_reconfigure(&b, &new, &none, 777);
	assert_int_equal(bucket_wait_ms(&b, &none, 777), 0);
}

static void
reconfigure_takes_the_nearest_kin(void **state)
{
	/* 4 taken; 3.5 s later the first owes 0.5 tokens, the second 4 - 58/1000 */
	struct bucket_cfg old = {2, {{1, 1000, 9}, {1, 60000, 9}}};
	struct bucket_cfg new = {3,
	    {{2, 1000, 9}, {1, 60000, 9}, {1, 9000, 9}}};
	struct bucket_cfg each;
	struct bucket b = spent(&old, 4, 0), one;

	(void)state;
	bucket_reconfigure(&b, &old, &new, 3500);
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t tokens[] = {8, 5, 5};

		each = (struct bucket_cfg){1, {new.v[i]}};
		bucket_init(&one);
		one.tat_ns[0] = b.tat_ns[i];
		one.tat_part[0] = b.tat_part[i];
		assert_int_equal(bucket_tokens(&one, &each, 3500), tokens[i]);
	}
}

static void
reconfigure_at_the_limits_does_not_overflow(void **state)
{
	static const struct bucket_rate extremes[] = {
	    {1, 366 * DAY_MS, UINT64_MAX},
	    {1000000000, 366 * DAY_MS, UINT64_MAX},
	    {1000000000, 1, UINT64_MAX},
	    {1, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		struct bucket_cfg old = {1, {extremes[i / 4]}};
		struct bucket_cfg new = {1, {extremes[i % 4]}};
		int64_t now = NOW_MS_MAX;
		struct bucket b;

		bucket_init(&b);
		/* as deep in debt as it can be */
		b.tat_ns[0] = now * 1000000 + INT64_MAX / 2;
		bucket_reconfigure(&b, &old, &new, now);
		assert_true(b.tat_ns[0] >= now * 1000000);
		assert_in_range(bucket_wait_ms(&b, &new, now), 0,
		    new.v[0].per_ms);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(take_at_random_never_exceeds_any_window),
	    cmocka_unit_test(take_as_soon_as_possible_never_exceeds_any_window),
	    cmocka_unit_test(take_every_ms_uses_the_rate_up),
	    cmocka_unit_test(take_of_90_per_minute_spends_400_s_on_600),
	    cmocka_unit_test(take_over_years_does_not_drift),
	    cmocka_unit_test(wait_is_exact_to_the_ms),
	    cmocka_unit_test(burst_is_there_at_first_and_after_a_rest),
	    cmocka_unit_test(tokens_are_what_can_be_taken),
	    cmocka_unit_test(wait_for_several_rates_is_the_longest),
	    cmocka_unit_test(take_with_interval_of_1_5_ns_loses_no_part),
	    cmocka_unit_test(tokens_of_fast_rate_are_those_of_a_step),
	    cmocka_unit_test(several_rates_hold_at_once),
	    cmocka_unit_test(no_rate_never_waits),
	    cmocka_unit_test(largest_numbers_do_not_overflow),
	    cmocka_unit_test(reconfigure_with_the_same_rates_changes_nothing),
	    cmocka_unit_test(reconfigure_carries_tokens_in_debt_over),
	    cmocka_unit_test(reconfigure_after_a_rest_owes_nothing),
	    cmocka_unit_test(reconfigure_from_no_rate_begins_full),
	    cmocka_unit_test(reconfigure_takes_the_nearest_kin),
	    cmocka_unit_test(reconfigure_at_the_limits_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

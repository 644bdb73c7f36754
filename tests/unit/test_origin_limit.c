/* SPDX-License-Identifier: MIT */
/*
 * The simulator's limiters, in virtual nanoseconds: they judge others, so each
 * edge is checked on the nanosecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "origin/limit.h"

#define S INT64_C(1000000000)
#define MS INT64_C(1000000)
#define T0 (7 * S + 3)

static struct limit
make(enum limit_kind kind, uint32_t count, int64_t period_ns, uint32_t burst)
{
	struct limit_cfg cfg = {
	    .kind = kind,
	    .count = count,
	    .burst = burst,
	    .period_ns = period_ns,
	};
	struct limit l;

	assert_null(limit_cfg_fault(&cfg));
	limit_init(&l, &cfg);
	return l;
}

/* One attempt; says whether it was admitted. */
static bool
knock(struct limit *l, int64_t now_ns)
{
	if (limit_fits(l, now_ns)) {
		assert_int_equal(limit_take(l, now_ns), 0);
		return true;
	}
	assert_int_equal(limit_refuse(l, now_ns), 0);
	return false;
}

static unsigned
knock_times(struct limit *l, int64_t now_ns, unsigned times)
{
	unsigned admitted = 0;

	while (times-- > 0)
		admitted += knock(l, now_ns);
	return admitted;
}

static void
bucket_at_once_admits_burst_and_no_more(void **state)
{
	struct limit l = make(LIMIT_BUCKET, 200, S, 20);

	(void)state;
	assert_int_equal(knock_times(&l, T0, 19), 19);
	assert_int_equal(limit_left(&l, T0), 1);
	assert_true(knock(&l, T0));
	assert_int_equal(limit_left(&l, T0), 0);
	assert_false(knock(&l, T0));
	assert_int_equal(limit_ready_ns(&l, T0), T0 + 5 * MS);
}

static void
bucket_refills_on_the_nanosecond(void **state)
{
	struct limit l = make(LIMIT_BUCKET, 3, S, 1);
	int64_t ready_ns;

	(void)state;
	assert_true(knock(&l, T0));
	ready_ns = limit_ready_ns(&l, T0);
	assert_int_equal(ready_ns, T0 + 333333334);
	assert_false(knock(&l, ready_ns - 1));
	assert_true(knock(&l, ready_ns));
}

/* A third of a second is no whole number of ns; the sum must be exact. */
static void
bucket_over_an_hour_does_not_drift(void **state)
{
	struct limit l = make(LIMIT_BUCKET, 3, S, 5);
	int64_t now_ns = T0;
	unsigned admitted = 0;

	(void)state;
	while (now_ns < T0 + 3600 * S) {
		if (knock(&l, now_ns)) {
			admitted++;
			continue;
		}
		assert_true(limit_ready_ns(&l, now_ns) > now_ns);
		now_ns = limit_ready_ns(&l, now_ns);
	}
	assert_int_equal(admitted, 5 + 3 * 3600 - 1);
	assert_true(knock(&l, T0 + 3600 * S));
	assert_false(knock(&l, T0 + 3600 * S));
}

static void
bucket_after_long_idleness_is_full_and_not_fuller(void **state)
{
	struct limit l = make(LIMIT_BUCKET, 1000000, S, 10);
	int64_t late_ns = T0 + 3650 * 86400 * S;

	(void)state;
	assert_int_equal(knock_times(&l, T0, 20), 10);
	assert_int_equal(knock_times(&l, late_ns, 20), 10);
}

static void
bucket_when_time_runs_backwards_gives_nothing(void **state)
{
	struct limit l = make(LIMIT_BUCKET, 1, S, 1);

	(void)state;
	assert_true(knock(&l, T0));
	assert_false(knock(&l, T0 - 10 * S));
	assert_false(knock(&l, T0 + S - 1));
	assert_true(knock(&l, T0 + S));
}

static void
bucket_in_any_second_admits_rate_plus_burst_at_most(void **state)
{
	struct limit l = make(LIMIT_BUCKET, 50, S, 7);
	static int64_t seen[4096];
	unsigned n = 0, tail = 0, most = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (int64_t t = T0; t < T0 + 20 * S;
	     t += 1 + (int64_t)(rng_next(&rng) % (4 * MS))) {
		if (!knock(&l, t))
			continue;
		seen[n++] = t;
		while (t - seen[tail] >= S)
			tail++;
		if (n - tail > most)
			most = n - tail;
	}
	assert_in_range(n, 990, 50 * 20 + 7);
	assert_in_range(most, 51, 57);
}

static void
fixed_counts_each_window_of_the_grid(void **state)
{
	struct limit l = make(LIMIT_FIXED, 5, S, 0);

	(void)state;
	assert_int_equal(knock_times(&l, T0, 4), 4);
	assert_int_equal(limit_left(&l, T0), 1);
	assert_true(knock(&l, T0 + S - 1));
	assert_false(knock(&l, T0 + S - 1));
	assert_int_equal(limit_ready_ns(&l, T0 + S - 1), T0 + S);
	/* the flaw of fixed windows: twice the limit across the edge */
	assert_int_equal(knock_times(&l, T0 + S, 6), 5);
	/* windows nobody came in do not move the grid */
	assert_int_equal(knock_times(&l, T0 + 4 * S + S / 2, 6), 5);
	assert_int_equal(limit_ready_ns(&l, T0 + 4 * S + S / 2), T0 + 5 * S);
	assert_false(knock(&l, T0 + 5 * S - 1));
	assert_true(knock(&l, T0 + 5 * S));
}

static void
sliding_waits_for_the_oldest_to_leave(void **state)
{
	struct limit l = make(LIMIT_SLIDING, 3, S, 0);

	(void)state;
	assert_true(knock(&l, T0));
	assert_true(knock(&l, T0 + 100));
	assert_int_equal(limit_left(&l, T0 + 100), 1);
	assert_true(knock(&l, T0 + 200));
	assert_false(knock(&l, T0 + S - 1));
	assert_int_equal(limit_ready_ns(&l, T0 + S - 1), T0 + S);
	assert_true(knock(&l, T0 + S));
	assert_false(knock(&l, T0 + S));
	assert_false(knock(&l, T0 + S + 99));
	assert_int_equal(limit_left(&l, T0 + S + 100), 1);
	assert_true(knock(&l, T0 + S + 100));
	limit_clear(&l);
}

static void
sliding_in_any_window_admits_count_at_most(void **state)
{
	struct limit l = make(LIMIT_SLIDING, 40, S, 0);
	static int64_t seen[4096];
	unsigned n = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (int64_t t = T0; t < T0 + 20 * S;
	     t += 1 + (int64_t)(rng_next(&rng) % (9 * MS))) {
		if (!knock(&l, t))
			continue;
		seen[n++] = t;
		if (n > 40)
			assert_true(t - seen[n - 41] >= S);
	}
	assert_in_range(n, 760, 800);
	limit_clear(&l);
}

static void
penalty_counts_refused_attempts(void **state)
{
	struct limit l = make(LIMIT_PENALTY, 2, S, 0);
	int64_t t = T0;

	(void)state;
	assert_int_equal(knock_times(&l, t, 2), 2);
	for (int i = 0; i < 50; i++) {
		t += S / 4;
		assert_false(knock(&l, t));
	}
	assert_int_equal(limit_ready_ns(&l, t), t - S / 4 + S);
	assert_true(knock(&l, t - S / 4 + S));
	limit_clear(&l);
}

static void
sliding_without_memory_takes_nothing(void **state)
{
	struct limit l = make(LIMIT_SLIDING, 100, S, 0);

	(void)state;
	assert_int_equal(knock_times(&l, T0, 16), 16);
	mem_fail_at(1, false);
	assert_int_equal(limit_take(&l, T0), -1);
	mem_fail_at(0, false);
	assert_int_equal(limit_left(&l, T0), 84);
	assert_int_equal(knock_times(&l, T0, 100), 84);
	limit_clear(&l);
	assert_int_equal(limit_bytes(&l), 0);
	assert_int_equal(limit_left(&l, T0), 100);
}

static void
cfg_that_can_not_be_exact_is_refused(void **state)
{
	static const struct {
		struct limit_cfg cfg;
		bool good;
	} t[] = {
	    {{LIMIT_BUCKET, 1, 1, 1}, true},
	    {{LIMIT_BUCKET, 0, 1, 1}, false},
	    {{LIMIT_BUCKET, 1, 0, 1}, false},
	    {{LIMIT_BUCKET, 1, 1, 0}, false},
	    {{LIMIT_BUCKET, 1, 106751, 86400 * S}, true},
	    {{LIMIT_BUCKET, 1, 106752, 86400 * S}, false},
	    {{LIMIT_FIXED, 1000000000, 0, 1}, true},
	    {{LIMIT_SLIDING, 100000, 0, 1}, true},
	    {{LIMIT_SLIDING, 100001, 0, 1}, false},
	    {{LIMIT_PENALTY, 100001, 0, 1}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		if ((limit_cfg_fault(&t[i].cfg) == NULL) != t[i].good)
			fail_msg("case %zu", i);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bucket_at_once_admits_burst_and_no_more),
	    cmocka_unit_test(bucket_refills_on_the_nanosecond),
	    cmocka_unit_test(bucket_over_an_hour_does_not_drift),
	    cmocka_unit_test(bucket_after_long_idleness_is_full_and_not_fuller),
	    cmocka_unit_test(bucket_when_time_runs_backwards_gives_nothing),
	    cmocka_unit_test(
		bucket_in_any_second_admits_rate_plus_burst_at_most),
	    cmocka_unit_test(fixed_counts_each_window_of_the_grid),
	    cmocka_unit_test(sliding_waits_for_the_oldest_to_leave),
	    cmocka_unit_test(sliding_in_any_window_admits_count_at_most),
	    cmocka_unit_test(penalty_counts_refused_attempts),
	    cmocka_unit_test(sliding_without_memory_takes_nothing),
	    cmocka_unit_test(cfg_that_can_not_be_exact_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/histogram.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TOP (INT64_C(1) << 27)

static struct histogram h;

static int
set_up(void **state)
{
	(void)state;
	histogram_init(&h);
	return 0;
}

static void
histogram_when_empty_has_no_quantile(void **state)
{
	(void)state;
	assert_int_equal(histogram_count(&h), 0);
	assert_int_equal(histogram_sum_ms(&h), 0);
	assert_int_equal(histogram_at_most(&h, INT64_MAX), 0);
	assert_int_equal(histogram_quantile(&h, 0.5), -1);
}

/* Each value alone: the quantile is the end of the bucket it fell in. */
static void
histogram_add_when_at_bucket_borders_takes_the_right_one(void **state)
{
	static const struct {
		int64_t ms, end;
	} cases[] = {
	    {-5, 0},
	    {0, 0},
	    {1, 1},
	    {15, 15},
	    {16, 17},
	    {17, 17},
	    {18, 19},
	    {31, 31},
	    {32, 35},
	    {44, 47},
	    {63, 63},
	    {64, 71},
	    {1000, 1023},
	    {1023, 1023},
	    {1024, 1151},
	    {60000, 61439},
	    {TOP - 1, TOP - 1},
	    {TOP, TOP},
	    {INT64_MAX, TOP},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		histogram_init(&h);
		histogram_add(&h, cases[i].ms);
		assert_int_equal(histogram_count(&h), 1);
		assert_int_equal(histogram_quantile(&h, 0.5), cases[i].end);
	}
}

/* The promise of the header, for all values up to a point. */
static void
histogram_quantile_when_above_16_is_at_most_an_eighth_off(void **state)
{
	(void)state;
	for (int64_t ms = 16; ms < 70000; ms += 7) {
		int64_t end;

		histogram_init(&h);
		histogram_add(&h, ms);
		end = histogram_quantile(&h, 1);
		assert_true(end >= ms);
		assert_true(end - ms <= ms / 8);
	}
}

static void
histogram_quantile_when_spread_goes_by_rank(void **state)
{
	(void)state;
	for (int64_t ms = 1; ms <= 10; ms++)
		histogram_add(&h, ms);
	assert_int_equal(histogram_quantile(&h, 0), 1);
	assert_int_equal(histogram_quantile(&h, 0.1), 1);
	assert_int_equal(histogram_quantile(&h, 0.11), 2);
	assert_int_equal(histogram_quantile(&h, 0.5), 5);
	assert_int_equal(histogram_quantile(&h, 0.91), 10);
	assert_int_equal(histogram_quantile(&h, 1), 10);
	assert_int_equal(histogram_sum_ms(&h), 55);
}

static void
histogram_at_most_when_bound_ends_a_bucket_is_exact(void **state)
{
	(void)state;
	histogram_add(&h, 0);
	assert_int_equal(histogram_at_most(&h, -1), 0);
	assert_int_equal(histogram_at_most(&h, 0), 1);
	histogram_init(&h);
	histogram_add(&h, 3);
	histogram_add(&h, 1023);
	histogram_add(&h, 1024);
	histogram_add(&h, INT64_MAX);
	assert_int_equal(histogram_at_most(&h, -1), 0);
	assert_int_equal(histogram_at_most(&h, 2), 0);
	assert_int_equal(histogram_at_most(&h, 3), 1);
	assert_int_equal(histogram_at_most(&h, 895), 1);
	assert_int_equal(histogram_at_most(&h, 1023), 2);
	assert_int_equal(histogram_at_most(&h, 1151), 3);
	assert_int_equal(histogram_at_most(&h, TOP - 1), 3);
	assert_int_equal(histogram_at_most(&h, INT64_MAX), 4);
}

static void
histogram_merge_when_both_filled_adds_up(void **state)
{
	struct histogram other;

	(void)state;
	histogram_init(&other);
	histogram_add(&h, 1);
	histogram_add(&other, 1);
	histogram_add(&other, 100);
	histogram_merge(&h, &other);
	assert_int_equal(histogram_count(&h), 3);
	assert_int_equal(histogram_sum_ms(&h), 102);
	assert_int_equal(histogram_at_most(&h, 1), 2);
	assert_int_equal(histogram_count(&other), 2);
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(histogram_when_empty_has_no_quantile),
	    TEST(histogram_add_when_at_bucket_borders_takes_the_right_one),
	    TEST(histogram_quantile_when_above_16_is_at_most_an_eighth_off),
	    TEST(histogram_quantile_when_spread_goes_by_rank),
	    TEST(histogram_at_most_when_bound_ends_a_bucket_is_exact),
	    TEST(histogram_merge_when_both_filled_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What is remembered of which route counts in which bucket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/buckets.h"

static struct buckets b;

static int
set_up(void **state)
{
	(void)state;
	return buckets_init(&b);
}

static int
tear_down(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	buckets_free(&b);
	return 0;
}

static void
route_has_the_bucket_that_was_named_last(void **state)
{
	(void)state;
	assert_int_equal(buckets_find(&b, 1), 0);
	buckets_learn(&b, 1, 7, 10);
	assert_int_equal(buckets_find(&b, 1), 7);
	assert_int_equal(buckets_find(&b, 2), 0);
	buckets_learn(&b, 1, 8, 10);
	assert_int_equal(buckets_find(&b, 1), 8);
	assert_int_equal(b.routes.n, 1);
}

static void
route_without_a_bucket_is_forgotten(void **state)
{
	(void)state;
	buckets_learn(&b, 1, 0, 10);
	assert_int_equal(b.routes.n, 0);
	buckets_learn(&b, 1, 7, 10);
	buckets_learn(&b, 1, 0, 10);
	assert_int_equal(buckets_find(&b, 1), 0);
	assert_int_equal(b.routes.n, 0);
}

static void
time_is_raised_and_never_taken_back(void **state)
{
	(void)state;
	buckets_raise(&b, 1, 500, 10);
	buckets_raise(&b, 1, 400, 10);
	assert_int_equal(buckets_find(&b, 1), 500);
	buckets_raise(&b, 1, 600, 10);
	assert_int_equal(buckets_find(&b, 1), 600);
	buckets_raise(&b, 2, 1, 1);
	assert_int_equal(buckets_find(&b, 1), 0);
	assert_int_equal(buckets_find(&b, 2), 1);
	mem_fail_at(1, true);
	buckets_raise(&b, 3, 9, 10);
	mem_fail_at(0, false);
	assert_int_equal(buckets_find(&b, 3), 0);
}

static void
route_asked_for_longest_ago_goes_first(void **state)
{
	(void)state;
	for (uint64_t r = 1; r <= 3; r++)
		buckets_learn(&b, r, 10 + r, 3);
	assert_int_equal(buckets_find(&b, 1), 11);
	buckets_learn(&b, 4, 14, 3);
	assert_int_equal(buckets_find(&b, 2), 0);
	assert_int_equal(buckets_find(&b, 1), 11);
	assert_int_equal(buckets_find(&b, 3), 13);
	assert_int_equal(buckets_find(&b, 4), 14);
	/* A smaller bound after a reload. */
	buckets_learn(&b, 5, 15, 1);
	assert_int_equal(b.routes.n, 1);
	assert_int_equal(buckets_find(&b, 5), 15);
}

static void
route_is_not_learned_without_memory(void **state)
{
	(void)state;
	mem_fail_at(1, true);
	buckets_learn(&b, 1, 7, 10);
	mem_fail_at(0, false);
	assert_int_equal(buckets_find(&b, 1), 0);
	buckets_learn(&b, 1, 7, 10);
	assert_int_equal(buckets_find(&b, 1), 7);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(route_has_the_bucket_that_was_named_last),
	    TEST(route_without_a_bucket_is_forgotten),
	    TEST(time_is_raised_and_never_taken_back),
	    TEST(route_asked_for_longest_ago_goes_first),
	    TEST(route_is_not_learned_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

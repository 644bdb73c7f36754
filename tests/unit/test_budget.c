/* SPDX-License-Identifier: MIT */
/* How many retries the requests of the last seconds pay for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "policy/budget.h"

static const struct budget_cfg fifth = {.on = true, .percent = 20};
static const struct budget_cfg floored = {.on = true,
    .percent = 20,
    .floor = {.count = 10, .per_ms = 1000, .burst = 10}};

static struct budget
budget_of(const struct budget_cfg *cfg)
{
	struct budget b;

	budget_init(&b, cfg, 0);
	return b;
}

static void
requests(struct budget *b, unsigned n, int64_t now_ms)
{
	while (n-- > 0)
		budget_request(b, now_ms);
}

/* How many retries it pays for at this moment. */
static unsigned
retries(struct budget *b, int64_t now_ms)
{
	unsigned n = 0;

	while (n < 100000 && budget_retry(b, now_ms))
		n++;
	return n;
}

static void
budget_off_pays_for_all(void **state)
{
	struct budget b = budget_of(&(struct budget_cfg){.on = false});

	(void)state;
	assert_int_equal(retries(&b, 0), 100000);
}

static void
share_of_requests_is_rounded_down(void **state)
{
	static const unsigned v[][2] = {{0, 0}, {1, 0}, {4, 0}, {5, 1}, {9, 1},
	    {10, 2}, {1000, 200}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct budget b = budget_of(&fifth);

		requests(&b, v[i][0], 100);
		assert_int_equal(retries(&b, 100), v[i][1]);
	}
}

static void
share_counts_what_was_taken_of_it(void **state)
{
	struct budget b = budget_of(&fifth);

	(void)state;
	requests(&b, 10, 0);
	assert_int_equal(retries(&b, 0), 2);
	requests(&b, 4, 1000);
	assert_int_equal(retries(&b, 1000), 0);
	requests(&b, 1, 1000);
	assert_int_equal(retries(&b, 1000), 1);
}

static void
window_keeps_requests_for_ten_seconds(void **state)
{
	(void)state;
	for (int64_t at = 0; at < 2 * BUDGET_STEP_MS; at += 50) {
		struct budget b = budget_of(&fifth);

		requests(&b, 10, at);
		assert_int_equal(retries(&b, at + BUDGET_WINDOW_MS), 2);
		b = budget_of(&fifth);
		requests(&b, 10, at);
		assert_int_equal(retries(&b,
				     at + BUDGET_WINDOW_MS + BUDGET_STEP_MS),
		    0);
	}
}

static void
window_forgets_retries_with_their_time(void **state)
{
	struct budget b = budget_of(&fifth);

	(void)state;
	requests(&b, 10, 0);
	assert_int_equal(retries(&b, 0), 2);
	requests(&b, 10, 9000);
	assert_int_equal(retries(&b, 9000), 2);
	/* What is left of the window: ten requests and two retries. */
	assert_int_equal(retries(&b, 11000), 0);
	requests(&b, 10, 11000);
	assert_int_equal(retries(&b, 11000), 2);
}

static void
window_of_long_ago_is_empty(void **state)
{
	struct budget b = budget_of(&fifth);

	(void)state;
	requests(&b, 1000, 0);
	assert_int_equal(retries(&b, INT64_C(1000000000000)), 0);
}

static void
floor_lets_a_quiet_service_retry(void **state)
{
	struct budget b = budget_of(&floored);

	(void)state;
	assert_int_equal(retries(&b, 0), 10);
	assert_int_equal(retries(&b, 99), 0);
	assert_int_equal(retries(&b, 100), 1);
	assert_int_equal(retries(&b, 1100), 10);
}

static void
floor_is_touched_once_the_share_is_used_up(void **state)
{
	struct budget b = budget_of(&floored);

	(void)state;
	requests(&b, 100, 0);
	assert_int_equal(retries(&b, 0), 30);
	assert_int_equal(retries(&b, 0), 0);
	requests(&b, 5, 0);
	assert_int_equal(retries(&b, 0), 1);
}

static void
floor_alone_is_a_rate(void **state)
{
	struct budget_cfg cfg = {.on = true, .floor = {1, 60000, 1}};
	struct budget b = budget_of(&cfg);

	(void)state;
	requests(&b, 1000, 0);
	assert_int_equal(retries(&b, 0), 1);
	assert_int_equal(retries(&b, 59999), 0);
	assert_int_equal(retries(&b, 60000), 1);
}

static void
time_that_comes_out_of_order_is_the_latest(void **state)
{
	struct budget b = budget_of(&floored);

	(void)state;
	requests(&b, 10, 5000);
	assert_int_equal(retries(&b, 5000), 12);
	requests(&b, 5, 4000);
	assert_int_equal(retries(&b, 4000), 1);
	assert_int_equal(retries(&b, 5099), 0);
	assert_int_equal(retries(&b, 5100), 1);
}

static void
reload_keeps_what_was_counted_and_taken(void **state)
{
	struct budget_cfg day = {.on = true, .floor = {1, 86400000, 1}};
	struct budget b = budget_of(&day);

	(void)state;
	requests(&b, 100, 0);
	assert_int_equal(retries(&b, 0), 1);
	budget_reconfigure(&b, &floored, 1000);
	/* A day's debt is one token of the new floor. */
	assert_int_equal(retries(&b, 1000), 20 + 9);
	budget_reconfigure(&b, &(struct budget_cfg){.on = false}, 1000);
	assert_true(budget_retry(&b, 1000));
}

/* Whatever comes: within any window at most share x requests + floor. */
static void
retries_in_any_window_stay_within_budget(void **state)
{
	enum { MS = 60000, AROUND = BUDGET_WINDOW_MS + BUDGET_STEP_MS };
	static unsigned asked[MS + 1], paid[MS + 1];
	struct budget b = budget_of(&floored);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	for (int ms = 0; ms < MS; ms++) {
		bool wild = ms / 7000 % 2;

		asked[ms + 1] = asked[ms];
		paid[ms + 1] = paid[ms];
		for (int i = 0; i < 3 && rng_unit(&rng) < 0.1; i++) {
			budget_request(&b, ms);
			asked[ms + 1]++;
		}
		for (int i = 0; i < 3 && rng_unit(&rng) < (wild ? 0.5 : 0.02);
		     i++)
			paid[ms + 1] += budget_retry(&b, ms);
	}
	for (int from = AROUND; from + BUDGET_WINDOW_MS <= MS; from += 13) {
		int to = from + BUDGET_WINDOW_MS;
		unsigned seen = asked[to] - asked[from - AROUND];

		assert_true(paid[to] - paid[from] <= seen / 5 + 110);
	}
	assert_true(paid[MS] > 600);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(budget_off_pays_for_all),
	    cmocka_unit_test(share_of_requests_is_rounded_down),
	    cmocka_unit_test(share_counts_what_was_taken_of_it),
	    cmocka_unit_test(window_keeps_requests_for_ten_seconds),
	    cmocka_unit_test(window_forgets_retries_with_their_time),
	    cmocka_unit_test(window_of_long_ago_is_empty),
	    cmocka_unit_test(floor_lets_a_quiet_service_retry),
	    cmocka_unit_test(floor_is_touched_once_the_share_is_used_up),
	    cmocka_unit_test(floor_alone_is_a_rate),
	    cmocka_unit_test(time_that_comes_out_of_order_is_the_latest),
	    cmocka_unit_test(reload_keeps_what_was_counted_and_taken),
	    cmocka_unit_test(retries_in_any_window_stay_within_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The length of a wait: own back-off, jitter, and which of hint and own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/backoff.h"

#define ALMOST_ONE 0x1.fffffffffffffp-1 /* the largest draw */
#define LEAST_DRAW 0x1p-53              /* the smallest but 0 */

static const struct backoff_cfg worked = {.strategy = STRATEGY_AUTO,
    .base_ms = 400,
    .max_ms = 10000,
    .jitter_ms = 1500};

static void
own_of_worked_example_is_within_400_1200_2800(void **state)
{
	static const int64_t most[] = {400, 1200, 2800, 6000};

	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		int64_t top = most[n - 1];

		assert_int_equal(backoff_own_ms(&worked, n, 0.0), 0);
		assert_int_equal(backoff_own_ms(&worked, n, 0.5), top / 2);
		assert_int_equal(backoff_own_ms(&worked, n, 0.25), top / 4);
		assert_int_equal(backoff_own_ms(&worked, n, ALMOST_ONE), top);
	}
}

static void
own_over_max_becomes_max(void **state)
{
	struct backoff_cfg cfg = worked;

	(void)state;
	cfg.max_ms = 2800;
	assert_int_equal(backoff_own_ms(&cfg, 3, ALMOST_ONE), 2800);
	cfg.max_ms = 2799;
	assert_int_equal(backoff_own_ms(&cfg, 3, ALMOST_ONE), 2799);
	/* the cap comes after the draw: a low draw is not scaled down */
	assert_int_equal(backoff_own_ms(&cfg, 3, 0.5), 1400);
	assert_int_equal(backoff_own_ms(&cfg, 5, 0.125), 1550);
	assert_int_equal(backoff_own_ms(&cfg, 5, 0.25), 2799);
	cfg.base_ms = cfg.max_ms = 0;
	assert_int_equal(backoff_own_ms(&cfg, 5, ALMOST_ONE), 0);
}

static void
own_with_fraction_rounds_up(void **state)
{
	struct backoff_cfg cfg = worked;

	(void)state;
	cfg.base_ms = 1;
	assert_int_equal(backoff_own_ms(&cfg, 1, LEAST_DRAW), 1);
	assert_int_equal(backoff_own_ms(&cfg, 2, 0.34), 2); /* 1.02 */
	cfg.base_ms = 1000;
	assert_int_equal(backoff_own_ms(&cfg, 1, 0.2505), 251); /* 250.5 */
}

static void
own_of_any_n_saturates(void **state)
{
	static const unsigned many[] = {40, 62, 63, 64, 65, 1023, 1024, 1000000,
	    UINT32_MAX};
	struct backoff_cfg cfg = worked;

	(void)state;
	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		unsigned n = many[i];

		cfg.max_ms = 10000;
		assert_int_equal(backoff_own_ms(&cfg, n, 0.0), 0);
		assert_int_equal(backoff_own_ms(&cfg, n, 0.5), 10000);
		cfg.max_ms = INT64_MAX;
		assert_int_equal(backoff_own_ms(&cfg, n, 0.0), 0);
		if (n >= 64)
			assert_int_equal(backoff_own_ms(&cfg, n, 0.5),
			    INT64_MAX);
	}
	cfg.base_ms = INT64_MAX;
	assert_int_equal(backoff_own_ms(&cfg, 1000000, ALMOST_ONE), INT64_MAX);
	assert_int_equal(backoff_own_ms(&cfg, 1000000, 0.0), 0);
}

static void
own_with_base_0_is_0(void **state)
{
	struct backoff_cfg cfg = worked;

	(void)state;
	cfg.base_ms = 0;
	assert_int_equal(backoff_own_ms(&cfg, 1, ALMOST_ONE), 0);
	assert_int_equal(backoff_own_ms(&cfg, 1000000, ALMOST_ONE), 0);
}

static void
jitter_at_its_edges_stays_in_window(void **state)
{
	struct backoff_cfg cfg = worked;

	(void)state;
	assert_int_equal(backoff_jitter_ms(&cfg, 0.0), 0);
	assert_int_equal(backoff_jitter_ms(&cfg, LEAST_DRAW), 1);
	assert_int_equal(backoff_jitter_ms(&cfg, 0.5), 750);
	assert_int_equal(backoff_jitter_ms(&cfg, 0.5003), 751);
	assert_int_equal(backoff_jitter_ms(&cfg, ALMOST_ONE), 1500);
	cfg.jitter_ms = 0;
	assert_int_equal(backoff_jitter_ms(&cfg, ALMOST_ONE), 0);
}

static void
wait_of_500_with_jitter_ends_in_500_to_2000(void **state)
{
	struct backoff_cfg cfg = worked;
	int64_t wait;

	(void)state;
	cfg.strategy = STRATEGY_EXPONENTIAL;
	cfg.base_ms = 500;
	wait = backoff_wait_ms(&cfg, 0, 1, ALMOST_ONE);
	assert_int_equal(wait, 500);
	assert_int_equal(wait + backoff_jitter_ms(&cfg, 0.0), 500);
	assert_int_equal(wait + backoff_jitter_ms(&cfg, ALMOST_ONE), 2000);
}

static void
wait_of_hint_2s_with_jitter_ends_in_2000_to_3500(void **state)
{
	struct backoff_cfg cfg = worked;
	int64_t wait;

	(void)state;
	cfg.strategy = STRATEGY_RESPONSE_HEADER;
	wait = backoff_wait_ms(&cfg, 2000, 4, ALMOST_ONE);
	assert_int_equal(wait, 2000);
	assert_int_equal(wait + backoff_jitter_ms(&cfg, 0.0), 2000);
	assert_int_equal(wait + backoff_jitter_ms(&cfg, ALMOST_ONE), 3500);
}

static void
wait_by_strategy_is_never_less_than_hint(void **state)
{
	static const struct {
		enum strategy strategy;
		int64_t hint_ms;
		int64_t want; /* own back-off is 1400 */
	} cases[] = {
	    {STRATEGY_AUTO, 1399, 1400},
	    {STRATEGY_AUTO, 1400, 1400},
	    {STRATEGY_AUTO, 1401, 1401},
	    {STRATEGY_EXPONENTIAL, 1399, 1400},
	    {STRATEGY_EXPONENTIAL, 1401, 1401},
	    {STRATEGY_RESPONSE_HEADER, 1, 1},
	    {STRATEGY_RESPONSE_HEADER, 1399, 1399},
	    {STRATEGY_RESPONSE_HEADER, 1401, 1401},
	    /* max caps own back-off, never a hint */
	    {STRATEGY_AUTO, 10001, 10001},
	    {STRATEGY_EXPONENTIAL, INT64_MAX / 4, INT64_MAX / 4},
	    {STRATEGY_RESPONSE_HEADER, INT64_MAX / 4, INT64_MAX / 4},
	};
	struct backoff_cfg cfg = worked;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cfg.strategy = cases[i].strategy;
		assert_int_equal(backoff_wait_ms(&cfg, cases[i].hint_ms, 3,
				     0.5),
		    cases[i].want);
	}
}

static void
wait_without_hint_is_own(void **state)
{
	static const int64_t none[] = {0, -1, INT64_MIN};
	struct backoff_cfg cfg = worked;

	(void)state;
	for (int s = STRATEGY_AUTO; s <= STRATEGY_RESPONSE_HEADER; s++) {
		cfg.strategy = (enum strategy)s;
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(backoff_wait_ms(&cfg, none[i], 3, 0.5),
			    1400);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_of_worked_example_is_within_400_1200_2800),
	    cmocka_unit_test(own_over_max_becomes_max),
	    cmocka_unit_test(own_with_fraction_rounds_up),
	    cmocka_unit_test(own_of_any_n_saturates),
	    cmocka_unit_test(own_with_base_0_is_0),
	    cmocka_unit_test(jitter_at_its_edges_stays_in_window),
	    cmocka_unit_test(wait_of_500_with_jitter_ends_in_500_to_2000),
	    cmocka_unit_test(wait_of_hint_2s_with_jitter_ends_in_2000_to_3500),
	    cmocka_unit_test(wait_by_strategy_is_never_less_than_hint),
	    cmocka_unit_test(wait_without_hint_is_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

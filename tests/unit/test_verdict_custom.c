/* SPDX-License-Identifier: MIT */
/* What a script said about a refusal (strategy = custom), in the verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "verdict_rig.h"

static struct rig
custom_rig(void)
{
	struct rig g = rig_new();

	g.backoff.strategy = STRATEGY_CUSTOM;
	return g;
}

/* A refusal with this hint (0: none), and what the script said. */
static struct attempt
refusal(int64_t hint_ms, enum custom_kind kind, int64_t ms)
{
	struct attempt a = answer(429, hint_ms);

	a.custom = (struct custom_wait){kind, ms};
	return a;
}

static void
custom_wait_is_what_the_script_says(void **state)
{
	static const struct {
		int64_t hint_ms;
		enum custom_kind kind;
		int64_t ms, want_ms;
	} rows[] = {
	    {0, CUSTOM_WAIT, 7000, 7000},
	    {0, CUSTOM_WAIT, 20000, 20000}, /* max_delay is own back-off's */
	    {0, CUSTOM_WAIT, 0, 0},
	    {3000, CUSTOM_WAIT, 7000, 7000},
	    {3000, CUSTOM_WAIT, 2999, 3000}, /* never before a hint: rule 2 */
	    {3000, CUSTOM_WAIT, 0, 3000},
	    {0, CUSTOM_OWN, 250, 250},
	    {3000, CUSTOM_OWN, 250, 3000},
	    {3000, CUSTOM_OWN, 4000, 4000},
	    {0, CUSTOM_NONE, 9999, 500}, /* drawn here */
	    {3000, CUSTOM_NONE, 9999, 3000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig g = custom_rig();
		struct attempt a =
		    refusal(rows[i].hint_ms, rows[i].kind, rows[i].ms);

		rig_begin(&g, 0);
		assert_retry(rig_end(&g, &a, 100), 100 + rows[i].want_ms + 750);
		assert_int_equal(g.s.until_ms, 100 + rows[i].want_ms + 750);
		assert_int_equal(g.s.fails, 1);
	}
}

static void
custom_give_up_relays_and_shuts_the_key(void **state)
{
	struct rig g = custom_rig();
	struct attempt a = refusal(3000, CUSTOM_GIVE_UP, 400);

	(void)state;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 100), GIVE_UP_SCRIPT);
	assert_int_equal(g.s.state, SERVICE_SHUT);
	assert_int_equal(g.s.until_ms, 100 + 3000 + 750);

	g = custom_rig();
	a = refusal(0, CUSTOM_GIVE_UP, 400);
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 100), GIVE_UP_SCRIPT);
	assert_int_equal(g.s.until_ms, 100 + 400 + 750);
}

static void
custom_wait_over_max_wait_is_given_up(void **state)
{
	struct rig g = custom_rig();
	struct attempt a = refusal(0, CUSTOM_WAIT, 5001);

	(void)state;
	g.r.max_wait_ms = 5000;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 0), GIVE_UP_MAX_WAIT);
	g.r.max_wait_ms = 60000;
	g.s = (struct service){0};
	service_init(&g.s);
	a.custom.ms = INT64_MAX;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 0), GIVE_UP_MAX_WAIT);
}

/* The reasons that hold whatever a script says come first. */
static void
custom_give_up_is_not_the_reason_where_nothing_may_be_repeated(void **state)
{
	struct rig g = custom_rig();
	struct attempt a = refusal(0, CUSTOM_GIVE_UP, 0);

	(void)state;
	g.r.max_retries = 0;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 0), GIVE_UP_NO_RETRIES);
}

/* Two admitted together: the second refusal comes when the first has counted.
 * What a script said holds like a hint, its own back-off does not. */
static void
custom_wait_of_a_late_refusal_lengthens_the_hold(void **state)
{
	struct rig g = custom_rig();
	struct attempt first = refusal(0, CUSTOM_WAIT, 1000);
	struct attempt own = refusal(0, CUSTOM_OWN, 9000);
	struct attempt longer = refusal(0, CUSTOM_WAIT, 4000);
	struct ticket late;

	(void)state;
	g.u_jitter = 0;
	rig_begin(&g, 0);
	late = g.t;
	rig_begin(&g, 0);
	assert_retry(rig_end(&g, &first, 100), 1100);
	g.t = late;
	assert_retry(rig_end(&g, &own, 200), 1100);
	assert_retry(rig_end(&g, &longer, 200), 4200);
	assert_int_equal(g.s.fails, 1);
}

/* An answer that is no refusal was not shown to the script. */
static void
custom_wait_of_a_success_means_nothing(void **state)
{
	struct rig g = custom_rig();
	struct attempt a = answer(200, 0);

	(void)state;
	a.custom = (struct custom_wait){CUSTOM_GIVE_UP, 1000};
	rig_begin(&g, 0);
	assert_int_equal(rig_end(&g, &a, 0).kind, VERDICT_DELIVER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(custom_wait_is_what_the_script_says),
	    cmocka_unit_test(custom_give_up_relays_and_shuts_the_key),
	    cmocka_unit_test(custom_wait_over_max_wait_is_given_up),
	    cmocka_unit_test(
		custom_give_up_is_not_the_reason_where_nothing_may_be_repeated),
	    cmocka_unit_test(custom_wait_of_a_late_refusal_lengthens_the_hold),
	    cmocka_unit_test(custom_wait_of_a_success_means_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

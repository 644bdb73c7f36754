/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

/* From the state 1, 2, 3, 4; worked out from the authors' definition. */
static void
rng_next_when_state_is_known_gives_the_known_numbers(void **state)
{
	static const uint64_t want[] = {
	    UINT64_C(41943041),
	    UINT64_C(58720359),
	    UINT64_C(3588806011781223),
	    UINT64_C(3591011842654386),
	    UINT64_C(9228616714210784205),
	    UINT64_C(9973669472204895162),
	};
	struct rng r = {{1, 2, 3, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_true(rng_next(&r) == want[i]);
}

static void
rng_seed_when_seeded_fills_state_by_splitmix(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, UINT64_C(1477776061723855037));
	assert_true(r.s[0] == UINT64_C(1985237415132408290));
	assert_true(r.s[1] == UINT64_C(2979275885539914483));
	assert_true(r.s[2] == UINT64_C(13511426838097143398));
	rng_seed(&r, 0);
	assert_true((r.s[0] | r.s[1] | r.s[2] | r.s[3]) != 0);
}

static void
rng_unit_when_drawn_often_fills_the_unit_interval(void **state)
{
	unsigned tenths[10] = {0};
	struct rng r;

	(void)state;
	rng_seed(&r, 7);
	for (unsigned i = 0; i < 100000; i++) {
		double u = rng_unit(&r);

		assert_true(u >= 0.0 && u < 1.0);
		tenths[(unsigned)(u * 10)]++;
	}
	for (unsigned i = 0; i < 10; i++)
		assert_in_range(tenths[i], 9500, 10500);
}

/* s[0] + s[3] all ones, s[0] 0: the largest draw there is. */
static void
rng_unit_when_draw_is_largest_stays_below_one(void **state)
{
	struct rng r = {{0, 1, 1, UINT64_MAX}};

	(void)state;
	assert_true(rng_unit(&r) == 1.0 - 0x1.0p-53);
	r = (struct rng){{0, 1, 1, 0}};
	assert_true(rng_unit(&r) == 0.0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		rng_next_when_state_is_known_gives_the_known_numbers),
	    cmocka_unit_test(rng_seed_when_seeded_fills_state_by_splitmix),
	    cmocka_unit_test(rng_unit_when_drawn_often_fills_the_unit_interval),
	    cmocka_unit_test(rng_unit_when_draw_is_largest_stays_below_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

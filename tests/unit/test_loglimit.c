/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edge/loglimit.h"

static void
limit_when_within_a_second_counts_what_was_silent(void **state)
{
	static struct loglimit l;
	unsigned silent = 77;

	(void)state;
	loglimit_init(&l);
	assert_true(loglimit_may(&l, 5, 100, &silent));
	assert_int_equal(silent, 0);
	assert_false(loglimit_may(&l, 5, 100, &silent));
	assert_false(loglimit_may(&l, 5, 1099, &silent));
	assert_true(loglimit_may(&l, 5, 1100, &silent));
	assert_int_equal(silent, 2);
	assert_false(loglimit_may(&l, 5, 1101, &silent));
	assert_true(loglimit_may(&l, 5, 9000, &silent));
	assert_int_equal(silent, 1);
	assert_true(loglimit_may(&l, 5, 99000, &silent));
	assert_int_equal(silent, 0);
	loglimit_free(&l);
}

static void
limit_of_another_peer_is_its_own(void **state)
{
	static struct loglimit l;
	unsigned silent = 77;

	(void)state;
	loglimit_init(&l);
	/* The clock may begin at 0, and a hash may be 0. */
	assert_true(loglimit_may(&l, 0, 0, &silent));
	assert_false(loglimit_may(&l, 0, 0, &silent));
	assert_true(loglimit_may(&l, 1, 0, &silent));
	assert_false(loglimit_may(&l, 1, 0, &silent));
	assert_true(loglimit_may(&l, LOGLIMIT_ROWS + 1, 0, &silent));
	assert_int_equal(silent, 0);
	loglimit_free(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(limit_when_within_a_second_counts_what_was_silent),
	    cmocka_unit_test(limit_of_another_peer_is_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Which requests wait already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/copies.h"

static void
copies_that_wait_are_counted_and_others_not(void **state)
{
	struct map_node a, b, other;
	struct copies c;

	(void)state;
	assert_int_equal(copies_init(&c), 0);
	assert_int_equal(copies_waiting(&c, 7), 0);
	copies_add(&c, &a, 7);
	copies_add(&c, &other, 8);
	assert_int_equal(copies_waiting(&c, 7), 1);
	copies_add(&c, &b, 7);
	assert_int_equal(copies_waiting(&c, 7), 2);
	assert_int_equal(copies_waiting(&c, 9), 0);
	copies_del(&c, &a);
	assert_int_equal(copies_waiting(&c, 7), 1);
	copies_del(&c, &b);
	copies_del(&c, &other);
	assert_int_equal(copies_waiting(&c, 7), 0);
	assert_int_equal(c.map.n, 0);
	copies_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies_that_wait_are_counted_and_others_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Which requests wait already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/copies.h"

static void
copies_that_wait_are_counted_and_others_not(void **state)
{
	struct copies_print *a, *b, *other;
	struct copies c;

	(void)state;
	assert_int_equal(copies_init(&c), 0);
	assert_int_equal(copies_waiting(&c, 7), 0);
	a = copies_add(&c, 7);
	other = copies_add(&c, 8);
	assert_int_equal(copies_waiting(&c, 7), 1);
	b = copies_add(&c, 7);
	assert_int_equal(copies_waiting(&c, 7), 2);
	assert_int_equal(copies_waiting(&c, 9), 0);
	copies_del(&c, a);
	assert_int_equal(copies_waiting(&c, 7), 1);
	copies_del(&c, b);
	copies_del(&c, other);
	assert_int_equal(copies_waiting(&c, 7), 0);
	assert_int_equal(c.map.n, 0);
	copies_free(&c);
}

/* A client that asks for the same all the time has one entry, not a chain that
 * everybody walks along. */
static void
copies_of_one_request_are_one_entry(void **state)
{
	struct copies_print *v[1000];
	struct copies c;

	(void)state;
	assert_int_equal(copies_init(&c), 0);
	for (int i = 0; i < 1000; i++)
		assert_non_null(v[i] = copies_add(&c, 7));
	assert_int_equal(c.map.n, 1);
	assert_int_equal(copies_waiting(&c, 7), 1000);
	for (int i = 0; i < 1000; i++)
		copies_del(&c, v[i]);
	assert_int_equal(c.map.n, 0);
	copies_free(&c);
}

static void
copies_without_memory_are_not_counted(void **state)
{
	struct copies_print *a;
	struct copies c;

	(void)state;
	assert_int_equal(copies_init(&c), 0);
	mem_fail_at(1, false);
	a = copies_add(&c, 7);
	mem_fail_at(0, false);
	assert_null(a);
	assert_int_equal(copies_waiting(&c, 7), 0);
	copies_del(&c, a);
	copies_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies_that_wait_are_counted_and_others_not),
	    cmocka_unit_test(copies_of_one_request_are_one_entry),
	    cmocka_unit_test(copies_without_memory_are_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

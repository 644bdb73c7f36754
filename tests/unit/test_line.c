/* SPDX-License-Identifier: MIT */
/* The waiting line: bounds, order, fairness, seniority. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/rng.h"
#include "policy/line.h"

#define ALICE 101
#define BOB 102
#define CAROL 103

static struct line_entry
entry(uint64_t client, uint8_t urgency)
{
	struct line_entry e;

	line_entry_init(&e, client, urgency);
	return e;
}

static void
crowd(struct line *l, struct line_entry *v, int n, uint64_t client,
    uint8_t urgency)
{
	for (int i = 0; i < n; i++) {
		v[i] = entry(client, urgency);
		assert_int_equal(line_enter(l, &v[i]), LINE_OK);
	}
}

static struct line_entry *
serve(struct line *l)
{
	struct line_entry *e = line_head(l);

	if (e)
		line_pop(l, e);
	return e;
}

static void
line_empty_has_no_head(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(line_init(&l, 1), 0);
	assert_null(line_head(&l));
	assert_int_equal(line_length(&l), 0);
	assert_int_equal(line_client_count(&l, ALICE), 0);
	line_free(&l);
}

static void
line_one_client_sees_fifo(void **state)
{
	struct line l;
	struct line_entry v[20];

	(void)state;
	assert_int_equal(line_init(&l, 20), 0);
	crowd(&l, v, 20, ALICE, 3);
	for (int i = 0; i < 20; i++)
		assert_ptr_equal(serve(&l), &v[i]);
	assert_null(serve(&l));
	line_free(&l);
}

static void
line_full_refuses_newcomers_and_changes_nothing(void **state)
{
	struct line l;
	struct line_entry v[3], late = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 3), 0);
	crowd(&l, v, 2, ALICE, 3);
	crowd(&l, v + 2, 1, CAROL, 3);
	assert_int_equal(line_enter(&l, &late), LINE_FULL);
	assert_int_equal(late.tag, 0);
	assert_false(heap_has(&late.node));
	assert_int_equal(line_length(&l), 3);
	assert_int_equal(line_client_count(&l, BOB), 0);
	line_leave(&l, &v[1]);
	assert_int_equal(line_enter(&l, &late), LINE_OK);
	line_free(&l);
}

static void
line_of_no_places_refuses(void **state)
{
	struct line l;
	struct line_entry e = entry(ALICE, 3);

	(void)state;
	assert_int_equal(line_init(&l, 0), 0);
	assert_int_equal(line_enter(&l, &e), LINE_FULL);
	line_free(&l);
}

static void
line_late_client_is_served_second(void **state)
{
	static struct line_entry many[1000];
	struct line l;
	struct line_entry late = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 1001), 0);
	crowd(&l, many, 1000, ALICE, 3);
	assert_int_equal(line_enter(&l, &late), LINE_OK);
	assert_ptr_equal(serve(&l), &many[0]);
	assert_ptr_equal(serve(&l), &late);
	assert_ptr_equal(serve(&l), &many[1]);
	line_free(&l);
}

static void
line_late_client_after_long_service_is_served_second(void **state)
{
	static struct line_entry many[1000];
	struct line l;
	struct line_entry late = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 1001), 0);
	crowd(&l, many, 1000, ALICE, 3);
	for (int i = 0; i < 500; i++)
		assert_ptr_equal(serve(&l), &many[i]);
	assert_int_equal(line_enter(&l, &late), LINE_OK);
	assert_ptr_equal(serve(&l), &many[500]);
	assert_ptr_equal(serve(&l), &late);
	line_free(&l);
}

static void
line_clients_take_turns(void **state)
{
	struct line l;
	struct line_entry a[4], b[2], c[3];
	const struct line_entry *want[] = {&a[0], &b[0], &c[0], &a[1], &b[1],
	    &c[1], &a[2], &c[2], &a[3]};

	(void)state;
	assert_int_equal(line_init(&l, 20), 0);
	crowd(&l, a, 4, ALICE, 3);
	crowd(&l, b, 2, BOB, 3);
	crowd(&l, c, 3, CAROL, 3);
	for (size_t i = 0; i < 9; i++)
		assert_ptr_equal(serve(&l), want[i]);
	line_free(&l);
}

static void
line_client_coming_back_at_once_gains_nothing(void **state)
{
	struct line l;
	struct line_entry a[10], b;

	(void)state;
	assert_int_equal(line_init(&l, 20), 0);
	crowd(&l, a, 10, ALICE, 3);
	/* One at a time, again and again: still every second turn. */
	for (int i = 0; i < 10; i++) {
		b = entry(BOB, 3);
		assert_int_equal(line_enter(&l, &b), LINE_OK);
		assert_ptr_equal(serve(&l), &a[i]);
		assert_ptr_equal(serve(&l), &b);
	}
	line_free(&l);
}

static void
line_urgency_goes_before_all(void **state)
{
	struct line l;
	struct line_entry low[2], mid[2], top[2];

	(void)state;
	assert_int_equal(line_init(&l, 20), 0);
	crowd(&l, low, 2, ALICE, 7);
	crowd(&l, mid, 2, BOB, 3);
	crowd(&l, top, 2, ALICE, 0);
	assert_ptr_equal(serve(&l), &top[0]);
	assert_ptr_equal(serve(&l), &top[1]);
	assert_ptr_equal(serve(&l), &mid[0]);
	assert_ptr_equal(serve(&l), &mid[1]);
	assert_ptr_equal(serve(&l), &low[0]);
	assert_ptr_equal(serve(&l), &low[1]);
	line_free(&l);
}

static void
line_urgency_over_seven_counts_as_seven(void **state)
{
	struct line_entry e = entry(ALICE, 255);

	(void)state;
	assert_int_equal(e.urgency, 7);
	assert_int_equal(entry(ALICE, 7).urgency, 7);
	assert_int_equal(entry(ALICE, 6).urgency, 6);
}

static void
line_service_at_high_priority_leaves_low_one_fair(void **state)
{
	static struct line_entry urgent[500], many[100];
	struct line l;
	struct line_entry late = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 1000), 0);
	crowd(&l, many, 100, ALICE, 3);
	crowd(&l, urgent, 500, CAROL, 0);
	for (int i = 0; i < 500; i++)
		assert_ptr_equal(serve(&l), &urgent[i]);
	assert_int_equal(line_enter(&l, &late), LINE_OK);
	assert_ptr_equal(serve(&l), &many[0]);
	assert_ptr_equal(serve(&l), &late);
	line_free(&l);
}

static void
line_refused_returns_to_its_old_place(void **state)
{
	struct line l;
	struct line_entry v[5];

	(void)state;
	assert_int_equal(line_init(&l, 5), 0);
	crowd(&l, v, 5, ALICE, 3);
	assert_ptr_equal(serve(&l), &v[0]);
	assert_ptr_equal(serve(&l), &v[1]);
	assert_int_equal(line_enter(&l, &v[1]), LINE_OK);
	assert_int_equal(line_enter(&l, &v[0]), LINE_OK);
	for (int i = 0; i < 5; i++)
		assert_ptr_equal(serve(&l), &v[i]);
	line_free(&l);
}

static void
line_refused_returns_before_those_who_came_later(void **state)
{
	struct line l;
	struct line_entry a = entry(ALICE, 3), b[3];

	(void)state;
	assert_int_equal(line_init(&l, 5), 0);
	assert_int_equal(line_enter(&l, &a), LINE_OK);
	assert_ptr_equal(serve(&l), &a);
	crowd(&l, b, 3, BOB, 3);
	assert_ptr_equal(serve(&l), &b[0]);
	assert_int_equal(line_enter(&l, &a), LINE_OK);
	assert_ptr_equal(serve(&l), &a);
	assert_ptr_equal(serve(&l), &b[1]);
	line_free(&l);
}

static void
line_refused_returns_though_full(void **state)
{
	struct line l;
	struct line_entry a = entry(ALICE, 3), b[2];

	(void)state;
	assert_int_equal(line_init(&l, 2), 0);
	assert_int_equal(line_enter(&l, &a), LINE_OK);
	assert_ptr_equal(serve(&l), &a);
	crowd(&l, b, 2, BOB, 3);
	assert_int_equal(line_enter(&l, &a), LINE_OK);
	assert_int_equal(line_length(&l), 3);
	assert_ptr_equal(serve(&l), &a);
	line_free(&l);
}

static void
line_returned_keeps_newcomers_of_its_client_behind(void **state)
{
	struct line l;
	struct line_entry a[3], next = entry(ALICE, 3);

	(void)state;
	assert_int_equal(line_init(&l, 5), 0);
	crowd(&l, a, 3, ALICE, 3);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(serve(&l), &a[i]);
	assert_int_equal(line_enter(&l, &a[2]), LINE_OK);
	assert_int_equal(line_enter(&l, &next), LINE_OK);
	assert_true(next.tag > a[2].tag);
	assert_ptr_equal(serve(&l), &a[2]);
	assert_ptr_equal(serve(&l), &next);
	line_free(&l);
}

static void
line_returned_to_the_front_leaves_the_back_where_it_is(void **state)
{
	struct line l;
	struct line_entry a[4], next = entry(ALICE, 3);

	(void)state;
	assert_int_equal(line_init(&l, 5), 0);
	crowd(&l, a, 4, ALICE, 3);
	assert_ptr_equal(serve(&l), &a[0]);
	assert_int_equal(line_enter(&l, &a[0]), LINE_OK);
	assert_int_equal(line_enter(&l, &next), LINE_OK);
	assert_int_equal(next.tag, a[3].tag + 1);
	line_free(&l);
}

static void
line_leave_is_fine_outside_and_frees_the_place(void **state)
{
	struct line l;
	struct line_entry v[3];

	(void)state;
	assert_int_equal(line_init(&l, 5), 0);
	crowd(&l, v, 3, ALICE, 3);
	line_leave(&l, &v[1]);
	line_leave(&l, &v[1]);
	assert_null(v[1].owner);
	assert_int_equal(line_length(&l), 2);
	assert_int_equal(line_client_count(&l, ALICE), 2);
	assert_ptr_equal(serve(&l), &v[0]);
	assert_ptr_equal(serve(&l), &v[2]);
	assert_int_equal(line_client_count(&l, ALICE), 0);
	assert_int_equal(l.clients.n, 0);
	line_free(&l);
}

static void
line_leaving_unserved_moves_nobody_back(void **state)
{
	struct line l;
	struct line_entry a[9], b = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 20), 0);
	crowd(&l, a, 9, ALICE, 3);
	for (int i = 0; i < 8; i++)
		line_leave(&l, &a[i]);
	assert_int_equal(line_enter(&l, &b), LINE_OK);
	assert_ptr_equal(serve(&l), &b);
	line_free(&l);
}

static void
line_pop_takes_any_out(void **state)
{
	struct line l;
	struct line_entry a[4], b = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 20), 0);
	crowd(&l, a, 4, ALICE, 3);
	line_pop(&l, &a[3]);
	assert_int_equal(line_enter(&l, &b), LINE_OK);
	assert_int_equal(b.tag, a[3].tag + 1);
	/* A smaller tag served later does not turn the time back. */
	line_pop(&l, &a[0]);
	line_leave(&l, &b);
	b = entry(BOB, 3);
	assert_int_equal(line_enter(&l, &b), LINE_OK);
	assert_int_equal(b.tag, a[3].tag + 1);
	line_free(&l);
}

static void
line_free_lets_go_of_entries(void **state)
{
	struct line l;
	struct line_entry v[30];

	(void)state;
	assert_int_equal(line_init(&l, 30), 0);
	crowd(&l, v, 20, ALICE, 3);
	crowd(&l, v + 20, 10, BOB, 1);
	line_free(&l);
	for (int i = 0; i < 30; i++) {
		assert_false(heap_has(&v[i].node));
		assert_null(v[i].owner);
	}
}

static void
line_without_memory_says_so_and_changes_nothing(void **state)
{
	struct line l;

	(void)state;
	mem_fail_at(1, true);
	assert_int_equal(line_init(&l, 5), -1);
	line_free(&l);
	mem_fail_at(0, false);
	assert_int_equal(line_init(&l, 5), 0);
	for (unsigned long n = 1; n <= 2; n++) {
		struct line_entry e = entry(ALICE, 3);

		mem_fail_at(n, true);
		assert_int_equal(line_enter(&l, &e), LINE_NO_MEMORY);
		mem_fail_at(0, false);
		assert_int_equal(e.tag, 0);
		assert_null(e.owner);
		assert_false(heap_has(&e.node));
		assert_int_equal(line_length(&l), 0);
		assert_int_equal(l.clients.n, 0);
	}
	line_free(&l);
}

/* No client that stands all the time falls behind another by over one turn. */
static void
line_random_arrivals_are_fair(void **state)
{
	static struct line_entry v[3000];
	unsigned served[3] = {0, 0, 0};
	struct line l;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	assert_int_equal(line_init(&l, 3000), 0);
	for (int i = 0; i < 3000; i++) {
		/* 1 : 4 : 15 */
		uint64_t d = rng_next(&rng) % 20;

		v[i] = entry(d == 0 ? ALICE : d < 5 ? BOB : CAROL, 3);
		assert_int_equal(line_enter(&l, &v[i]), LINE_OK);
	}
	while (line_client_count(&l, ALICE) > 1) {
		const struct line_entry *e = serve(&l);

		served[e->client - ALICE]++;
		assert_in_range(served[1] + 1 - served[0], 0, 2);
		assert_in_range(served[2] + 1 - served[0], 0, 2);
	}
	assert_true(served[0] > 100);
	line_free(&l);
}

/* Who never stood here comes back before those who came since. */
static void
line_who_passed_comes_back_before_newcomers(void **state)
{
	struct line l;
	struct line_entry first = entry(ALICE, 3), second = entry(ALICE, 3);
	struct line_entry v[3];

	(void)state;
	assert_int_equal(line_init(&l, 10), 0);
	line_pass(&l, &first);
	line_pass(&l, &second);
	crowd(&l, v, 3, ALICE, 3);
	assert_int_equal(line_enter(&l, &second), LINE_OK);
	assert_int_equal(line_enter(&l, &first), LINE_OK);
	/* Turn by turn, and in each the older one first. */
	assert_ptr_equal(serve(&l), &second);
	assert_ptr_equal(serve(&l), &v[0]);
	assert_ptr_equal(serve(&l), &first);
	assert_ptr_equal(serve(&l), &v[1]);
	/* It stood here now, and keeps the place. */
	line_pass(&l, &first);
	assert_int_equal(line_enter(&l, &first), LINE_OK);
	assert_ptr_equal(serve(&l), &first);
	assert_ptr_equal(serve(&l), &v[2]);
	line_free(&l);
}

static void
line_who_passed_finds_a_place_where_it_is_full(void **state)
{
	struct line l;
	struct line_entry old = entry(ALICE, 3), late = entry(ALICE, 3);
	struct line_entry v[2];

	(void)state;
	assert_int_equal(line_init(&l, 2), 0);
	line_pass(&l, &old);
	crowd(&l, v, 2, BOB, 3);
	assert_int_equal(line_enter(&l, &late), LINE_FULL);
	assert_int_equal(line_enter(&l, &old), LINE_OK);
	assert_ptr_equal(serve(&l), &old);
	line_free(&l);
}

/* A hundred of one client were refused together: another one still gets in. */
static void
line_crowd_that_passed_shuts_nobody_out(void **state)
{
	struct line l;
	struct line_entry v[100], bob = entry(BOB, 3);
	int turns = 1;

	(void)state;
	assert_int_equal(line_init(&l, 200), 0);
	for (int i = 0; i < 100; i++) {
		v[i] = entry(ALICE, 3);
		line_pass(&l, &v[i]);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(line_enter(&l, &v[i]), LINE_OK);
	assert_int_equal(line_enter(&l, &bob), LINE_OK);
	while (serve(&l) != &bob)
		turns++;
	assert_int_equal(turns, 2);
	line_free(&l);
}

/* They come over from another line in any order, and stand as they stood there;
 * one who is new here takes turns with them. */
static void
line_who_joins_keeps_the_order_of_before(void **state)
{
	static const unsigned order[] = {2, 0, 3, 1};
	struct line l;
	struct line_entry v[4], here = entry(BOB, 3), bob = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 2), 0);
	assert_int_equal(line_enter(&l, &here), LINE_OK);
	assert_ptr_equal(serve(&l), &here);
	for (unsigned i = 0; i < 4; i++) {
		v[order[i]] = entry(ALICE, 3);
		line_join(&l, &v[order[i]], order[i]);
		assert_int_equal(line_enter(&l, &v[order[i]]), LINE_OK);
		if (i == 0)
			assert_int_equal(line_enter(&l, &bob), LINE_OK);
	}
	assert_ptr_equal(serve(&l), &bob);
	for (unsigned i = 0; i < 4; i++)
		assert_ptr_equal(serve(&l), &v[i]);
	line_free(&l);
}

static bool
is_bobs(const struct line_entry *e)
{
	return e->client == BOB;
}

static void
line_find_gives_the_first_that_fits(void **state)
{
	struct line l;
	struct line_entry alice[5], bob[3], late = entry(BOB, 3);

	(void)state;
	assert_int_equal(line_init(&l, 20), 0);
	assert_null(line_find(&l, 100, is_bobs));
	crowd(&l, alice, 5, ALICE, 2);
	assert_null(line_find(&l, 100, is_bobs));
	crowd(&l, bob, 3, BOB, 3);
	assert_int_equal(line_enter(&l, &late), LINE_OK);
	assert_ptr_equal(line_find(&l, 100, is_bobs), &bob[0]);
	assert_null(line_find(&l, 5, is_bobs));
	line_pop(&l, &bob[0]);
	assert_ptr_equal(line_find(&l, 100, is_bobs), &bob[1]);
	assert_ptr_equal(line_head(&l), &alice[0]);
	line_free(&l);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(line_empty_has_no_head),
	    cmocka_unit_test(line_one_client_sees_fifo),
	    cmocka_unit_test(line_find_gives_the_first_that_fits),
	    cmocka_unit_test(line_who_passed_comes_back_before_newcomers),
	    cmocka_unit_test(line_who_passed_finds_a_place_where_it_is_full),
	    cmocka_unit_test(line_crowd_that_passed_shuts_nobody_out),
	    cmocka_unit_test(line_who_joins_keeps_the_order_of_before),
	    cmocka_unit_test(line_full_refuses_newcomers_and_changes_nothing),
	    cmocka_unit_test(line_of_no_places_refuses),
	    cmocka_unit_test(line_late_client_is_served_second),
	    cmocka_unit_test(
		line_late_client_after_long_service_is_served_second),
	    cmocka_unit_test(line_clients_take_turns),
	    cmocka_unit_test(line_client_coming_back_at_once_gains_nothing),
	    cmocka_unit_test(line_urgency_goes_before_all),
	    cmocka_unit_test(line_urgency_over_seven_counts_as_seven),
	    cmocka_unit_test(line_service_at_high_priority_leaves_low_one_fair),
	    cmocka_unit_test(line_refused_returns_to_its_old_place),
	    cmocka_unit_test(line_refused_returns_before_those_who_came_later),
	    cmocka_unit_test(line_refused_returns_though_full),
	    cmocka_unit_test(
		line_returned_keeps_newcomers_of_its_client_behind),
	    cmocka_unit_test(
		line_returned_to_the_front_leaves_the_back_where_it_is),
	    cmocka_unit_test(line_leave_is_fine_outside_and_frees_the_place),
	    cmocka_unit_test(line_leaving_unserved_moves_nobody_back),
	    cmocka_unit_test(line_pop_takes_any_out),
	    cmocka_unit_test(line_free_lets_go_of_entries),
	    cmocka_unit_test(line_without_memory_says_so_and_changes_nothing),
	    cmocka_unit_test(line_random_arrivals_are_fair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

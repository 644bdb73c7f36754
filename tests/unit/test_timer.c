/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/timer.h"

#define MANY 1000u

/* A timer that notes when it fired, and then does one thing to another. */
struct probe {
	struct timer timer;
	int id;
	struct probe *other;
	int64_t other_due_ms;
};

static struct timers ts;
static struct probe v[8];
static int fired[64];
static unsigned n_fired;

static struct probe *
note(struct timer *t)
{
	struct probe *p = AB_CONTAINER(t, struct probe, timer);

	assert_false(timer_armed(t));
	assert_false(heap_has(&t->node));
	assert_true(n_fired < 64);
	fired[n_fired++] = p->id;
	return p;
}

static void
on_note(struct timer *t, int64_t now_ms)
{
	(void)now_ms;
	(void)note(t);
}

static void
on_arm_other(struct timer *t, int64_t now_ms)
{
	struct probe *p = note(t);

	(void)now_ms;
	assert_int_equal(timer_arm(&ts, &p->other->timer, p->other_due_ms), 0);
}

static void
on_stop_other(struct timer *t, int64_t now_ms)
{
	(void)now_ms;
	timer_stop(&ts, &note(t)->other->timer);
}

static void
on_free_other_and_self(struct timer *t, int64_t now_ms)
{
	struct probe *p = note(t);

	(void)now_ms;
	timer_stop(&ts, &p->other->timer);
	mem_free(p->other);
	mem_free(p);
}

static int
set_up(void **state)
{
	(void)state;
	timers_init(&ts);
	n_fired = 0;
	for (int i = 0; i < 8; i++) {
		v[i] = (struct probe){.id = i};
		timer_init(&v[i].timer, on_note);
	}
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	timers_clear(&ts);
	return 0;
}

static void
arm(int i, int64_t due_ms)
{
	assert_int_equal(timer_arm(&ts, &v[i].timer, due_ms), 0);
	assert_true(timer_armed(&v[i].timer));
	assert_int_equal(v[i].timer.due_ms, due_ms);
}

static void
assert_fired(const int *want, unsigned n)
{
	assert_int_equal(n_fired, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(fired[i], want[i]);
	n_fired = 0;
}

#define ASSERT_FIRED(...) \
	assert_fired((const int[]){__VA_ARGS__}, \
	    sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void
timers_when_empty_never_wake(void **state)
{
	(void)state;
	assert_int_equal(timers_next_ms(&ts), TIMER_NEVER);
	assert_int_equal(timers_run(&ts, INT64_MAX - 1, 9), 0);
	timer_stop(&ts, &v[0].timer);
	assert_false(timer_armed(&v[0].timer));
}

static void
timers_run_when_due_fires_at_the_time_and_not_before(void **state)
{
	(void)state;
	arm(0, 100);
	assert_int_equal(timers_next_ms(&ts), 100);
	assert_int_equal(timers_run(&ts, 99, 9), 0);
	assert_int_equal(timers_run(&ts, 100, 9), 1);
	ASSERT_FIRED(0);
	assert_int_equal(timers_run(&ts, 200, 9), 0);
	assert_int_equal(timers_next_ms(&ts), TIMER_NEVER);
}

static void
timers_run_when_many_are_due_goes_by_time_then_by_arming(void **state)
{
	(void)state;
	arm(3, 20);
	arm(1, 10);
	arm(2, 10);
	arm(0, 20);
	arm(4, 31);
	assert_int_equal(timers_run(&ts, 30, 9), 4);
	ASSERT_FIRED(1, 2, 3, 0);
	assert_int_equal(timers_next_ms(&ts), 31);
}

static void
timers_run_when_most_is_reached_leaves_the_rest_due(void **state)
{
	(void)state;
	arm(0, 1);
	arm(1, 2);
	arm(2, 3);
	assert_int_equal(timers_run(&ts, 10, 0), 0);
	assert_int_equal(timers_run(&ts, 10, 2), 2);
	ASSERT_FIRED(0, 1);
	assert_true(timers_next_ms(&ts) <= 10);
	assert_int_equal(timers_run(&ts, 10, 2), 1);
	ASSERT_FIRED(2);
}

static void
timer_arm_when_pushed_out_is_lazy_and_never_early(void **state)
{
	(void)state;
	arm(0, 100);
	arm(0, 150);
	assert_int_equal(timers_next_ms(&ts), 100);
	assert_int_equal(timers_run(&ts, 100, 9), 0);
	assert_int_equal(timers_next_ms(&ts), 150);
	arm(0, 300);
	assert_int_equal(timers_run(&ts, 299, 9), 0);
	assert_int_equal(timers_run(&ts, 300, 9), 1);
	ASSERT_FIRED(0);
}

static void
timer_arm_when_pushed_out_but_due_again_fires_in_one_run(void **state)
{
	(void)state;
	arm(0, 100);
	arm(0, 150);
	arm(1, 120);
	assert_int_equal(timers_run(&ts, 200, 9), 2);
	ASSERT_FIRED(1, 0);
}

static void
timer_arm_when_pulled_in_fires_at_the_earlier_time(void **state)
{
	(void)state;
	arm(1, 60);
	arm(0, 100);
	arm(0, 50);
	assert_int_equal(timers_next_ms(&ts), 50);
	assert_int_equal(timers_run(&ts, 50, 9), 1);
	ASSERT_FIRED(0);
}

static void
timer_arm_when_pushed_out_then_in_again_fires_in_time(void **state)
{
	(void)state;
	arm(0, 100);
	arm(0, 200);
	arm(0, 120);
	assert_int_equal(timers_run(&ts, 119, 9), 0);
	assert_int_equal(timers_run(&ts, 120, 9), 1);
}

static void
timer_arm_when_due_is_never_stops(void **state)
{
	(void)state;
	arm(0, 5);
	assert_int_equal(timer_arm(&ts, &v[0].timer, TIMER_NEVER), 0);
	assert_false(timer_armed(&v[0].timer));
	assert_int_equal(timers_next_ms(&ts), TIMER_NEVER);
}

static void
timer_stop_when_armed_leaves_no_trace(void **state)
{
	(void)state;
	arm(0, 5);
	arm(1, 6);
	timer_stop(&ts, &v[0].timer);
	timer_stop(&ts, &v[0].timer);
	assert_false(timer_armed(&v[0].timer));
	assert_false(heap_has(&v[0].timer.node));
	assert_int_equal(timers_next_ms(&ts), 6);
	assert_int_equal(timers_run(&ts, 10, 9), 1);
	ASSERT_FIRED(1);
}

static void
timers_run_when_fn_arms_itself_for_now_waits_for_next_run(void **state)
{
	(void)state;
	v[0].timer.fn = on_arm_other;
	v[0].other = &v[0];
	v[0].other_due_ms = 10;
	arm(0, 5);
	arm(1, 10);
	assert_int_equal(timers_run(&ts, 10, 1000), 2);
	ASSERT_FIRED(0, 1);
	assert_true(timers_next_ms(&ts) <= 10);
	assert_int_equal(timers_run(&ts, 10, 1000), 1);
	ASSERT_FIRED(0);
}

/* A past time would sort it before what was due all along. */
static void
timers_run_when_fn_arms_itself_for_the_past_starves_nobody(void **state)
{
	(void)state;
	v[0].timer.fn = on_arm_other;
	v[0].other = &v[0];
	v[0].other_due_ms = 1;
	arm(0, 5);
	arm(1, 6);
	arm(2, 10);
	assert_int_equal(timers_run(&ts, 10, 1000), 3);
	ASSERT_FIRED(0, 1, 2);
	assert_int_equal(timers_run(&ts, 10, 1000), 1);
	ASSERT_FIRED(0);
}

static void
timers_run_when_two_arm_each_other_for_now_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		v[i].timer.fn = on_arm_other;
		v[i].other = &v[1 - i];
		v[i].other_due_ms = 0;
	}
	arm(0, 5);
	assert_int_equal(timers_run(&ts, 10, 1000), 1);
	ASSERT_FIRED(0);
	assert_int_equal(timers_run(&ts, 11, 1000), 1);
	ASSERT_FIRED(1);
}

static void
timers_run_when_fn_pulls_another_in_fires_it_next_run(void **state)
{
	(void)state;
	v[0].timer.fn = on_arm_other;
	v[0].other = &v[1];
	v[0].other_due_ms = 3;
	arm(0, 5);
	arm(1, 1000);
	assert_int_equal(timers_run(&ts, 10, 9), 1);
	ASSERT_FIRED(0);
	assert_int_equal(timers_run(&ts, 10, 9), 1);
	ASSERT_FIRED(1);
}

static void
timers_run_when_fn_pushes_a_due_one_out_keeps_it_waiting(void **state)
{
	(void)state;
	v[0].timer.fn = on_arm_other;
	v[0].other = &v[1];
	v[0].other_due_ms = 50;
	arm(0, 5);
	arm(1, 6);
	assert_int_equal(timers_run(&ts, 10, 9), 1);
	ASSERT_FIRED(0);
	assert_int_equal(timers_next_ms(&ts), 50);
}

static void
timers_run_when_fn_stops_a_due_one_skips_it(void **state)
{
	(void)state;
	v[0].timer.fn = on_stop_other;
	v[0].other = &v[1];
	arm(0, 5);
	arm(1, 5);
	arm(2, 5);
	assert_int_equal(timers_run(&ts, 10, 9), 2);
	ASSERT_FIRED(0, 2);
}

static void
timers_run_when_fn_frees_itself_and_a_due_one_goes_on(void **state)
{
	struct probe *a = mem_must_zalloc(sizeof(*a));
	struct probe *b = mem_must_zalloc(sizeof(*b));

	(void)state;
	a->id = 70;
	a->other = b;
	timer_init(&a->timer, on_free_other_and_self);
	timer_init(&b->timer, on_note);
	assert_int_equal(timer_arm(&ts, &a->timer, 1), 0);
	assert_int_equal(timer_arm(&ts, &b->timer, 2), 0);
	arm(0, 3);
	assert_int_equal(timers_run(&ts, 10, 9), 2);
	ASSERT_FIRED(70, 0);
}

static void
timer_arm_when_out_of_memory_is_not_armed(void **state)
{
	(void)state;
	mem_fail_at(1, true);
	assert_int_equal(timer_arm(&ts, &v[0].timer, 5), -1);
	assert_false(timer_armed(&v[0].timer));
	assert_false(heap_has(&v[0].timer.node));
	assert_int_equal(timers_next_ms(&ts), TIMER_NEVER);
}

static void
timer_arm_when_reserved_or_armed_needs_no_memory(void **state)
{
	struct timer *many = mem_must_zalloc(MANY * sizeof(*many));

	(void)state;
	assert_int_equal(timers_reserve(&ts, MANY), 0);
	mem_fail_at(1, true);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			if (round == 0)
				timer_init(&many[i], on_note);
			assert_int_equal(timer_arm(&ts, &many[i],
					     1000 - (int)i),
			    0);
		}
	}
	assert_int_equal(mem_count(), 0);
	timers_clear(&ts);
	assert_false(timer_armed(&many[0]));
	assert_false(timer_armed(&many[MANY - 1]));
	mem_free(many);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(timers_when_empty_never_wake),
	    TEST(timers_run_when_due_fires_at_the_time_and_not_before),
	    TEST(timers_run_when_many_are_due_goes_by_time_then_by_arming),
	    TEST(timers_run_when_most_is_reached_leaves_the_rest_due),
	    TEST(timer_arm_when_pushed_out_is_lazy_and_never_early),
	    TEST(timer_arm_when_pushed_out_but_due_again_fires_in_one_run),
	    TEST(timer_arm_when_pulled_in_fires_at_the_earlier_time),
	    TEST(timer_arm_when_pushed_out_then_in_again_fires_in_time),
	    TEST(timer_arm_when_due_is_never_stops),
	    TEST(timer_stop_when_armed_leaves_no_trace),
	    TEST(timers_run_when_fn_arms_itself_for_now_waits_for_next_run),
	    TEST(timers_run_when_fn_arms_itself_for_the_past_starves_nobody),
	    TEST(timers_run_when_two_arm_each_other_for_now_ends),
	    TEST(timers_run_when_fn_pulls_another_in_fires_it_next_run),
	    TEST(timers_run_when_fn_pushes_a_due_one_out_keeps_it_waiting),
	    TEST(timers_run_when_fn_stops_a_due_one_skips_it),
	    TEST(timers_run_when_fn_frees_itself_and_a_due_one_goes_on),
	    TEST(timer_arm_when_out_of_memory_is_not_armed),
	    TEST(timer_arm_when_reserved_or_armed_needs_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

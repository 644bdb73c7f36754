/* SPDX-License-Identifier: MIT */
/* How fast to use what a service says is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "policy/quota.h"

static const struct quota_cfg half = {.percent = 50, .pauses = true};

static struct quota
fresh(void)
{
	struct quota q;

	quota_init(&q);
	return q;
}

static void
heard(struct quota *q, uint64_t n, uint64_t remaining, uint64_t limit,
    int64_t reset_ms, int64_t now_ms)
{
	struct quota_told told = {remaining, limit, reset_ms};

	quota_over(q);
	quota_heard(q, &half, n, &told, now_ms);
}

static int64_t
at(const struct quota *q, int64_t now_ms, uint64_t ahead)
{
	enum wait_why why;

	return quota_at_ms(q, now_ms, ahead, &why);
}

/* A quota that was told so by the answer to a start at this moment. */
static struct quota
told(uint64_t remaining, uint64_t limit, int64_t reset_ms, int64_t now_ms)
{
	struct quota q = fresh();
	uint64_t n = quota_begin(&q, now_ms);

	heard(&q, n, remaining, limit, reset_ms, now_ms);
	return q;
}

/* How many start until then, each as soon as it may. */
static unsigned
starts_until(struct quota *q, int64_t now_ms, int64_t until_ms,
    int64_t *ret_last_ms)
{
	unsigned n = 0;

	for (;;) {
		int64_t at_ms = at(q, now_ms, 0);

		if (at_ms >= until_ms)
			return n;
		if (at_ms > now_ms)
			now_ms = at_ms;
		(void)quota_begin(q, now_ms);
		*ret_last_ms = now_ms;
		if (++n > 100000)
			return n;
	}
}

static void
quota_of_which_nothing_is_known_lets_all_go(void **state)
{
	struct quota q = fresh();

	(void)state;
	for (int64_t now = 0; now < 100; now++) {
		assert_false(q.on);
		assert_int_equal(at(&q, now, 1000), now);
		assert_int_equal(quota_begin(&q, now), now + 1);
	}
}

static void
nothing_left_waits_for_the_reset(void **state)
{
	struct quota q = told(0, 100, 5000, 1000);
	enum wait_why why = WAIT_TURN;

	(void)state;
	assert_true(q.on);
	assert_int_equal(quota_at_ms(&q, 1000, 0, &why), 6000);
	assert_int_equal(why, WAIT_TOLD);
	assert_int_equal(at(&q, 5999, 0), 6000);
	assert_int_equal(at(&q, 5999, 1000), 6000);
	assert_int_equal(at(&q, 6000, 0), 6000);
}

static void
ten_left_for_ten_seconds_are_one_a_second(void **state)
{
	struct quota q = told(10, 20, 10000, 0);
	enum wait_why why = WAIT_TURN;

	(void)state;
	assert_int_equal(quota_at_ms(&q, 0, 0, &why), 1000);
	assert_int_equal(why, WAIT_PACED);
	for (int64_t t = 1000; t <= 9000; t += 1000) {
		assert_int_equal(at(&q, t - 1, 0), t);
		(void)quota_begin(&q, t);
	}
	assert_int_equal(q.left, 1);
	assert_int_equal(at(&q, 9000, 0), 10000);
}

static void
first_after_a_while_goes_at_once_and_is_no_credit(void **state)
{
	struct quota q = told(10, 20, 10000, 0);

	(void)state;
	assert_int_equal(at(&q, 5000, 0), 5000);
	(void)quota_begin(&q, 5000);
	/* Nine for five seconds. */
	assert_int_equal(at(&q, 5000, 0), 5556);
}

static void
above_the_share_nobody_is_held_up(void **state)
{
	/* 5000 an hour; a burst of 100 */
	struct quota q = told(4000, 5000, 3600000, 0);

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(at(&q, 0, 0), 0);
		(void)quota_begin(&q, 0);
	}
	assert_int_equal(q.left, 3900);
	assert_int_equal(at(&q, 0, 1399), 0);
	assert_int_not_equal(at(&q, 0, 1500), 0);
}

static void
share_is_reached_by_own_starts(void **state)
{
	struct quota q = told(60, 100, 60000, 0);

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(at(&q, 0, 0), 0);
		(void)quota_begin(&q, 0);
	}
	assert_int_equal(at(&q, 0, 0), 60000 / 50);
}

static void
share_may_be_any_percentage(void **state)
{
	static const struct {
		unsigned percent;
		uint64_t limit, pace_at;
	} v[] = {{1, 100, 1}, {1, 99, 0}, {100, 7, 7}, {33, 10, 3},
	    {50, UINT64_MAX, UINT64_MAX / 100 * 50 + 7}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct quota_cfg cfg = {.percent = v[i].percent};
		struct quota_told t = {1, v[i].limit, 1000};
		struct quota q = fresh();

		quota_heard(&q, &cfg, 0, &t, 0);
		assert_int_equal(q.pace_at, v[i].pace_at);
	}
}

static void
limit_that_is_not_told_is_the_most_seen(void **state)
{
	struct quota q = told(100, 0, 60000, 0);
	uint64_t n;

	(void)state;
	assert_int_equal(at(&q, 0, 0), 0);
	n = quota_begin(&q, 1000);
	heard(&q, n, 51, 0, 59000, 1000);
	assert_int_equal(at(&q, 1000, 0), 1000);
	n = quota_begin(&q, 2000);
	heard(&q, n, 50, 0, 58000, 2000);
	assert_int_equal(at(&q, 2000, 0), 2000 + 58000 / 50);
}

static void
starts_after_the_answers_own_are_taken_off(void **state)
{
	struct quota q = fresh();
	uint64_t first = quota_begin(&q, 0);

	(void)state;
	for (int i = 0; i < 4; i++)
		(void)quota_begin(&q, 0);
	heard(&q, first, 10, 10, 10000, 0);
	assert_int_equal(q.left, 6);
	for (int i = 0; i < 9; i++)
		(void)quota_begin(&q, 0);
	heard(&q, first + 1, 9, 10, 10000, 0);
	assert_int_equal(q.left, 0);
}

/* A hundred at once, processed and answered in any order: none is left. */
static void
answers_out_of_order_add_nothing(void **state)
{
	enum { N = 100 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (int round = 0; round < 200; round++) {
		struct quota q = told(0, N, 1000, 0);
		uint64_t n[N], remaining[N];

		for (unsigned i = 0; i < N; i++) {
			n[i] = quota_begin(&q, 1000);
			remaining[i] = N - 1 - i;
		}
		for (unsigned i = 0; i < N; i++) {
			unsigned a = (unsigned)(rng_next(&rng) % N);
			unsigned b = (unsigned)(rng_next(&rng) % N);
			uint64_t was = n[i];

			n[i] = n[a];
			n[a] = was;
			was = remaining[i];
			remaining[i] = remaining[b];
			remaining[b] = was;
		}
		for (unsigned i = 0; i < N; i++) {
			heard(&q, n[i], remaining[i], N, 60000, 1000);
			assert_int_equal(q.left, 0);
		}
		assert_int_equal(at(&q, 1000, 0), 61000);
	}
}

static void
start_that_is_not_counted_is_given_back_when_all_are_over(void **state)
{
	struct quota q = told(50, 100, 60000, 0);
	uint64_t n;

	(void)state;
	for (int i = 0; i < 5; i++) {
		(void)quota_begin(&q, 0);
		quota_over(&q); /* no connection */
	}
	assert_int_equal(q.left, 45);
	n = quota_begin(&q, 1000);
	heard(&q, n, 49, 100, 59000, 1000);
	assert_int_equal(q.left, 49);
}

static void
more_left_for_who_came_later_is_another_window(void **state)
{
	struct quota q = told(3, 0, 60000, 0);
	uint64_t n = quota_begin(&q, 0);

	(void)state;
	heard(&q, n, 3, 0, 60000, 0); /* it was not counted */
	assert_int_equal(q.full, 3);
	n = quota_begin(&q, 0);
	(void)quota_begin(&q, 0);
	heard(&q, n, 30, 0, 60000, 0);
	assert_int_equal(q.full, 30);
	assert_int_equal(q.left, 29);
}

static void
older_answer_only_lowers(void **state)
{
	struct quota q = fresh();
	uint64_t a = quota_begin(&q, 0), b = quota_begin(&q, 0);

	(void)state;
	heard(&q, b, 50, 100, 10000, 0);
	heard(&q, a, 90, 100, 60000, 0);
	assert_int_equal(q.left, 50);
	assert_int_equal(q.ends_ms, 10000);
	heard(&q, a, 20, 100, 60000, 0);
	assert_int_equal(q.left, 20);
	assert_int_equal(q.ends_ms, 10000);
}

static void
newer_answer_replaces_the_window(void **state)
{
	struct quota q = told(0, 100, 60000, 0);
	uint64_t n = quota_begin(&q, 1000); /* it could not wait */

	(void)state;
	heard(&q, n, 99, 100, 60000, 1000);
	assert_int_equal(at(&q, 1000, 0), 1000);
	assert_int_equal(q.ends_ms, 61000);
}

static void
most_seen_is_forgotten_with_its_window(void **state)
{
	struct quota q = told(1000, 0, 10000, 0);
	uint64_t n = quota_begin(&q, 20000);

	(void)state;
	heard(&q, n, 100, 0, 10000, 20000);
	assert_int_equal(q.full, 100);
	n = quota_begin(&q, 21000);
	heard(&q, n, 90, 0, 9000, 21000);
	assert_int_equal(q.full, 100);
	n = quota_begin(&q, 22000); /* more again: another window */
	heard(&q, n, 95, 0, 8000, 22000);
	assert_int_equal(q.full, 95);
}

static void
window_that_is_over_lets_a_limit_go_and_then_listens(void **state)
{
	struct quota q = told(2, 3, 5000, 0);

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(at(&q, 5000, 0), 5000);
		(void)quota_begin(&q, 5000);
	}
	assert_int_equal(q.mode, QUOTA_NEXT);
	/* The fourth waits for what these say, and not for long. */
	assert_int_equal(at(&q, 5000, 0), 5000 + QUOTA_NEXT_MS);
	heard(&q, 2, 2, 3, 5000, 5100);
	assert_int_equal(q.mode, QUOTA_TOLD);
	assert_int_equal(q.left, 0);
	assert_int_equal(at(&q, 5100, 0), 10100);
}

/* A crowd may stand before the end of a window that was used up. */
static void
window_that_was_used_up_sends_one_ahead(void **state)
{
	struct quota q = told(0, 100, 5000, 0);
	uint64_t n;

	(void)state;
	assert_int_equal(at(&q, 5000, 0), 5000);
	n = quota_begin(&q, 5000);
	assert_int_equal(at(&q, 5000, 0), 6000);
	heard(&q, n, 99, 100, 60000, 5100);
	assert_int_equal(at(&q, 5100, 0), 5100);
	assert_int_equal(at(&q, 5100, 48), 5100);
}

static void
window_of_unknown_size_sends_one_ahead(void **state)
{
	struct quota q = told(0, 0, 5000, 0);

	(void)state;
	assert_int_equal(at(&q, 5000, 0), 5000);
	(void)quota_begin(&q, 5000);
	assert_int_equal(at(&q, 5000, 0), 6000);
	/* No word: nothing is known any more. */
	(void)quota_begin(&q, 6000);
	assert_false(q.on);
	assert_int_equal(at(&q, 6000, 1000), 6000);
}

static void
pause_delays_the_next_start_alone(void **state)
{
	struct quota q = fresh();
	enum wait_why why = WAIT_TURN;
	uint64_t n = quota_begin(&q, 0);

	(void)state;
	quota_paused(&q, &half, n, 3000, 100);
	assert_int_equal(quota_at_ms(&q, 100, 0, &why), 3100);
	assert_int_equal(why, WAIT_TOLD);
	n = quota_begin(&q, 3100);
	/* Until it is answered, the one behind it keeps the distance. */
	assert_int_equal(at(&q, 3100, 0), 6100);
	quota_paused(&q, &half, n, 0, 3200);
	assert_false(q.on);
	assert_int_equal(at(&q, 3200, 5), 3200);
}

static void
pause_is_not_ended_by_who_started_before_it(void **state)
{
	struct quota q = fresh();
	uint64_t a = quota_begin(&q, 0), b = quota_begin(&q, 0);

	(void)state;
	quota_paused(&q, &half, b, 3000, 0);
	quota_paused(&q, &half, a, 0, 100);
	assert_int_equal(at(&q, 100, 0), 3000);
}

static void
pause_of_whom_many_wait_is_one_for_each(void **state)
{
	struct quota q = fresh();

	(void)state;
	quota_paused(&q, &half, 0, 3000, 0);
	assert_int_equal(at(&q, 0, 0), 3000);
	assert_int_equal(at(&q, 0, 4), 15000);
	assert_true(at(&q, 0, UINT64_MAX) >= INT64_MAX / 4);
}

static void
longer_of_pause_and_window_counts(void **state)
{
	struct quota q = told(0, 10, 2000, 0);

	(void)state;
	quota_paused(&q, &half, 1, 3000, 0);
	assert_int_equal(at(&q, 0, 0), 3000);
	q = told(0, 10, 4000, 0);
	quota_paused(&q, &half, 1, 3000, 0);
	assert_int_equal(at(&q, 0, 0), 4000);
}

static void
what_is_switched_off_is_not_learned_and_is_forgotten(void **state)
{
	struct quota_cfg off = {.percent = 0};
	struct quota_told t = {0, 10, 5000};
	struct quota q = fresh();

	(void)state;
	quota_heard(&q, &off, 0, &t, 0);
	quota_paused(&q, &off, 0, 1000, 0);
	assert_false(q.on);
	q = told(0, 10, 5000, 0);
	quota_paused(&q, &half, 1, 9000, 0);
	quota_reconfigure(&q, &(struct quota_cfg){.percent = 10});
	assert_int_equal(at(&q, 0, 0), 5000);
	quota_reconfigure(&q, &off);
	assert_false(q.on);
	assert_int_equal(at(&q, 0, 0), 0);
}

/*
 * Against a fixed window, everybody as soon as he may: never more than the
 * quota in a window, and all of it is used.
 */
static void
fixed_window_is_used_up_and_never_overrun(void **state)
{
	enum { LIMIT = 40, WINDOW = 10000 };
	struct quota q = fresh();
	unsigned used = 0, refused = 0, all = 0;
	int64_t window = 0, now = 0;

	(void)state;
	while (now < 20 * WINDOW) {
		int64_t at_ms = at(&q, now, 0);
		uint64_t n;

		if (at_ms > now)
			now = at_ms;
		if (now / WINDOW != window) {
			window = now / WINDOW;
			used = 0;
		}
		n = quota_begin(&q, now);
		if (used == LIMIT)
			refused++;
		else
			used++;
		all++;
		heard(&q, n, LIMIT - used, LIMIT, WINDOW - now % WINDOW, now);
		now++;
	}
	assert_int_equal(refused, 0);
	assert_in_range(all, 20 * LIMIT - 20, 20 * LIMIT);
}

/* Whatever is told, the end of a wait is never far, and comes. */
static void
waits_end_by_the_window_whatever_is_told(void **state)
{
	struct rng rng;
	struct quota q = fresh();
	int64_t now = 0;

	(void)state;
	rng_seed(&rng, 5);
	for (int i = 0; i < 200000; i++) {
		uint64_t n = q.starts - rng_next(&rng) % (q.starts % 5 + 1);
		uint64_t ahead = rng_next(&rng) >> rng_next(&rng) % 64;
		int64_t reset = 1 + (int64_t)(rng_next(&rng) % 3024000000);
		int64_t at_ms;

		now += (int64_t)(rng_next(&rng) % 3000);
		switch (rng_next(&rng) % 4) {
		case 0:
			(void)quota_begin(&q, now);
			break;
		case 1:
			heard(&q, n, rng_next(&rng) >> rng_next(&rng) % 64,
			    rng_next(&rng) >> rng_next(&rng) % 64, reset, now);
			break;
		case 2:
			quota_paused(&q, &half, n, reset % 5000, now);
			break;
		case 3:
			quota_paused(&q, &half, n, 0, now);
			break;
		}
		at_ms = at(&q, now, 0);
		assert_true(at_ms >= now);
		assert_true(at_ms <= now + INT64_C(3024000000));
		assert_true(at(&q, now, ahead) >= at_ms);
		assert_true(q.on || at_ms == now);
		if (at_ms > now)
			assert_int_equal(at(&q, at_ms, 0), at_ms);
	}
}

static void
spread_starts_fit_what_is_left(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 6);
	for (int i = 0; i < 2000; i++) {
		uint64_t left = 1 + rng_next(&rng) % 50;
		int64_t reset = 1 + (int64_t)(rng_next(&rng) % 100000);
		struct quota q = told(left, left, reset, 0);
		int64_t last = 0;
		unsigned n;

		q.pace_at = left;
		n = starts_until(&q, 0, reset, &last);
		assert_true(n <= left);
		assert_true(n + 1 >= left || reset < (int64_t)left);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quota_of_which_nothing_is_known_lets_all_go),
	    cmocka_unit_test(nothing_left_waits_for_the_reset),
	    cmocka_unit_test(ten_left_for_ten_seconds_are_one_a_second),
	    cmocka_unit_test(first_after_a_while_goes_at_once_and_is_no_credit),
	    cmocka_unit_test(above_the_share_nobody_is_held_up),
	    cmocka_unit_test(share_is_reached_by_own_starts),
	    cmocka_unit_test(share_may_be_any_percentage),
	    cmocka_unit_test(limit_that_is_not_told_is_the_most_seen),
	    cmocka_unit_test(starts_after_the_answers_own_are_taken_off),
	    cmocka_unit_test(answers_out_of_order_add_nothing),
	    cmocka_unit_test(
		start_that_is_not_counted_is_given_back_when_all_are_over),
	    cmocka_unit_test(more_left_for_who_came_later_is_another_window),
	    cmocka_unit_test(older_answer_only_lowers),
	    cmocka_unit_test(newer_answer_replaces_the_window),
	    cmocka_unit_test(most_seen_is_forgotten_with_its_window),
	    cmocka_unit_test(
		window_that_is_over_lets_a_limit_go_and_then_listens),
	    cmocka_unit_test(window_that_was_used_up_sends_one_ahead),
	    cmocka_unit_test(window_of_unknown_size_sends_one_ahead),
	    cmocka_unit_test(pause_delays_the_next_start_alone),
	    cmocka_unit_test(pause_is_not_ended_by_who_started_before_it),
	    cmocka_unit_test(pause_of_whom_many_wait_is_one_for_each),
	    cmocka_unit_test(longer_of_pause_and_window_counts),
	    cmocka_unit_test(
		what_is_switched_off_is_not_learned_and_is_forgotten),
	    cmocka_unit_test(fixed_window_is_used_up_and_never_overrun),
	    cmocka_unit_test(waits_end_by_the_window_whatever_is_told),
	    cmocka_unit_test(spread_starts_fit_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

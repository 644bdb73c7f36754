/* SPDX-License-Identifier: MIT */
/* One service key: probe, slow start, cut-off and half-open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service_rig.h"

/* --- probe and slow start ------------------------------------------------ */

static void
service_after_hold_one_probe_goes_first(void **state)
{
	struct service s;
	int64_t end_ms = shut(&s, 1000);
	struct ticket t = begin(&s, end_ms);

	(void)state;
	assert_true(t.slow);
	assert_int_equal(s.state, SERVICE_PROBE);
	assert_waits(&s, end_ms, WAIT_PROBE, SERVICE_NEVER);
	assert_waits(&s, end_ms + 999999, WAIT_PROBE, SERVICE_NEVER);
}

static void
service_throttled_probe_shuts_again(void **state)
{
	struct service s;
	int64_t end_ms = shut(&s, 1000);
	struct ticket t = begin(&s, end_ms);

	(void)state;
	assert_true(refused(&s, &t, end_ms + 50, 3000));
	assert_int_equal(s.fails, 2);
	assert_int_equal(s.flying, 0);
	assert_waits(&s, end_ms + 50, WAIT_BACKOFF, end_ms + 3350);
}

static void
service_probe_ok_with_rate_opens(void **state)
{
	struct service s;
	int64_t end_ms = shut(&s, 1000);
	struct ticket t = begin_with(&s, &rated, end_ms);

	(void)state;
	service_ok(&s, &rated, &t, end_ms);
	assert_int_equal(s.state, SERVICE_OPEN);
	assert_int_equal(s.fails, 0);
	assert_int_equal(s.flying, 0);
}

/* Starts all that a step lets start; *now_ms is its end then. */
static unsigned
fill_step(struct service *s, int64_t *now_ms, struct ticket *t, unsigned most)
{
	int64_t end_ms = s->step_at_ms + STEP;
	enum wait_why why;
	int64_t at_ms;
	unsigned n = 0;

	while (*now_ms < end_ms && n < most) {
		if (service_ready(s, *now_ms, &why, &at_ms)) {
			t[n] = begin(s, *now_ms);
			ok(s, &t[n++], *now_ms);
			continue;
		}
		assert_int_equal(why, WAIT_TURN);
		assert_true(at_ms > *now_ms);
		*now_ms = at_ms;
	}
	*now_ms = end_ms;
	return n;
}

static void
service_slow_start_doubles_each_step(void **state)
{
	static const unsigned widths[] = {2, 4, 8, 16, 32, 64};
	struct ticket t[100];
	struct service s;
	int64_t now_ms = paced(&s);

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		if (i > 0) {
			t[0] = begin(&s, now_ms); /* begins the step */
			ok(&s, &t[0], now_ms);
		}
		assert_int_equal(fill_step(&s, &now_ms, t, 100) + (i > 0),
		    widths[i]);
	}
}

static void
service_slow_start_spreads_a_step(void **state)
{
	struct service s;
	int64_t now_ms = paced(&s);
	struct ticket a = begin(&s, now_ms), b;

	(void)state;
	/* Two in 125 ms: the second one in the middle, the third in the next. */
	assert_waits(&s, now_ms, WAIT_TURN, now_ms + 63);
	b = begin(&s, now_ms + 63);
	ok(&s, &a, now_ms + 63);
	ok(&s, &b, now_ms + 63);
	assert_waits(&s, now_ms + 63, WAIT_TURN, now_ms + STEP);
	assert_true(ready(&s, now_ms + STEP));
}

static void
service_slow_start_full_waits_for_turn(void **state)
{
	struct service s;
	int64_t now_ms = paced(&s);
	struct ticket a = begin_soon(&s, &now_ms);

	(void)state;
	(void)begin_soon(&s, &now_ms);
	/* Both are under way: only an answer makes room. */
	assert_waits(&s, now_ms, WAIT_TURN, SERVICE_NEVER);
	assert_waits(&s, now_ms + 10 * STEP, WAIT_TURN, SERVICE_NEVER);
	ok(&s, &a, now_ms);
	assert_int_equal(s.window, 2);
	now_ms += STEP;
	(void)begin(&s, now_ms);
	assert_int_equal(s.window, 3);
}

static void
service_slow_start_grows_slowly_past_half_of_what_was_refused(void **state)
{
	struct ticket t[100];
	struct service s;
	int64_t now_ms = paced(&s);
	unsigned widths[8];

	(void)state;
	while (s.window < 32) {
		t[0] = begin(&s, now_ms);
		ok(&s, &t[0], now_ms);
		(void)fill_step(&s, &now_ms, t, 100);
	}
	t[0] = begin(&s, now_ms);
	assert_int_equal(s.window, 64);
	assert_true(told(&s, &t[0], now_ms, 1000));
	now_ms = s.until_ms;
	t[0] = begin(&s, now_ms);
	ok(&s, &t[0], now_ms);
	for (size_t i = 0; i < 8; i++) {
		(void)fill_step(&s, &now_ms, t, 100);
		t[0] = begin(&s, now_ms);
		ok(&s, &t[0], now_ms);
		widths[i] = s.window;
	}
	assert_int_equal(widths[0], 4);
	assert_int_equal(widths[3], 32);
	assert_int_equal(widths[4], 32 + 5);
	assert_int_equal(widths[5], 37 + 5);
	assert_int_equal(widths[6], 42 + 6);
	service_release(&s);
	assert_int_equal(s.peak, 0);
}

static void
service_slow_start_wide_window_never_lets_the_line_loose(void **state)
{
	struct service s;
	int64_t now_ms = paced(&s);

	(void)state;
	for (unsigned i = 0; i < SERVICE_WINDOW_MAX + 9; i++) {
		struct ticket t;

		while (!ready(&s, now_ms))
			now_ms++;
		t = begin(&s, now_ms);
		assert_true(t.slow);
		ok(&s, &t, now_ms);
	}
	now_ms += STEP;
	(void)begin(&s, now_ms);
	assert_int_equal(s.state, SERVICE_PACED);
	assert_int_equal(s.window, SERVICE_WINDOW_MAX);
	assert_int_equal(s.flying, 1);
}

static void
service_slow_start_unfilled_for_half_open_opens(void **state)
{
	struct service s, early;
	int64_t now_ms = paced(&s);
	struct ticket t;

	(void)state;
	early = s;
	(void)begin(&early, now_ms + HALF_OPEN - 1);
	assert_int_equal(early.state, SERVICE_PACED);
	t = begin(&s, now_ms + HALF_OPEN);
	assert_int_equal(s.state, SERVICE_OPEN);
	assert_false(t.slow);
}

static void
service_slow_start_filled_window_begins_calm_anew(void **state)
{
	struct service s, early;
	int64_t now_ms = paced(&s), full_ms = now_ms + HALF_OPEN - 1;
	struct ticket a = begin(&s, now_ms), b = begin_soon(&s, &now_ms);

	(void)state;
	/* Slow answers, a line behind: time alone must not let it loose. */
	ok(&s, &a, full_ms);
	a = begin(&s, now_ms + HALF_OPEN);
	assert_true(a.slow);
	ok(&s, &b, now_ms + HALF_OPEN);
	early = s;
	(void)begin(&early, full_ms + HALF_OPEN - 1);
	assert_int_equal(early.state, SERVICE_PACED);
	(void)begin(&s, full_ms + HALF_OPEN);
	assert_int_equal(s.state, SERVICE_OPEN);
}

static void
service_hold_longer_than_half_open_still_starts_slowly(void **state)
{
	struct service s;
	int64_t now_ms = shut(&s, HALF_OPEN * 10);
	struct ticket t = begin(&s, now_ms);

	(void)state;
	ok(&s, &t, now_ms);
	t = begin(&s, now_ms);
	assert_true(t.slow);
	assert_int_equal(s.state, SERVICE_PACED);
}

static void
service_reload_with_rate_ends_slow_start(void **state)
{
	struct service s;
	int64_t now_ms = paced(&s);
	struct ticket t = begin_with(&s, &rated, now_ms);

	(void)state;
	assert_int_equal(s.state, SERVICE_OPEN);
	assert_false(t.slow);
}

static void
service_neutral_probe_leaves_place_to_next(void **state)
{
	struct service s;
	int64_t end_ms = shut(&s, 1000);
	struct ticket t = begin(&s, end_ms);

	(void)state;
	service_neutral(&s, &t, end_ms + 700);
	assert_int_equal(s.state, SERVICE_SHUT);
	assert_int_equal(s.until_ms, end_ms + 700);
	assert_int_equal(s.shut_status, 429);
	assert_int_equal(s.fails, 1);
	assert_int_equal(s.epoch, 1);
	t = begin(&s, end_ms + 700);
	assert_int_equal(s.state, SERVICE_PROBE);
	assert_int_equal(s.flying, 1);
}

static void
service_neutral_in_slow_start_gives_place_back(void **state)
{
	struct service s;
	int64_t now_ms = paced(&s);
	struct ticket a = begin(&s, now_ms);

	(void)state;
	(void)begin_soon(&s, &now_ms);
	service_neutral(&s, &a, now_ms);
	assert_int_equal(s.state, SERVICE_PACED);
	assert_int_equal(s.window, 2);
	assert_int_equal(s.flying, 1);
}

static void
service_slow_ticket_of_earlier_round_leaves_probe_alone(void **state)
{
	struct service s;
	int64_t now_ms = paced(&s), end_ms;
	struct ticket a = begin(&s, now_ms), b = begin_soon(&s, &now_ms), probe;

	(void)state;
	assert_true(told(&s, &a, now_ms, 1000));
	end_ms = now_ms + 1000 + JITTER;
	probe = begin(&s, end_ms);
	ok(&s, &b, end_ms);
	assert_int_equal(s.state, SERVICE_PROBE);
	assert_int_equal(s.flying, 1);
	ok(&s, &probe, end_ms);
	assert_int_equal(s.state, SERVICE_PACED);
	assert_int_equal(s.flying, 0);
	assert_int_equal(s.window, 2);
}

static void
service_success_of_open_ticket_is_no_probe(void **state)
{
	struct service s;
	struct ticket old, probe;

	(void)state;
	service_init(&s);
	old = begin(&s, 0);
	service_hold(&s, 1000);
	probe = begin(&s, 1000);
	ok(&s, &old, 1100);
	assert_int_equal(s.state, SERVICE_PROBE);
	service_neutral(&s, &probe, 1200);
	assert_int_equal(s.state, SERVICE_SHUT);
}

/* --- cut-off ------------------------------------------------------------- */

/* n refusals in a row, each of a probe; returns now, when the next may go. */
static int64_t
fail_times(struct service *s, unsigned n)
{
	int64_t now_ms = 0;

	service_init(s);
	for (unsigned i = 0; i < n; i++) {
		struct ticket t = begin(s, now_ms);

		assert_false(t.trial);
		assert_true(refused(s, &t, now_ms, 1000));
		assert_int_equal(service_cut_off(s, &plain, &t), i + 1 >= 5);
		now_ms += 1000 + JITTER;
	}
	return now_ms;
}

static void
service_cut_off_begins_with_the_nth_refusal(void **state)
{
	struct service s;
	struct service_cfg off = plain;
	struct ticket t;
	int64_t now_ms = fail_times(&s, 7);

	(void)state;
	t = begin(&s, now_ms);
	assert_true(service_cut_off(&s, &plain, &t));
	off.failure_cutoff = 0;
	assert_false(service_cut_off(&s, &off, &t));
	ok(&s, &t, now_ms);
	assert_false(service_cut_off(&s, &plain, &t));
}

static void
service_half_open_grants_one_trial(void **state)
{
	struct service s;
	int64_t now_ms = fail_times(&s, 5);
	int64_t half_ms = s.last_fail_ms + HALF_OPEN;
	struct ticket t;

	(void)state;
	t = begin(&s, now_ms);
	service_neutral(&s, &t, now_ms);
	t = begin(&s, half_ms - 1);
	assert_false(t.trial);
	service_neutral(&s, &t, half_ms - 1);
	t = begin(&s, half_ms);
	assert_true(t.trial);
	assert_true(s.trial_out);
	assert_true(refused(&s, &t, half_ms, 10));
	assert_false(service_cut_off(&s, &plain, &t));
	assert_false(s.trial_out);
	assert_int_equal(s.fails, 6);
	/* That was its failure: the next one is cut off again. */
	t = begin(&s, half_ms + 10 + JITTER);
	assert_false(t.trial);
	assert_true(refused(&s, &t, half_ms + 500, 10));
	assert_true(service_cut_off(&s, &plain, &t));
}

static void
service_half_open_has_no_second_trial_out(void **state)
{
	struct service s;
	struct ticket first, second;
	int64_t now_ms;

	(void)state;
	(void)fail_times(&s, 5);
	now_ms = s.last_fail_ms + HALF_OPEN;
	first = begin(&s, now_ms);
	assert_true(first.trial);
	/* A hold overtakes the probe, so that another may begin. */
	service_hold(&s, now_ms + 10);
	second = begin(&s, now_ms + 10);
	assert_false(second.trial);
	service_neutral(&s, &second, now_ms + 20);
	service_neutral(&s, &first, now_ms + 20);
	second = begin(&s, now_ms + 20);
	assert_true(second.trial);
	assert_int_equal(s.flying, 1);
}

static void
service_trial_ok_closes_the_cut_off(void **state)
{
	struct service s;
	struct ticket t;

	(void)state;
	(void)fail_times(&s, 5);
	t = begin(&s, s.last_fail_ms + HALF_OPEN);
	ok(&s, &t, s.last_fail_ms + HALF_OPEN);
	assert_int_equal(s.fails, 0);
	assert_false(s.trial_out);
	t = begin(&s, s.last_fail_ms + HALF_OPEN);
	assert_false(t.trial);
}

static void
service_cutoff_of_zero_grants_no_trial(void **state)
{
	static const struct service_cfg off = {.failure_cutoff = 0,
	    .half_open_ms = 0};
	struct service s;
	struct ticket t;
	int64_t end_ms = shut(&s, 1000);

	(void)state;
	t = begin_with(&s, &off, end_ms);
	assert_false(t.trial);
}

static void
service_release_forgets_refusals(void **state)
{
	struct service s;
	struct ticket t;

	(void)state;
	(void)fail_times(&s, 6);
	service_release(&s);
	assert_int_equal(s.state, SERVICE_OPEN);
	assert_int_equal(s.until_ms, 0);
	t = begin(&s, 0);
	assert_false(t.slow);
	assert_true(refused(&s, &t, 0, 10));
	assert_int_equal(s.fails, 1);
	assert_false(service_cut_off(&s, &plain, &t));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(service_after_hold_one_probe_goes_first),
	    cmocka_unit_test(service_throttled_probe_shuts_again),
	    cmocka_unit_test(service_probe_ok_with_rate_opens),
	    cmocka_unit_test(service_slow_start_doubles_each_step),
	    cmocka_unit_test(service_slow_start_spreads_a_step),
	    cmocka_unit_test(
		service_slow_start_grows_slowly_past_half_of_what_was_refused),
	    cmocka_unit_test(service_slow_start_full_waits_for_turn),
	    cmocka_unit_test(
		service_slow_start_wide_window_never_lets_the_line_loose),
	    cmocka_unit_test(service_slow_start_unfilled_for_half_open_opens),
	    cmocka_unit_test(service_slow_start_filled_window_begins_calm_anew),
	    cmocka_unit_test(
		service_hold_longer_than_half_open_still_starts_slowly),
	    cmocka_unit_test(service_reload_with_rate_ends_slow_start),
	    cmocka_unit_test(service_neutral_probe_leaves_place_to_next),
	    cmocka_unit_test(service_neutral_in_slow_start_gives_place_back),
	    cmocka_unit_test(
		service_slow_ticket_of_earlier_round_leaves_probe_alone),
	    cmocka_unit_test(service_success_of_open_ticket_is_no_probe),
	    cmocka_unit_test(service_cut_off_begins_with_the_nth_refusal),
	    cmocka_unit_test(service_half_open_grants_one_trial),
	    cmocka_unit_test(service_half_open_has_no_second_trial_out),
	    cmocka_unit_test(service_trial_ok_closes_the_cut_off),
	    cmocka_unit_test(service_cutoff_of_zero_grants_no_trial),
	    cmocka_unit_test(service_release_forgets_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

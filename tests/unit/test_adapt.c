/* SPDX-License-Identifier: MIT */
/*
 * The learned pace: what it is after a refusal, how it grows, and what must not
 * change it. A rig plays a key that always has somebody in line, so that each
 * start that the pace allows is made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "policy/adapt.h"

#define HOUR_MS 3600000

static const struct adapt_cfg cfg = {ADAPTIVE_AIMD, 1.0 / 60000};

/* Starts per second. */
static double
pace_s(const struct adapt *a)
{
	return adapt_pace(a, &cfg) * 1000;
}

static void
assert_between(double x, double low, double high)
{
	if (x < low || x > high)
		print_error("%f is not in %f .. %f\n", x, low, high);
	assert_true(x >= low && x <= high);
}

/* One start at the first moment that the pace allows; somebody waits for it. */
static int64_t
start_next(struct adapt *a, int64_t now_ms)
{
	int64_t wait_ms;

	adapt_clock(a, &cfg, now_ms, true);
	while ((wait_ms = adapt_wait_ms(a, &cfg, now_ms)) > 0) {
		assert_true(wait_ms < HOUR_MS);
		now_ms += wait_ms;
		adapt_clock(a, &cfg, now_ms, true);
	}
	adapt_take(a);
	return now_ms;
}

/* n starts that are served at once; returns the time of the last. */
static int64_t
serve(struct adapt *a, unsigned n, int64_t now_ms)
{
	while (n-- > 0) {
		now_ms = start_next(a, now_ms);
		adapt_served(a, &cfg, true);
	}
	return now_ms;
}

static int64_t
refuse(struct adapt *a, int64_t now_ms)
{
	now_ms = start_next(a, now_ms);
	adapt_refused(a, &cfg, true);
	return now_ms;
}

/* n are served one every step_ms, then one is refused, after hold_ms another,
 * and the next one is served again: what a key knows after its first refusal. */
static int64_t
learn(struct adapt *a, unsigned n, int64_t step_ms, int64_t hold_ms)
{
	int64_t now_ms = 0;

	adapt_init(a, 0);
	for (unsigned i = 0; i < n; i++, now_ms += step_ms) {
		now_ms = start_next(a, now_ms);
		adapt_served(a, &cfg, true);
	}
	now_ms = refuse(a, now_ms);
	now_ms = refuse(a, now_ms + hold_ms);
	return serve(a, 1, now_ms);
}

static void
nothing_is_paced_before_a_refusal(void **state)
{
	struct adapt a;

	(void)state;
	adapt_init(&a, 0);
	assert_int_equal(serve(&a, 100000, 5), 5);
	assert_true(adapt_pace(&a, &cfg) == 0);
}

/* A whole queue in the first millisecond would be refused as a whole. */
static void
start_goes_by_answers(void **state)
{
	struct adapt a;
	unsigned n = 0, rounds = 0;

	(void)state;
	adapt_init(&a, 0);
	while (n < 1000) {
		unsigned out = 0;

		while (adapt_wait_ms(&a, &cfg, 0) == 0) {
			adapt_take(&a);
			out++;
		}
		assert_int_equal(adapt_wait_ms(&a, &cfg, 0), INT64_MAX);
		assert_true(out <= 4 + n);
		n += out;
		while (out-- > 0)
			adapt_served(&a, &cfg, true);
		rounds++;
	}
	assert_true(rounds < 40);
}

static void
first_good_rate_is_what_was_served(void **state)
{
	struct adapt a;

	(void)state;
	/* 600 in 6 s, then nothing until the minute is over. */
	learn(&a, 600, 10, 54000);
	assert_between(a.good * 60000, 585, 600);
	assert_between(pace_s(&a), 6.2, 6.5);
}

static void
refusal_cuts_once_until_the_next_success(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 100, 100, 1000);
	double before, after;

	(void)state;
	now_ms = serve(&a, 100, now_ms);
	before = adapt_pace(&a, &cfg);
	now_ms = refuse(&a, now_ms);
	now_ms = refuse(&a, now_ms + 10);
	now_ms = refuse(&a, now_ms + 10);
	serve(&a, 1, now_ms);
	after = adapt_pace(&a, &cfg);
	assert_between(after / before, 0.45, 0.7);
}

static void
straggler_teaches_nothing(void **state)
{
	struct adapt a, before;
	int64_t now_ms = learn(&a, 100, 100, 1000);

	(void)state;
	now_ms = start_next(&a, now_ms);
	adapt_clock(&a, &cfg, now_ms + 10, true);
	before = a;
	adapt_refused(&a, &cfg, false);
	assert_false(a.closed);
	assert_true(a.good == before.good);
	assert_true(adapt_pace(&a, &cfg) == adapt_pace(&before, &cfg));

	/* Nor does one that was served end a closure. */
	now_ms = start_next(&a, now_ms + 10);
	(void)start_next(&a, now_ms + 10);
	adapt_refused(&a, &cfg, true);
	adapt_served(&a, &cfg, false);
	assert_true(a.closed);
}

static void
pace_grows_fast_to_the_good_rate_then_lingers(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 1000, 100, 1000), began_ms = now_ms;
	double good = a.good, low = adapt_pace(&a, &cfg), quarter, half, whole;

	(void)state;
	assert_between(low / good, 0.64, 0.66);
	while (now_ms < began_ms + 5000)
		now_ms = serve(&a, 1, now_ms);
	quarter = adapt_pace(&a, &cfg) / good;
	while (now_ms < began_ms + 10000)
		now_ms = serve(&a, 1, now_ms);
	half = adapt_pace(&a, &cfg) / good;
	while (now_ms < began_ms + 20000)
		now_ms = serve(&a, 1, now_ms);
	whole = adapt_pace(&a, &cfg) / good;
	assert_between(quarter, 0.82, 0.88);
	assert_between(half, 0.94, 0.97);
	assert_between(whole, 0.98, 1.01);
	while (now_ms < began_ms + 40000)
		now_ms = serve(&a, 1, now_ms);
	assert_between(adapt_pace(&a, &cfg) / good, 4.8, 5.2);
}

/* One that starts seldom does not wait at the pace that it began with. */
static void
pace_grows_while_somebody_waits(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 20, 9000, 1000), wait_ms;
	double began = adapt_pace(&a, &cfg);

	(void)state;
	wait_ms = adapt_wait_ms(&a, &cfg, now_ms);
	assert_between((double)wait_ms * began, 0.6, 0.9);
	adapt_clock(&a, &cfg, now_ms + wait_ms, true);
	assert_int_equal(adapt_wait_ms(&a, &cfg, now_ms + wait_ms), 0);
	assert_between(a.grown_ms, (double)wait_ms - 1, (double)wait_ms);
}

static void
pace_that_is_not_used_up_does_not_grow(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 1000, 100, 1000);
	double low = adapt_pace(&a, &cfg);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		now_ms += 1000;
		adapt_clock(&a, &cfg, now_ms, false);
		assert_int_equal(adapt_wait_ms(&a, &cfg, now_ms), 0);
		adapt_take(&a);
		adapt_served(&a, &cfg, true);
	}
	assert_true(adapt_pace(&a, &cfg) == low);
}

static void
idle_time_counts_for_a_moment_only(void **state)
{
	struct adapt a, b;
	int64_t now_ms = learn(&a, 100, 100, 1000);

	(void)state;
	b = a;
	adapt_clock(&a, &cfg, now_ms + HOUR_MS, false);
	adapt_clock(&b, &cfg, now_ms + 10000, false);
	now_ms = refuse(&a, now_ms + HOUR_MS);
	serve(&a, 1, now_ms + 1000);
	now_ms = refuse(&b, now_ms - HOUR_MS + 10000);
	serve(&b, 1, now_ms + 1000);
	assert_between(a.good / b.good, 0.99, 1.01);
}

/* The time that its answers take is not all the time it takes. */
static void
key_that_asks_seldom_learns_a_low_rate(void **state)
{
	struct adapt a;
	int64_t now_ms = 0;

	(void)state;
	adapt_init(&a, 0);
	for (int i = 0; i < 10; i++) {
		adapt_clock(&a, &cfg, now_ms, false);
		adapt_take(&a);
		adapt_clock(&a, &cfg, now_ms + 50, false);
		adapt_served(&a, &cfg, true);
		now_ms += 6000;
	}
	now_ms = refuse(&a, now_ms);
	serve(&a, 1, now_ms + 1000);
	assert_between(a.good * 6000, 0.8, 1.1);
}

/* How late the last probe was has little to do with the limit. */
static void
half_the_time_of_the_last_probe_is_measured(void **state)
{
	struct adapt a, b;
	int64_t now_ms = learn(&a, 100, 100, 1000);
	double closed_ms;

	(void)state;
	now_ms = refuse(&a, now_ms);
	closed_ms = a.closed_ms;
	b = a;
	adapt_clock(&a, &cfg, now_ms + 8000, true);
	adapt_take(&a);
	adapt_served(&a, &cfg, true);
	assert_between(a.closed_ms, closed_ms + 4000, closed_ms + 4000);
	adapt_clock(&b, &cfg, now_ms + 8000, true);
	adapt_take(&b);
	adapt_refused(&b, &cfg, true);
	assert_between(b.closed_ms, closed_ms + 8000, closed_ms + 8000);
	assert_true(b.closed);
}

/* Nothing is known yet, and whoever shares the quota probes at the same time. */
static void
probes_of_the_first_closure_grow_rarer(void **state)
{
	struct adapt a;
	int64_t now_ms = 0, last_ms = 0;
	unsigned n = 0;

	(void)state;
	adapt_init(&a, 0);
	for (int i = 0; i < 6; i++) {
		now_ms = start_next(&a, now_ms + 10);
		adapt_served(&a, &cfg, true);
	}
	now_ms = refuse(&a, now_ms);
	while (now_ms < 60000) {
		last_ms = now_ms;
		now_ms = refuse(&a, now_ms);
		n++;
	}
	assert_between(n, 5, 12);
	assert_between((double)(now_ms - last_ms), 10000, 40000);
}

/* Who is slow by chance must not come too late each time. */
static void
probes_keep_above_the_floor(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 5, 60000, 1000), began_ms;

	(void)state;
	began_ms = refuse(&a, now_ms);
	now_ms = refuse(&a, began_ms);
	assert_between((double)(now_ms - began_ms), 39000, 41000);
}

static void
pace_never_falls_below_the_floor(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 10, 1000, 1000);

	(void)state;
	for (int i = 0; i < 50; i++) {
		now_ms = refuse(&a, now_ms);
		now_ms = serve(&a, 1, now_ms + 30000);
		assert_true(adapt_pace(&a, &cfg) >= cfg.floor_per_ms);
	}
	assert_between(a.good / cfg.floor_per_ms, 1, 2);
}

/* Whatever was learned, a start later than the last takes its time. */
static void
starts_keep_the_pace(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 2000, 3, 1000), first_ms;
	double most;

	(void)state;
	now_ms = start_next(&a, now_ms);
	first_ms = now_ms;
	for (int i = 0; i < 500; i++) {
		now_ms = start_next(&a, now_ms);
		adapt_served(&a, &cfg, true);
	}
	most = adapt_pace(&a, &cfg) * (double)(now_ms - first_ms) + 2;
	assert_true(500 <= most);
	/* ... and none is lost to the millisecond. */
	assert_true(500 >= most * 0.7 - 3);
}

static void
outcome_that_says_nothing_changes_nothing(void **state)
{
	struct adapt a;
	int64_t now_ms = learn(&a, 100, 100, 1000);
	double pace;

	(void)state;
	start_next(&a, now_ms + 1000);
	pace = adapt_pace(&a, &cfg);
	adapt_void(&a);
	adapt_void(&a); /* one too many is no harm */
	assert_int_equal(a.flying, 0);
	assert_true(adapt_pace(&a, &cfg) == pace);
}

/* Any order of events keeps what must hold: finite, floored, no bad wait. */
static void
any_story_keeps_the_pace_sane(void **state)
{
	struct rng rng;
	struct adapt a;
	int64_t now_ms = 0;

	(void)state;
	rng_seed(&rng, 7);
	adapt_init(&a, 0);
	for (int i = 0; i < 300000; i++) {
		uint64_t dice = rng_next(&rng);
		int64_t wait_ms;

		if (dice % 9 == 0)
			now_ms += (int64_t)(dice >> 20) % 3000;
		if (dice % 4999 == 0)
			now_ms += INT64_C(400) * 86400000;
		adapt_clock(&a, &cfg, now_ms, dice & 1024);
		wait_ms = adapt_wait_ms(&a, &cfg, now_ms);
		assert_true(wait_ms >= 0);
		assert_true(wait_ms <= 120000 || wait_ms == INT64_MAX);
		if (wait_ms == 0 && dice & 2048)
			adapt_take(&a);
		if (a.flying == 0)
			continue;
		if (dice >> 60 < 3)
			adapt_refused(&a, &cfg, dice & 4096);
		else if (dice >> 60 < 12)
			adapt_served(&a, &cfg, dice & 4096);
		else if (dice >> 60 == 12)
			adapt_void(&a);
		if (a.learned)
			assert_between(adapt_pace(&a, &cfg), cfg.floor_per_ms,
			    1e12);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_paced_before_a_refusal),
	    cmocka_unit_test(start_goes_by_answers),
	    cmocka_unit_test(first_good_rate_is_what_was_served),
	    cmocka_unit_test(refusal_cuts_once_until_the_next_success),
	    cmocka_unit_test(straggler_teaches_nothing),
	    cmocka_unit_test(pace_grows_fast_to_the_good_rate_then_lingers),
	    cmocka_unit_test(pace_grows_while_somebody_waits),
	    cmocka_unit_test(pace_that_is_not_used_up_does_not_grow),
	    cmocka_unit_test(idle_time_counts_for_a_moment_only),
	    cmocka_unit_test(key_that_asks_seldom_learns_a_low_rate),
	    cmocka_unit_test(half_the_time_of_the_last_probe_is_measured),
	    cmocka_unit_test(probes_of_the_first_closure_grow_rarer),
	    cmocka_unit_test(probes_keep_above_the_floor),
	    cmocka_unit_test(pace_never_falls_below_the_floor),
	    cmocka_unit_test(starts_keep_the_pace),
	    cmocka_unit_test(outcome_that_says_nothing_changes_nothing),
	    cmocka_unit_test(any_story_keeps_the_pace_sane),
	};

	return cmocka_run_group_tests_name("adapt", tests, NULL, NULL);
}

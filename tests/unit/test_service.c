/* SPDX-License-Identifier: MIT */
/* One service key: holds, stragglers, the operator. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service_rig.h"

/* --- open and shut ------------------------------------------------------- */

static void
service_new_admits_everyone(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	for (int i = 0; i < 1000; i++) {
		struct ticket t = begin(&s, 0);

		assert_false(t.slow);
		assert_false(t.trial);
	}
	assert_int_equal(s.flying, 0);
	assert_int_equal(s.last_fail_ms, -1);
}

static void
service_told_waits_for_hint_and_jitter(void **state)
{
	struct service s;
	struct ticket t;

	(void)state;
	service_init(&s);
	t = begin(&s, 100);
	assert_true(told(&s, &t, 500, 2000));
	assert_int_equal(s.state, SERVICE_SHUT);
	assert_int_equal(s.fails, 1);
	assert_int_equal(s.last_fail_ms, 500);
	assert_int_equal(s.shut_status, 429);
	assert_waits(&s, 500, WAIT_TOLD, 2800);
	assert_waits(&s, 2799, WAIT_TOLD, 2800);
	assert_true(ready(&s, 2800));
}

static void
service_refused_without_hint_waits_for_backoff(void **state)
{
	struct service s;
	struct ticket t;

	(void)state;
	service_init(&s);
	t = begin(&s, 0);
	assert_true(refused(&s, &t, 0, 700));
	assert_int_equal(s.shut_status, 503);
	assert_waits(&s, 0, WAIT_BACKOFF, 1000);
}

static void
service_burst_of_one_epoch_counts_once(void **state)
{
	struct service s;
	struct ticket t[100];

	(void)state;
	service_init(&s);
	for (int i = 0; i < 100; i++)
		t[i] = begin(&s, 0);
	assert_int_equal(service_fails_after(&s, &t[0]), 1);
	assert_true(told(&s, &t[0], 10, 2000));
	for (int i = 1; i < 100; i++) {
		assert_false(service_counts(&s, &t[i]));
		assert_int_equal(service_fails_after(&s, &t[i]), 1);
		assert_false(told(&s, &t[i], 10, 2000));
	}
	assert_int_equal(s.fails, 1);
	assert_int_equal(s.epoch, 1);
	assert_waits(&s, 10, WAIT_TOLD, 2310);
}

static void
service_count_of_refusals_saturates(void **state)
{
	struct service s;
	struct ticket t;

	(void)state;
	service_init(&s);
	t = begin(&s, 0);
	s.fails = UINT_MAX;
	assert_int_equal(service_fails_after(&s, &t), UINT_MAX);
	assert_true(told(&s, &t, 0, 1));
	assert_int_equal(s.fails, UINT_MAX);
}

static void
service_huge_hint_saturates_and_can_be_released(void **state)
{
	struct service s;
	struct ticket t;

	(void)state;
	service_init(&s);
	t = begin(&s, 1000);
	assert_true(told(&s, &t, 1000, INT64_MAX - 500));
	assert_waits(&s, INT64_MAX - 1, WAIT_TOLD, INT64_MAX);
	service_release(&s);
	assert_true(ready(&s, 1001));
	t = begin(&s, 1001);
	assert_false(t.slow);
	assert_true(told(&s, &t, 1001, 100));
	assert_waits(&s, 1001, WAIT_TOLD, 1401);
}

/* --- stragglers ---------------------------------------------------------- */

static void
service_straggler_hint_lengthens_never_shortens(void **state)
{
	struct service s;
	struct ticket a, b, c, d;

	(void)state;
	service_init(&s);
	a = begin(&s, 0);
	b = begin(&s, 0);
	c = begin(&s, 0);
	d = begin(&s, 0);
	assert_true(refused(&s, &a, 0, 1000));
	/* The hold's own jitter stays on top, the one offered is not used. */
	assert_false(
	    service_throttled(&s, &plain, &b, 100, 429, 1201, true, 9999));
	assert_waits(&s, 100, WAIT_TOLD, 1601);
	assert_int_equal(s.shut_status, 429);
	assert_false(told(&s, &c, 200, 1));
	assert_waits(&s, 200, WAIT_TOLD, 1601);
	assert_false(refused(&s, &d, 200, 9999));
	assert_waits(&s, 200, WAIT_TOLD, 1601);
	assert_int_equal(s.fails, 1);
}

static void
service_straggler_hint_not_longer_leaves_reason(void **state)
{
	struct service s;
	struct ticket a, b;

	(void)state;
	service_init(&s);
	a = begin(&s, 0);
	b = begin(&s, 0);
	assert_true(refused(&s, &a, 0, 1000));
	assert_false(told(&s, &b, 0, 1000));
	assert_waits(&s, 0, WAIT_BACKOFF, 1300);
	assert_int_equal(s.shut_status, 503);
}

/* Brings s to `to` with a ticket of an earlier epoch still out; returns now. */
static int64_t
with_straggler(struct service *s, enum service_state to, struct ticket *ret)
{
	struct ticket t;

	service_init(s);
	*ret = begin(s, 0);
	t = begin(s, 0);
	assert_true(told(s, &t, 0, 1000));
	if (to == SERVICE_OPEN) {
		service_release(s);
	} else {
		t = begin(s, 1300);
		if (to == SERVICE_PACED)
			ok(s, &t, 1400);
	}
	assert_int_equal(s->state, to);
	return 2000;
}

static void
service_straggler_hint_after_hold_shuts_without_counting(void **state)
{
	static const enum service_state in[] = {SERVICE_OPEN, SERVICE_PROBE,
	    SERVICE_PACED};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct service s;
		struct ticket late;
		int64_t now_ms = with_straggler(&s, in[i], &late);
		unsigned fails = s.fails;

		assert_false(service_throttled(&s, &plain, &late, now_ms, 504,
		    5000, true, 40));
		assert_int_equal(s.fails, fails);
		assert_int_equal(s.epoch, 1);
		assert_int_equal(s.last_fail_ms, 0);
		assert_int_equal(s.shut_status, 504);
		assert_waits(&s, now_ms, WAIT_TOLD, 7040);
	}
}

static void
service_straggler_without_hint_after_hold_changes_nothing(void **state)
{
	static const enum service_state in[] = {SERVICE_OPEN, SERVICE_PROBE,
	    SERVICE_PACED};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct service s, before;
		struct ticket late;
		int64_t now_ms = with_straggler(&s, in[i], &late);

		before = s;
		assert_false(refused(&s, &late, now_ms, 5000));
		assert_int_equal(s.state, before.state);
		assert_int_equal(s.until_ms, before.until_ms);
		assert_int_equal(s.jitter_ms, before.jitter_ms);
		assert_int_equal(s.fails, before.fails);
		assert_int_equal(s.flying, before.flying);
	}
}

static void
service_probe_overtaken_by_straggler_still_counts(void **state)
{
	struct service s;
	struct ticket late, probe;

	(void)state;
	(void)with_straggler(&s, SERVICE_PACED, &late);
	probe = begin(&s, 2000);
	assert_false(told(&s, &late, 2000, 500));
	assert_true(told(&s, &probe, 2100, 100));
	assert_int_equal(s.fails, 1);
	assert_int_equal(s.epoch, 2);
	/* Nor does it shorten what the straggler was told. */
	assert_waits(&s, 2100, WAIT_TOLD, 2800);
}

static void
service_success_overtaken_by_straggler_does_not_open(void **state)
{
	struct service s;
	struct ticket late, slow;

	(void)state;
	(void)with_straggler(&s, SERVICE_PACED, &late);
	slow = begin(&s, 2000);
	assert_false(told(&s, &late, 2000, 500));
	ok(&s, &slow, 2100);
	assert_waits(&s, 2100, WAIT_TOLD, 2800);
	assert_int_equal(s.flying, 0);
}

static void
service_success_sent_before_failure_does_not_clear(void **state)
{
	struct service s;
	struct ticket a, b, probe;

	(void)state;
	service_init(&s);
	a = begin(&s, 0);
	b = begin(&s, 0);
	assert_true(told(&s, &a, 0, 1000));
	ok(&s, &b, 10);
	assert_int_equal(s.fails, 1);
	assert_int_equal(s.state, SERVICE_SHUT);
	probe = begin(&s, 1300);
	assert_true(told(&s, &probe, 1300, 1000));
	assert_int_equal(s.fails, 2);
	probe = begin(&s, 2600);
	ok(&s, &probe, 2600);
	assert_int_equal(s.fails, 0);
}

/* --- the operator -------------------------------------------------------- */

static void
service_hold_lengthens_never_shortens(void **state)
{
	struct service s;
	int64_t end_ms = shut(&s, 1000);

	(void)state;
	service_hold(&s, end_ms - 1);
	assert_waits(&s, 0, WAIT_TOLD, end_ms);
	assert_int_equal(s.shut_status, 429);
	service_hold(&s, end_ms + 1);
	assert_waits(&s, 0, WAIT_TOLD, end_ms + 1);
	assert_int_equal(s.shut_status, 0);
	service_hold(&s, SERVICE_NEVER);
	assert_waits(&s, INT64_MAX - 1, WAIT_TOLD, SERVICE_NEVER);
}

static void
service_refusal_during_hold_counts_and_keeps_it(void **state)
{
	struct service s;
	struct ticket t;

	(void)state;
	service_init(&s);
	t = begin(&s, 0);
	service_hold(&s, 5000);
	assert_true(refused(&s, &t, 100, 1000));
	assert_int_equal(s.fails, 1);
	assert_waits(&s, 100, WAIT_TOLD, 5000);
	assert_int_equal(s.shut_status, 0);
}

static void
service_admission_stands_until_a_hold_begins(void **state)
{
	struct service s;
	struct ticket refusal, early, straggler, probe;
	int64_t now_ms;

	(void)state;
	service_init(&s);
	straggler = begin(&s, 0);
	refusal = begin(&s, 0);
	early = begin(&s, 0);
	assert_true(service_stands(&s, &early));
	assert_true(told(&s, &refusal, 0, 1000));
	assert_false(service_stands(&s, &early));
	now_ms = s.until_ms;
	assert_false(service_stands(&s, &early));
	probe = begin(&s, now_ms);
	assert_true(service_stands(&s, &probe));
	assert_false(service_stands(&s, &early));
	/* A straggler's hint begins a hold, and no new epoch. */
	assert_false(told(&s, &straggler, now_ms, 1000));
	assert_false(service_stands(&s, &probe));
	service_neutral(&s, &probe, now_ms);
	now_ms = s.until_ms;
	refusal = begin(&s, now_ms);
	assert_true(service_stands(&s, &refusal));
	assert_false(service_stands(&s, &probe));
	ok(&s, &refusal, now_ms);
	assert_int_equal(s.state, SERVICE_PACED);
	assert_false(service_stands(&s, &probe));
	assert_false(service_stands(&s, &early));
}

static void
service_probe_let_go_makes_way_and_still_tells(void **state)
{
	struct service s;
	int64_t now_ms = shut(&s, 1000);
	struct ticket slow, probe;

	(void)state;
	service_let_probe_go(&s, 0);
	assert_int_equal(s.until_ms, now_ms); /* no probe: nothing happens */
	slow = begin(&s, now_ms);
	service_let_go(&s, &slow);
	assert_true(slow.slow); /* the probe's place is not given back */
	assert_waits(&s, now_ms, WAIT_PROBE, SERVICE_NEVER);
	service_let_probe_go(&s, now_ms + 10);
	assert_int_equal(s.state, SERVICE_SHUT);
	probe = begin(&s, now_ms + 10);
	assert_int_equal(s.state, SERVICE_PROBE);
	assert_int_equal(s.flying, 1);
	/* What it learns too late opens nothing, but a refusal counts. */
	ok(&s, &slow, now_ms + 20);
	assert_int_equal(s.state, SERVICE_PROBE);
	assert_int_equal(s.flying, 1);
	ok(&s, &probe, now_ms + 30);
	assert_int_equal(s.state, SERVICE_PACED);
}

static void
service_probe_let_go_may_end_before_the_next(void **state)
{
	struct service s;
	int64_t now_ms = shut(&s, 1000);
	struct ticket slow = begin(&s, now_ms), probe;

	(void)state;
	service_let_probe_go(&s, now_ms);
	assert_true(told(&s, &slow, now_ms, 500));
	assert_int_equal(s.flying, 0);
	assert_waits(&s, now_ms, WAIT_TOLD, now_ms + 500 + JITTER);
	probe = begin(&s, now_ms + 500 + JITTER);
	ok(&s, &probe, now_ms + 500 + JITTER);
	assert_int_equal(s.state, SERVICE_PACED);
}

static void
service_slow_start_does_not_wait_for_who_was_let_go(void **state)
{
	struct service s;
	int64_t now_ms = paced(&s);

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct ticket t = begin_soon(&s, &now_ms);

		service_let_go(&s, &t);
		assert_int_equal(s.flying, 0);
		service_let_go(&s, &t); /* once is enough */
		if (i % 2)
			ok(&s, &t, now_ms);
		else
			service_neutral(&s, &t, now_ms);
		assert_int_equal(s.flying, 0);
	}
	assert_int_equal(s.window, 2);
}

static void
service_release_during_probe_keeps_count_exact(void **state)
{
	struct service s;
	int64_t end_ms = shut(&s, 1000);
	struct ticket probe = begin(&s, end_ms);

	(void)state;
	service_release(&s);
	assert_int_equal(s.state, SERVICE_OPEN);
	ok(&s, &probe, end_ms);
	assert_int_equal(s.state, SERVICE_OPEN);
	assert_int_equal(s.flying, 0);
}

static void
service_names_are_those_of_the_lists(void **state)
{
	(void)state;
	assert_string_equal(service_state_name(SERVICE_OPEN), "OPEN");
	assert_string_equal(service_state_name(SERVICE_PACED), "PACED");
	assert_string_equal(wait_why_name(WAIT_TURN), "turn");
	assert_string_equal(wait_why_name(WAIT_PROBE), "probe");
	assert_string_equal(wait_why_name(WAIT_WHY_COUNT), "?");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(service_new_admits_everyone),
	    cmocka_unit_test(service_told_waits_for_hint_and_jitter),
	    cmocka_unit_test(service_refused_without_hint_waits_for_backoff),
	    cmocka_unit_test(service_burst_of_one_epoch_counts_once),
	    cmocka_unit_test(service_count_of_refusals_saturates),
	    cmocka_unit_test(service_huge_hint_saturates_and_can_be_released),
	    cmocka_unit_test(service_straggler_hint_lengthens_never_shortens),
	    cmocka_unit_test(service_straggler_hint_not_longer_leaves_reason),
	    cmocka_unit_test(
		service_straggler_hint_after_hold_shuts_without_counting),
	    cmocka_unit_test(
		service_straggler_without_hint_after_hold_changes_nothing),
	    cmocka_unit_test(service_probe_overtaken_by_straggler_still_counts),
	    cmocka_unit_test(
		service_success_overtaken_by_straggler_does_not_open),
	    cmocka_unit_test(
		service_success_sent_before_failure_does_not_clear),
	    cmocka_unit_test(service_hold_lengthens_never_shortens),
	    cmocka_unit_test(service_refusal_during_hold_counts_and_keeps_it),
	    cmocka_unit_test(service_admission_stands_until_a_hold_begins),
	    cmocka_unit_test(service_probe_let_go_makes_way_and_still_tells),
	    cmocka_unit_test(service_probe_let_go_may_end_before_the_next),
	    cmocka_unit_test(
		service_slow_start_does_not_wait_for_who_was_let_go),
	    cmocka_unit_test(service_release_during_probe_keeps_count_exact),
	    cmocka_unit_test(service_names_are_those_of_the_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

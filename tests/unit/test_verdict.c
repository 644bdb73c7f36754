/* SPDX-License-Identifier: MIT */
/* What becomes of a request when an attempt of it has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "verdict_rig.h"

/* --- answers ------------------------------------------------------------- */

static void
verdict_of_other_statuses_is_to_deliver(void **state)
{
	static const int statuses[] = {200, 201, 202, 204, 206, 301, 304, 400,
	    401, 403, 404, 409, 428, 430, 500, 501, 502, 505, 599, 101};

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct rig g = rig_new();
		struct attempt a = answer(statuses[i], 30000);
		struct verdict v;

		rig_begin(&g, 0);
		g.s.fails = 3;
		v = rig_end(&g, &a, 100);
		assert_int_equal(v.kind, VERDICT_DELIVER);
		assert_int_equal(v.why, GIVE_UP_NONE);
		assert_int_equal(g.s.state, SERVICE_OPEN);
		assert_int_equal(g.s.fails, 0);
	}
}

static void
verdict_of_listed_statuses_is_to_retry(void **state)
{
	static const int statuses[] = {429, 503, 504};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rig g = rig_new();
		struct attempt a = answer(statuses[i], 0);

		rig_begin(&g, 0);
		assert_retry(rig_end(&g, &a, 100), 100 + 500 + 750);
		assert_int_equal(g.s.shut_status, statuses[i]);
		assert_int_equal(g.s.why, WAIT_BACKOFF);
		assert_int_equal(g.s.fails, 1);
	}
}

static void
verdict_statuses_are_a_set(void **state)
{
	static const struct verdict_statuses none = {0};
	static const struct verdict_statuses two = {2, {429, 503, 504}};

	(void)state;
	assert_false(verdict_statuses_has(&none, 429));
	assert_true(verdict_statuses_has(&two, 429));
	assert_true(verdict_statuses_has(&two, 503));
	assert_false(verdict_statuses_has(&two, 504));
	assert_false(verdict_statuses_has(&two, 0));
}

static void
verdict_throttled_needs_an_answer(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 0);

	(void)state;
	assert_true(verdict_throttled(&g.cfg, &a));
	a.end = ATTEMPT_RESET;
	assert_false(verdict_throttled(&g.cfg, &a));
}

static void
verdict_of_permanent_answer_is_final_and_shuts_nothing(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 5000);

	(void)state;
	a.says = SAYS_PERMANENT;
	g.s.fails = 2;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 100), GIVE_UP_PERMANENT);
	assert_int_equal(g.s.state, SERVICE_OPEN);
	assert_int_equal(g.s.fails, 2);
	assert_false(verdict_throttled(&g.cfg, &a));
}

/* It says nothing about the limits, so the next one is the probe. */
static void
verdict_of_permanent_answer_to_probe_leaves_the_next_one(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 0);

	(void)state;
	service_hold(&g.s, 1000);
	rig_begin(&g, 1000);
	assert_int_equal(g.s.state, SERVICE_PROBE);
	a.says = SAYS_PERMANENT;
	assert_gave_up(rig_end(&g, &a, 1100), GIVE_UP_PERMANENT);
	rig_begin(&g, 1100);
	assert_int_equal(g.s.state, SERVICE_PROBE);
}

static void
verdict_of_refusal_by_rule_is_to_retry(void **state)
{
	static const struct {
		int status, shut_status;
	} cases[] = {{200, 429}, {302, 429}, {400, 400}, {403, 403},
	    {529, 529}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig g = rig_new();
		struct attempt a = answer(cases[i].status, 2000);

		a.says = SAYS_THROTTLED;
		rig_begin(&g, 0);
		assert_retry(rig_end(&g, &a, 100), 100 + 2000 + 750);
		assert_int_equal(g.s.shut_status, cases[i].shut_status);
	}
}

/* --- the wait ------------------------------------------------------------ */

static void
verdict_wait_is_the_larger_of_hint_and_own(void **state)
{
	/* Own back-off of the n-th retry: 500, 1500, 3500 ms; jitter 750. */
	static const struct {
		enum strategy strategy;
		unsigned retries, fails;
		int64_t hint_ms, wait_ms;
		enum wait_why why;
	} cases[] = {
	    {STRATEGY_AUTO, 0, 0, 0, 500, WAIT_BACKOFF},
	    {STRATEGY_AUTO, 1, 0, 0, 1500, WAIT_BACKOFF},
	    {STRATEGY_AUTO, 0, 1, 0, 1500, WAIT_BACKOFF},
	    {STRATEGY_AUTO, 1, 2, 0, 3500, WAIT_BACKOFF},
	    {STRATEGY_AUTO, 2, 1, 0, 3500, WAIT_BACKOFF},
	    {STRATEGY_AUTO, 0, 0, 499, 500, WAIT_BACKOFF},
	    {STRATEGY_AUTO, 0, 0, 500, 500, WAIT_TOLD},
	    {STRATEGY_AUTO, 0, 0, 501, 501, WAIT_TOLD},
	    {STRATEGY_AUTO, 0, 0, 20000, 20000, WAIT_TOLD},
	    {STRATEGY_EXPONENTIAL, 0, 0, 2000, 2000, WAIT_TOLD},
	    {STRATEGY_EXPONENTIAL, 1, 0, 1000, 1500, WAIT_BACKOFF},
	    {STRATEGY_RESPONSE_HEADER, 2, 0, 100, 100, WAIT_TOLD},
	    {STRATEGY_RESPONSE_HEADER, 2, 0, 0, 3500, WAIT_BACKOFF},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig g = rig_new();
		struct attempt a = answer(429, cases[i].hint_ms);

		g.backoff.strategy = cases[i].strategy;
		g.r.retries = cases[i].retries;
		rig_begin(&g, 0);
		g.s.fails = cases[i].fails;
		assert_retry(rig_end(&g, &a, 1000),
		    1000 + cases[i].wait_ms + 750);
		assert_int_equal(g.s.why, cases[i].why);
		assert_int_equal(g.s.until_ms, 1000 + cases[i].wait_ms + 750);
	}
}

static void
verdict_invalid_hint_is_no_hint(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 20000);

	(void)state;
	a.hint.valid = false;
	rig_begin(&g, 0);
	assert_retry(rig_end(&g, &a, 0), 500 + 750);
}

static void
verdict_response_header_strategy_waits_within_jitter(void **state)
{
	/* The worked example: 2 s, jitter 1500 ms: [2000, 3500]. */
	static const double draws[] = {0.0, 0.5, 0.999999};
	static const int64_t want[] = {2000, 2750, 3500};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rig g = rig_new();
		struct attempt a = answer(503, 2000);

		g.backoff.strategy = STRATEGY_RESPONSE_HEADER;
		g.u_jitter = draws[i];
		rig_begin(&g, 0);
		assert_retry(rig_end(&g, &a, 0), want[i]);
	}
}

static void
verdict_burst_waits_for_one_hold(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 0);
	struct ticket t[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		rig_begin(&g, 0);
		t[i] = g.t;
	}
	g.t = t[0];
	assert_retry(rig_end(&g, &a, 0), 1250);
	/* Other draws, the same hold: it was drawn with the first one. */
	g.t = t[1];
	g.u_own = g.u_jitter = 0.9;
	assert_retry(rig_end(&g, &a, 1), 1250);
	/* A hint among them lengthens it, by itself and not by back-off. */
	g.t = t[2];
	g.r.retries = 2;
	a = answer(429, 600);
	assert_retry(rig_end(&g, &a, 2), 2 + 600 + 750);
	assert_int_equal(g.s.fails, 1);
}

static void
verdict_late_refusal_after_hold_waits_by_itself(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 0);
	struct ticket late;

	(void)state;
	rig_begin(&g, 0);
	late = g.t;
	rig_begin(&g, 0);
	assert_retry(rig_end(&g, &a, 0), 1250);
	/* The hold's time has come, nobody has knocked yet. */
	g.t = late;
	assert_retry(rig_end(&g, &a, 1250), 1250 + 1250);
	assert_int_equal(g.s.until_ms, 1250);
}

/* --- giving up ----------------------------------------------------------- */

static void
verdict_first_reason_in_order_is_given(void **state)
{
	static const enum give_up order[] = {GIVE_UP_NO_RETRIES, GIVE_UP_METHOD,
	    GIVE_UP_BODY, GIVE_UP_MAX_WAIT, GIVE_UP_CUTOFF, GIVE_UP_RETRIES,
	    GIVE_UP_DEADLINE};

	(void)state;
	/* All of them hold; then one after the other is taken away. */
	for (unsigned i = 0; i <= 7; i++) {
		struct rig g = rig_new();
		struct attempt a = answer(503, 5000);
		struct verdict v;

		g.r.max_retries = i > 0 ? 2 : 0;
		g.r.repeatable = i > 1;
		g.r.replayable = i > 2;
		g.r.max_wait_ms = i > 3 ? 5000 : 4999;
		g.service_cfg.failure_cutoff = i > 4 ? 0 : 1;
		g.r.retries = i > 5 ? 1 : 2;
		g.r.deadline_ms = i > 6 ? 5750 : 5749;
		rig_begin(&g, 0);
		v = rig_end(&g, &a, 0);
		if (i < 7)
			assert_gave_up(v, order[i]);
		else
			assert_retry(v, 5750);
		/* Whatever becomes of the request, the key has learned. */
		assert_int_equal(g.s.state, SERVICE_SHUT);
		assert_int_equal(g.s.until_ms, 5750);
		assert_int_equal(g.s.fails, 1);
	}
}

static void
verdict_spill_failure_is_not_called_size(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 0);

	(void)state;
	g.r.replayable = false;
	g.r.spill_failed = true;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 0), GIVE_UP_SPILL);
}

static void
verdict_deadline_of_signature_is_called_so(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 5000);

	(void)state;
	g.r.deadline_ms = 5749;
	g.r.signature_bound = true;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 0), GIVE_UP_SIGNATURE);
}

static void
verdict_own_backoff_over_max_wait_gives_up(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 0);

	(void)state;
	g.r.max_wait_ms = 499;
	rig_begin(&g, 0);
	assert_gave_up(rig_end(&g, &a, 0), GIVE_UP_MAX_WAIT);
}

static void
verdict_hold_of_another_over_max_wait_gives_up(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 20000);
	struct ticket second;

	(void)state;
	rig_begin(&g, 0);
	second = g.t;
	rig_begin(&g, 0);
	assert_retry(rig_end(&g, &a, 0), 20750);
	/* Told 1 s itself, it would wait for what another was told. */
	g.t = second;
	g.r.max_wait_ms = 19899;
	a = answer(429, 1000);
	assert_gave_up(rig_end(&g, &a, 100), GIVE_UP_MAX_WAIT);
}

static void
verdict_huge_hint_is_relayed(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, INT64_MAX / 4);

	(void)state;
	rig_begin(&g, 1000);
	assert_gave_up(rig_end(&g, &a, 1000), GIVE_UP_MAX_WAIT);
	a = answer(429, INT64_MAX);
	service_release(&g.s);
	rig_begin(&g, 1000);
	g.r.max_wait_ms = INT64_MAX;
	assert_gave_up(rig_end(&g, &a, 1000), GIVE_UP_DEADLINE);
	assert_int_equal(g.s.until_ms, INT64_MAX);
}

static void
verdict_hints_of_50_s_stop_at_the_deadline(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 50000);

	(void)state; /* C34 */
	g.backoff.jitter_ms = 0;
	g.r.deadline_ms = g.r.max_wait_ms = 120000;
	for (int64_t t = 0; t < 100000; t += 50000) {
		rig_begin(&g, t);
		assert_retry(rig_end(&g, &a, t), t + 50000);
		g.r.retries++;
	}
	rig_begin(&g, 100000);
	assert_gave_up(rig_end(&g, &a, 100000), GIVE_UP_DEADLINE);
}

static void
verdict_last_retry_is_the_last(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(503, 0);
	int64_t now_ms = 0;

	(void)state; /* C36, C41 */
	for (unsigned i = 0; i < 4; i++) {
		struct verdict v;

		rig_begin(&g, now_ms);
		v = rig_end(&g, &a, now_ms);
		assert_int_equal(v.kind, VERDICT_RETRY);
		assert_true(v.at_ms > now_ms);
		now_ms = v.at_ms;
		g.r.retries++;
	}
	rig_begin(&g, now_ms);
	assert_gave_up(rig_end(&g, &a, now_ms), GIVE_UP_RETRIES);
}

static void
verdict_nth_failure_is_cut_off(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(429, 0);
	int64_t now_ms = 0;

	(void)state; /* C37 */
	g.r.max_retries = 100;
	g.service_cfg.failure_cutoff = 5;
	for (unsigned i = 1; i < 5; i++) {
		rig_begin(&g, now_ms);
		now_ms = rig_end(&g, &a, now_ms).at_ms;
		assert_int_equal(g.s.fails, i);
	}
	rig_begin(&g, now_ms);
	assert_gave_up(rig_end(&g, &a, now_ms), GIVE_UP_CUTOFF);
	now_ms = g.s.until_ms;
	rig_begin(&g, now_ms);
	assert_gave_up(rig_end(&g, &a, now_ms), GIVE_UP_CUTOFF);
	/* Half-open: one probe may retry, and its success closes it. */
	now_ms += g.service_cfg.half_open_ms;
	g.r.deadline_ms = now_ms + 60000;
	rig_begin(&g, now_ms);
	assert_int_equal(rig_end(&g, &a, now_ms).kind, VERDICT_RETRY);
	now_ms = g.s.until_ms;
	a = answer(200, 0);
	rig_begin(&g, now_ms);
	assert_int_equal(rig_end(&g, &a, now_ms).kind, VERDICT_DELIVER);
	a = answer(429, 0);
	rig_begin(&g, now_ms);
	assert_int_equal(rig_end(&g, &a, now_ms).kind, VERDICT_RETRY);
	assert_int_equal(g.s.fails, 1);
}

static void
verdict_of_404_is_no_failure(void **state)
{
	struct rig g = rig_new();
	struct attempt a = answer(404, 0);

	(void)state; /* C38 */
	rig_begin(&g, 0);
	assert_int_equal(rig_end(&g, &a, 0).kind, VERDICT_DELIVER);
	a = answer(429, 0);
	rig_begin(&g, 0);
	assert_retry(rig_end(&g, &a, 0), 1250);
	assert_int_equal(g.s.fails, 1);
}

/* --- methods ------------------------------------------------------------- */

static void
verdict_idempotent_methods_are_those_of_the_rfc(void **state)
{
	static const char *const yes[] = {"GET", "HEAD", "OPTIONS", "TRACE",
	    "PUT", "DELETE", "PROPFIND", "REPORT", "SEARCH"};
	static const char *const no[] = {"POST", "PATCH", "CONNECT", "get",
	    "GETS", "GE", "", "LOCK", "PROPPATCH", "MKCOL"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(verdict_idempotent(span_of(yes[i])));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(verdict_idempotent(span_of(no[i])));
}

static void
verdict_method_decides_what_may_be_repeated(void **state)
{
	static const struct {
		int status;
		bool repeatable, always;
		enum give_up why;
	} cases[] = {
	    {429, false, false, GIVE_UP_NONE},   /* C53 */
	    {503, false, false, GIVE_UP_METHOD}, /* C54 */
	    {504, false, false, GIVE_UP_METHOD},
	    {503, true, false, GIVE_UP_NONE}, /* C54: Idempotency-Key */
	    {504, false, true, GIVE_UP_NONE}, /* C54: opt-in */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig g = rig_new();
		struct attempt a = answer(cases[i].status, 0);
		struct verdict v;

		g.r.repeatable = cases[i].repeatable;
		g.cfg.non_idempotent_always = cases[i].always;
		rig_begin(&g, 0);
		v = rig_end(&g, &a, 0);
		assert_int_equal(v.why, cases[i].why);
		assert_int_equal(v.kind,
		    cases[i].why == GIVE_UP_NONE ? VERDICT_RETRY
						 : VERDICT_GIVE_UP);
	}
}

static void
verdict_names_are_those_of_the_list(void **state)
{
	(void)state;
	assert_string_equal(give_up_name(GIVE_UP_NONE), "none");
	assert_string_equal(give_up_name(GIVE_UP_MAX_WAIT),
	    "hint-over-max-wait");
	assert_string_equal(give_up_name(GIVE_UP_CLIENT_TIMEOUT),
	    "client-timeout");
	assert_string_equal(give_up_name(GIVE_UP_COUNT), "?");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(verdict_of_other_statuses_is_to_deliver),
	    cmocka_unit_test(verdict_of_listed_statuses_is_to_retry),
	    cmocka_unit_test(verdict_statuses_are_a_set),
	    cmocka_unit_test(verdict_throttled_needs_an_answer),
	    cmocka_unit_test(
		verdict_of_permanent_answer_is_final_and_shuts_nothing),
	    cmocka_unit_test(
		verdict_of_permanent_answer_to_probe_leaves_the_next_one),
	    cmocka_unit_test(verdict_of_refusal_by_rule_is_to_retry),
	    cmocka_unit_test(verdict_wait_is_the_larger_of_hint_and_own),
	    cmocka_unit_test(verdict_invalid_hint_is_no_hint),
	    cmocka_unit_test(
		verdict_response_header_strategy_waits_within_jitter),
	    cmocka_unit_test(verdict_burst_waits_for_one_hold),
	    cmocka_unit_test(verdict_late_refusal_after_hold_waits_by_itself),
	    cmocka_unit_test(verdict_first_reason_in_order_is_given),
	    cmocka_unit_test(verdict_spill_failure_is_not_called_size),
	    cmocka_unit_test(verdict_deadline_of_signature_is_called_so),
	    cmocka_unit_test(verdict_own_backoff_over_max_wait_gives_up),
	    cmocka_unit_test(verdict_hold_of_another_over_max_wait_gives_up),
	    cmocka_unit_test(verdict_huge_hint_is_relayed),
	    cmocka_unit_test(verdict_hints_of_50_s_stop_at_the_deadline),
	    cmocka_unit_test(verdict_last_retry_is_the_last),
	    cmocka_unit_test(verdict_nth_failure_is_cut_off),
	    cmocka_unit_test(verdict_of_404_is_no_failure),
	    cmocka_unit_test(verdict_idempotent_methods_are_those_of_the_rfc),
	    cmocka_unit_test(verdict_method_decides_what_may_be_repeated),
	    cmocka_unit_test(verdict_names_are_those_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

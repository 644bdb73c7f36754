/* SPDX-License-Identifier: MIT */
/*
 * Attempts that ended without an answer; and, for every end there is, that the
 * key's place is given back exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "verdict_rig.h"

static struct attempt
failure(enum attempt_end end)
{
	bool sent = end == ATTEMPT_RESET || end == ATTEMPT_RESPONSE_TIMEOUT ||
	    end == ATTEMPT_BAD_RESPONSE;

	return (struct attempt){.end = end, .sent = sent};
}

static struct verdict
fail_once(struct rig *g, enum attempt_end end)
{
	struct attempt a = failure(end);

	rig_begin(g, 0);
	return rig_end(g, &a, 0);
}

/* --- connecting ---------------------------------------------------------- */

static const struct {
	enum attempt_end end;
	enum give_up why;
} connecting[] = {
    {ATTEMPT_CONNECT_FAILED, GIVE_UP_CONNECT},
    {ATTEMPT_CONNECT_TIMEOUT, GIVE_UP_CONNECT_TIMEOUT},
    {ATTEMPT_DNS_FAILED, GIVE_UP_DNS},
};

static void
verdict_connect_failure_retries_any_method(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rig g = rig_new();
		struct verdict v;

		/* Nothing was sent: neither method nor body matters. */
		g.r.repeatable = g.r.replayable = false;
		v = fail_once(&g, connecting[i].end);
		assert_retry(v, 500 + 750);
		assert_false(v.counts_reset);
		assert_int_equal(g.s.state, SERVICE_OPEN);
		assert_int_equal(g.s.fails, 0);
	}
}

static void
verdict_connect_failure_backs_off_by_its_own_count(void **state)
{
	static const int64_t want[] = {500, 1500, 3500, 7500};

	(void)state;
	for (unsigned n = 0; n < 4; n++) {
		struct rig g = rig_new();

		g.r.retries = n;
		g.s.fails = 9;
		assert_retry(fail_once(&g, ATTEMPT_CONNECT_FAILED),
		    want[n] + 750);
	}
}

static void
verdict_connect_failure_without_room_is_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3 * 5; i++) {
		struct rig g = rig_new();

		switch (i % 5) {
		case 0:
			g.cfg.retry_connect = false;
			break;
		case 1:
			g.r.max_retries = 0;
			break;
		case 2:
			g.r.retries = 4;
			break;
		case 3:
			g.r.max_wait_ms = 499;
			break;
		default:
			g.r.deadline_ms = 1249;
			g.r.signature_bound = true;
		}
		assert_gave_up(fail_once(&g, connecting[i / 5].end),
		    connecting[i / 5].why);
	}
}

static void
verdict_connect_failure_up_to_the_limits_retries(void **state)
{
	struct rig g = rig_new();

	(void)state;
	g.r.max_wait_ms = 500;
	g.r.deadline_ms = 1250;
	g.r.max_retries = 1;
	assert_retry(fail_once(&g, ATTEMPT_CONNECT_FAILED), 1250);
}

static void
verdict_final_failures_are_final(void **state)
{
	static const struct {
		enum attempt_end end;
		enum give_up why;
	} finals[] = {
	    {ATTEMPT_DNS_NAME, GIVE_UP_DNS},
	    {ATTEMPT_RESPONSE_TIMEOUT, GIVE_UP_RESPONSE_TIMEOUT},
	    {ATTEMPT_BAD_RESPONSE, GIVE_UP_PROTOCOL},
	    {ATTEMPT_NO_MEMORY, GIVE_UP_MEMORY},
	    {ATTEMPT_TLS_CERTIFICATE, GIVE_UP_TLS_CERTIFICATE},
	    {ATTEMPT_TLS, GIVE_UP_TLS},
	    {ATTEMPT_PARENT, GIVE_UP_PARENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(finals) / sizeof(finals[0]); i++) {
		struct rig g = rig_new();

		g.cfg.retry_reset = RESET_ALWAYS;
		g.cfg.non_idempotent_always = true;
		assert_gave_up(fail_once(&g, finals[i].end), finals[i].why);
		assert_int_equal(g.s.state, SERVICE_OPEN);
	}
}

/* --- lost connections ---------------------------------------------------- */

static void
verdict_reused_connection_lost_reconnects_when_safe(void **state)
{
	static const struct {
		bool sent, repeatable, replayable;
		enum verdict_kind kind;
	} cases[] = {
	    {false, false, false, VERDICT_RECONNECT},
	    {false, true, true, VERDICT_RECONNECT},
	    {true, true, true, VERDICT_RECONNECT},
	    {true, true, false, VERDICT_GIVE_UP},
	    {true, false, true, VERDICT_GIVE_UP},
	    {true, false, false, VERDICT_GIVE_UP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig g = rig_new();
		struct attempt a = failure(ATTEMPT_RESET);
		struct verdict v;

		/* Neither retries nor resets are spent on it. */
		g.r.max_retries = 0;
		g.r.resets = 1;
		a.reused = true;
		a.sent = cases[i].sent;
		g.r.repeatable = cases[i].repeatable;
		g.r.replayable = cases[i].replayable;
		rig_begin(&g, 0);
		v = rig_end(&g, &a, 0);
		assert_int_equal(v.kind, cases[i].kind);
		if (v.kind == VERDICT_GIVE_UP)
			assert_int_equal(v.why, GIVE_UP_RESET);
	}
}

static void
verdict_fresh_connection_lost_obeys_retry_reset(void **state)
{
	static const struct {
		enum reset_policy policy;
		bool sent, repeatable, replayable;
		bool retries;
	} cases[] = {
	    {RESET_NEVER, true, true, true, false},
	    {RESET_NEVER, false, true, true, false},
	    {RESET_IDEMPOTENT, true, true, true, true},   /* C55: GET */
	    {RESET_IDEMPOTENT, true, false, true, false}, /* C55: POST */
	    {RESET_IDEMPOTENT, true, true, false, false},
	    {RESET_IDEMPOTENT, false, false, false, true},
	    {RESET_ALWAYS, true, false, true, true},
	    {RESET_ALWAYS, true, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig g = rig_new();
		struct attempt a = failure(ATTEMPT_RESET);
		struct verdict v;

		a.sent = cases[i].sent;
		g.cfg.retry_reset = cases[i].policy;
		g.r.repeatable = cases[i].repeatable;
		g.r.replayable = cases[i].replayable;
		rig_begin(&g, 0);
		v = rig_end(&g, &a, 0);
		if (cases[i].retries) {
			assert_retry(v, 1250);
			assert_true(v.counts_reset);
		} else {
			assert_gave_up(v, GIVE_UP_RESET);
		}
	}
}

static void
verdict_second_lost_connection_is_final(void **state)
{
	struct rig g = rig_new();

	(void)state;
	g.r.resets = 1;
	g.cfg.retry_reset = RESET_ALWAYS;
	assert_gave_up(fail_once(&g, ATTEMPT_RESET), GIVE_UP_RESET);
}

static void
verdict_lost_connection_after_last_retry_is_final(void **state)
{
	struct rig g = rig_new();

	(void)state;
	g.r.retries = 4;
	assert_gave_up(fail_once(&g, ATTEMPT_RESET), GIVE_UP_RESET);
}

/* --- learned once -------------------------------------------------------- */

/* A probe's ticket: its place shows how often it was given back. */
static void
probe_out(struct rig *g)
{
	service_hold(&g->s, 0);
	rig_begin(g, 0);
	assert_int_equal(g->s.state, SERVICE_PROBE);
	assert_int_equal(g->s.flying, 1);
}

static void
verdict_gives_the_place_back_at_every_end(void **state)
{
	(void)state;
	for (int end = ATTEMPT_ANSWER; end <= ATTEMPT_NO_MEMORY; end++) {
		struct rig g = rig_new();
		struct attempt a = failure((enum attempt_end)end);

		a.status = 200;
		probe_out(&g);
		assert_int_not_equal(rig_end(&g, &a, 0).kind,
		    VERDICT_RECONNECT);
		assert_int_equal(g.s.flying, 0);
		assert_int_equal(g.s.state,
		    end == ATTEMPT_ANSWER ? SERVICE_PACED : SERVICE_SHUT);
	}
}

static void
verdict_reconnect_keeps_the_place(void **state)
{
	struct rig g = rig_new();
	struct attempt a = failure(ATTEMPT_RESET);

	(void)state;
	a.reused = true;
	probe_out(&g);
	assert_int_equal(rig_end(&g, &a, 0).kind, VERDICT_RECONNECT);
	assert_int_equal(g.s.state, SERVICE_PROBE);
	assert_int_equal(g.s.flying, 1);
	/* The same attempt ends for good: now it is learned. */
	a = answer(200, 0);
	assert_int_equal(rig_end(&g, &a, 5).kind, VERDICT_DELIVER);
	assert_int_equal(g.s.state, SERVICE_PACED);
	assert_int_equal(g.s.flying, 0);
}

/* --- anything ------------------------------------------------------------ */

static void
random_case(struct rng *rng, struct rig *g, struct attempt *a)
{
	uint64_t d = rng_next(rng);
	static const int statuses[] = {429, 503, 504, 200};

	*a = (struct attempt){
	    .end = d % 3 ? ATTEMPT_ANSWER : (enum attempt_end)(d / 3 % 9),
	    .status = statuses[d >> 8 & 3],
	    .hint = {.valid = d >> 10 & 1,
		.wait_ms = 1 + (int64_t)(d >> 11 & 0x1fff)},
	    .reused = d >> 24 & 1,
	    .sent = d >> 25 & 1,
	};
	g->r = (struct verdict_request){
	    .repeatable = d >> 26 & 1,
	    .replayable = d >> 27 & 3,
	    .retries = (unsigned)(d >> 29 & 3),
	    .max_retries = (unsigned)(d >> 31 & 3),
	    .resets = d >> 33 & 1,
	    .max_wait_ms = 2000 + (int64_t)(d >> 34 & 0xfff),
	    .deadline_ms = 20000 + (int64_t)(d >> 46 & 0xfff),
	};
	g->u_own = rng_unit(rng);
	g->u_jitter = rng_unit(rng);
}

static void
check_verdict(const struct rig *g, const struct attempt *a,
    const struct verdict *v, int64_t now_ms)
{
	bool refusal = verdict_throttled(&g->cfg, a);

	assert_int_equal(v->kind == VERDICT_GIVE_UP, v->why != GIVE_UP_NONE);
	assert_int_equal(v->kind == VERDICT_DELIVER,
	    a->end == ATTEMPT_ANSWER && !refusal);
	if (v->kind != VERDICT_RETRY)
		return;
	assert_true(g->r.retries < g->r.max_retries);
	assert_true(v->at_ms <= g->r.deadline_ms);
	assert_true(v->at_ms >= now_ms);
	if (a->end == ATTEMPT_RESET)
		assert_true(!a->sent || g->r.replayable);
	if (!refusal)
		return;
	assert_true(g->r.replayable);
	assert_true(g->r.repeatable || a->status == 429);
	if (a->hint.valid) {
		assert_true(v->at_ms >= now_ms + a->hint.wait_ms);
		assert_true(a->hint.wait_ms <= g->r.max_wait_ms);
	}
}

/* Rules 2, 3, 9, 10 for whatever comes; and no place is ever lost. */
static void
verdict_of_anything_keeps_the_rules(void **state)
{
	struct rig g = rig_new();
	struct rng rng;
	struct ticket out[8];
	unsigned n = 0;
	int64_t now_ms = 16000;

	(void)state;
	rng_seed(&rng, 42);
	for (int i = 0; i < 200000; i++) {
		enum wait_why why;
		int64_t at_ms;
		struct attempt a;
		struct verdict v;

		if (n < 8 && service_ready(&g.s, now_ms, &why, &at_ms)) {
			rig_begin(&g, now_ms);
			out[n++] = g.t;
		}
		if (n == 0 || rng_next(&rng) % 2) {
			now_ms += 40;
			continue;
		}
		random_case(&rng, &g, &a);
		g.r.deadline_ms += now_ms - 16000;
		g.t = out[0];
		v = rig_end(&g, &a, now_ms);
		check_verdict(&g, &a, &v, now_ms);
		if (v.kind == VERDICT_RECONNECT)
			continue;
		for (n--, at_ms = 0; at_ms < n; at_ms++)
			out[at_ms] = out[at_ms + 1];
	}
	assert_true(n <= 8);
	assert_true(g.s.epoch > 1000);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(verdict_connect_failure_retries_any_method),
	    cmocka_unit_test(
		verdict_connect_failure_backs_off_by_its_own_count),
	    cmocka_unit_test(
		verdict_connect_failure_without_room_is_the_reason),
	    cmocka_unit_test(verdict_connect_failure_up_to_the_limits_retries),
	    cmocka_unit_test(verdict_final_failures_are_final),
	    cmocka_unit_test(
		verdict_reused_connection_lost_reconnects_when_safe),
	    cmocka_unit_test(verdict_fresh_connection_lost_obeys_retry_reset),
	    cmocka_unit_test(verdict_second_lost_connection_is_final),
	    cmocka_unit_test(verdict_lost_connection_after_last_retry_is_final),
	    cmocka_unit_test(verdict_gives_the_place_back_at_every_end),
	    cmocka_unit_test(verdict_reconnect_keeps_the_place),
	    cmocka_unit_test(verdict_of_anything_keeps_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * One service key under a crowd: outcomes in any order, holds and releases in
 * between. After each step the counts are exact and somebody can go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "service_rig.h"

#define OUT_MAX 40

struct crowd {
	struct service s;
	struct service_cfg cfg;
	struct rng rng;
	int64_t now_ms;
	int64_t told_ms; /* no attempt before: the latest end of a hint */
	struct ticket out[OUT_MAX];
	unsigned n;
};

static unsigned
draw(struct crowd *c, unsigned below)
{
	return (unsigned)(rng_next(&c->rng) % below);
}

static void
crowd_check(const struct crowd *c)
{
	unsigned slow = 0, trials = 0;
	enum wait_why why;
	int64_t at_ms;

	for (unsigned i = 0; i < c->n; i++) {
		slow += c->out[i].slow && c->out[i].round == c->s.round;
		trials += c->out[i].trial;
	}
	assert_int_equal(c->s.flying, slow);
	assert_int_equal(c->s.trial_out, trials);
	assert_true(trials <= 1);
	if (c->s.state == SERVICE_PROBE)
		assert_int_equal(slow, 1);
	if (c->s.state == SERVICE_PACED) {
		assert_in_range(c->s.window, 2, SERVICE_WINDOW_MAX);
		assert_in_range(slow, 0, c->s.window);
	}
	/* With nothing under way it is ready, or at a time that is known. */
	if (c->n == 0 && c->now_ms >= c->s.until_ms &&
	    !service_ready(&c->s, c->now_ms, &why, &at_ms)) {
		assert_int_equal(c->s.state, SERVICE_PACED);
		assert_in_range(at_ms, c->now_ms + 1,
		    c->now_ms + SERVICE_STEP_MAX_MS);
		assert_true(ready(&c->s, at_ms));
	}
	if (c->s.state == SERVICE_SHUT)
		assert_int_equal(ready(&c->s, c->now_ms),
		    c->now_ms >= c->s.until_ms);
}

static void
crowd_begin(struct crowd *c)
{
	if (c->n == OUT_MAX || !ready(&c->s, c->now_ms))
		return;
	assert_true(c->now_ms >= c->told_ms);
	service_begin(&c->s, &c->cfg, c->now_ms, &c->out[c->n++]);
}

static void
crowd_refuse(struct crowd *c, const struct ticket *t, bool is_told)
{
	int64_t wait_ms = 1 + draw(c, 3000);
	unsigned fails = c->s.fails;
	bool counts = t->epoch == c->s.epoch;

	assert_int_equal(counts,
	    service_throttled(&c->s, &c->cfg, t, c->now_ms, 429, wait_ms,
		is_told, draw(c, 500)));
	assert_int_equal(c->s.fails, fails + counts);
	if (is_told && c->now_ms + wait_ms > c->told_ms)
		c->told_ms = c->now_ms + wait_ms;
	if (counts || is_told)
		assert_true(c->s.until_ms >= c->now_ms + wait_ms);
}

static void
crowd_end(struct crowd *c)
{
	struct ticket t;
	unsigned i;

	if (c->n == 0)
		return;
	i = draw(c, c->n);
	t = c->out[i];
	c->out[i] = c->out[--c->n];
	switch (draw(c, 8)) {
	case 0:
		crowd_refuse(c, &t, true);
		break;
	case 1:
		crowd_refuse(c, &t, false);
		break;
	case 2:
		service_neutral(&c->s, &t, c->now_ms);
		break;
	default:
		service_ok(&c->s, &c->cfg, &t, c->now_ms);
	}
}

static void
crowd_step(struct crowd *c)
{
	unsigned what = draw(c, 200);

	if (what == 0) {
		service_release(&c->s);
		c->told_ms = 0;
	} else if (what == 1) {
		service_hold(&c->s, c->now_ms + draw(c, 4000));
	} else if (what < 20) {
		c->now_ms += draw(c, 2000);
	} else if (what < 130) {
		crowd_begin(c);
	} else {
		crowd_end(c);
	}
	crowd_check(c);
}

static void
service_any_order_of_outcomes_never_sticks(void **state)
{
	static unsigned seen[4];

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct crowd c = {.cfg = plain};

		c.cfg.failure_cutoff = (unsigned)(seed % 7);
		c.cfg.has_rate = seed % 5 == 0;
		c.cfg.half_open_ms = seed % 3 == 0 ? 500 : HALF_OPEN;
		rng_seed(&c.rng, seed);
		service_init(&c.s);
		for (int i = 0; i < 2000; i++) {
			crowd_step(&c);
			seen[c.s.state]++;
		}
		while (c.n > 0) {
			crowd_end(&c);
			crowd_check(&c);
		}
		assert_int_equal(c.s.flying, 0);
		assert_true(c.s.until_ms < c.now_ms + 5000);
		assert_true(ready(&c.s, c.now_ms + 5000));
	}
	for (size_t i = 0; i < 4; i++)
		assert_true(seen[i] > 1000);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(service_any_order_of_outcomes_never_sticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

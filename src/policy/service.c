/* SPDX-License-Identifier: MIT */
/*
 * Decides when a service key may be asked again, from what it answered. It
 * does not know requests, deadlines or methods, nor who waits; it reads no
 * clock and draws no jitter. What one refused request does now is verdict.c's.
 *
 *            counted refusal, told straggler, operator
 *      +-----------+-------------------+-----------------+
 *      v           |                   |                 |
 *    SHUT -begin-> PROBE ----ok----> PACED ----calm-----> OPEN
 *      ^           |                                      ^
 *      +--neutral--+  (until = now)   release, has_rate --+
 *
 * Two numbers tell tickets apart. The epoch says which refusals belong to one
 * burst: it changes with each refusal that counts. The round says which tickets
 * `flying` counts: it changes with each probe. They differ because a hold can
 * begin without a refusal that counts (a straggler's hint, an operator), and
 * then the attempts under way may still tell us something of this epoch.
 *
 * A straggler is a ticket of an earlier epoch. It was sent before the refusal
 * that opened this epoch, so it says nothing about how we behave since: its
 * success forgives nothing and its refusal counts nothing. But a wait that the
 * server names in it is an order all the same.
 */
#include "policy/service.h"

#include <assert.h>
#include <limits.h>

#include "base/clock.h"

const char *
wait_why_name(enum wait_why w)
{
	switch (w) {
#define X(id, text) \
	case WAIT_##id: \
		return text;
		WAIT_WHY_LIST(X)
#undef X
	case WAIT_WHY_COUNT:
		break;
	}
	return "?";
}

const char *
service_state_name(enum service_state s)
{
	switch (s) {
#define X(id) \
	case SERVICE_##id: \
		return #id;
		SERVICE_STATE_LIST(X)
#undef X
	}
	return "?";
}

void
service_init(struct service *s)
{
	*s = (struct service){.state = SERVICE_OPEN,
	    .why = WAIT_TOLD,
	    .step_ms = SERVICE_STEP_MIN_MS,
	    .last_fail_ms = -1};
}

/* The one writer of the state. */
static void
service_move(struct service *s, enum service_state to)
{
	s->state = to;
}

/* Nobody has been held up for long: what was refused once is forgotten. */
static void
service_calm(struct service *s)
{
	service_move(s, SERVICE_OPEN);
	s->peak = 0;
}

static void
probe_begin(struct service *s)
{
	service_move(s, SERVICE_PROBE);
	/* Slow tickets of before are no longer of this round. */
	s->round++;
	s->flying = 0;
}

static void
slow_start_begin(struct service *s, int64_t now_ms)
{
	service_move(s, SERVICE_PACED);
	s->window = 2;
	s->grown = s->used = 0;
	s->step_at_ms = now_ms;
	s->calm_ms = now_ms;
}

/* The steps of slow start follow the scale on which the server thinks. */
static int64_t
step_of(int64_t wait_ms)
{
	int64_t step_ms = wait_ms / SERVICE_STEP_PART;

	if (step_ms < SERVICE_STEP_MIN_MS)
		return SERVICE_STEP_MIN_MS;
	return step_ms > SERVICE_STEP_MAX_MS ? SERVICE_STEP_MAX_MS : step_ms;
}

static bool
step_is_over(const struct service *s, int64_t now_ms)
{
	return now_ms - s->step_at_ms >= s->step_ms;
}

static unsigned
next_window(const struct service *s)
{
	return s->grown > SERVICE_WINDOW_MAX - s->window ? SERVICE_WINDOW_MAX
							 : s->window + s->grown;
}

/* When the next one of this step may start: they are spread over it, since a
 * limiter counts what comes at once. A full step: its end. */
static int64_t
step_next_ms(const struct service *s)
{
	return s->step_at_ms +
	    (s->step_ms * s->used + s->window - 1) / s->window;
}

/* By how much the next step may be wider: twofold up to half the width that
 * was refused last, then by an eighth (as TCP does past ssthresh). */
static unsigned
growth_limit(const struct service *s)
{
	unsigned half = s->peak / 2;

	if (s->peak == 0 || s->window * 2 <= half)
		return s->window;
	if (s->window < half)
		return half - s->window;
	return s->window / 8 + 1;
}

/* Slow start: room both under way and in this step? */
static bool
slow_start_ready(const struct service *s, int64_t now_ms, int64_t *ret_at_ms)
{
	bool over = step_is_over(s, now_ms);
	int64_t next_ms = over ? now_ms : step_next_ms(s);

	if (s->flying < (over ? next_window(s) : s->window)) {
		*ret_at_ms = next_ms;
		return now_ms >= next_ms;
	}
	/* The next step may be wider than what is under way. */
	*ret_at_ms = !over && s->flying < next_window(s)
	    ? s->step_at_ms + s->step_ms
	    : SERVICE_NEVER;
	return false;
}

static void
slow_start_admit(struct service *s, int64_t now_ms)
{
	if (step_is_over(s, now_ms)) {
		s->window = next_window(s);
		s->grown = s->used = 0;
		s->step_at_ms = now_ms;
	}
	if (++s->used >= s->window)
		s->calm_ms = now_ms;
}

/*
 * Begins a hold or lengthens the one at hand; why and status change with the
 * end, so that they are always those of what makes everyone wait.
 */
static void
shut_until(struct service *s, int64_t until_ms, enum wait_why why, int status)
{
	if (s->state == SERVICE_SHUT && until_ms <= s->until_ms)
		return;
	service_move(s, SERVICE_SHUT);
	s->until_ms = until_ms;
	s->why = why;
	s->shut_status = status;
}

bool
service_ready(const struct service *s, int64_t now_ms, enum wait_why *ret_why,
    int64_t *ret_at_ms)
{
	switch (s->state) {
	case SERVICE_OPEN:
		return true;
	case SERVICE_SHUT:
		if (now_ms >= s->until_ms)
			return true;
		*ret_why = s->why;
		*ret_at_ms = s->until_ms;
		return false;
	case SERVICE_PROBE:
		*ret_why = WAIT_PROBE;
		*ret_at_ms = SERVICE_NEVER;
		return false;
	case SERVICE_PACED:
		*ret_why = WAIT_TURN;
		return slow_start_ready(s, now_ms, ret_at_ms);
	}
	return true;
}

static bool
at_cut_off(const struct service *s, const struct service_cfg *cfg)
{
	return cfg->failure_cutoff > 0 && s->fails >= cfg->failure_cutoff;
}

/* Over the cut-off, one at a time may find out whether it got better. */
static bool
grants_trial(const struct service *s, const struct service_cfg *cfg,
    int64_t now_ms)
{
	return at_cut_off(s, cfg) && !s->trial_out &&
	    now_ms - s->last_fail_ms >= cfg->half_open_ms;
}

void
service_begin(struct service *s, const struct service_cfg *cfg, int64_t now_ms,
    struct ticket *ret)
{
	if (s->state == SERVICE_SHUT)
		probe_begin(s);
	else if (s->state == SERVICE_PACED &&
	    (cfg->has_rate || now_ms - s->calm_ms >= cfg->half_open_ms))
		service_calm(s);
	if (s->state == SERVICE_PACED)
		slow_start_admit(s, now_ms);

	*ret = (struct ticket){
	    .epoch = s->epoch,
	    .round = s->round,
	    .slow = s->state != SERVICE_OPEN,
	    .trial = grants_trial(s, cfg, now_ms),
	};
	if (ret->slow)
		s->flying++;
	if (ret->trial)
		s->trial_out = true;
	assert(s->state != SERVICE_PROBE || s->flying == 1);
}

/* Gives back what the ticket holds. True: it was a slow one of this round. */
static bool
ticket_over(struct service *s, const struct ticket *t, int64_t now_ms)
{
	if (t->trial)
		s->trial_out = false;
	if (!t->slow || t->round != s->round)
		return false;
	if (s->state == SERVICE_PACED && s->flying >= s->window)
		s->calm_ms = now_ms;
	assert(s->flying > 0);
	s->flying--;
	return true;
}

unsigned
service_fails_after(const struct service *s, const struct ticket *t)
{
	if (!service_counts(s, t) || s->fails == UINT_MAX)
		return s->fails;
	return s->fails + 1;
}

static int64_t
hold_end(int64_t now_ms, int64_t wait_ms, int64_t jitter_ms)
{
	return clock_add(clock_add(now_ms, wait_ms), jitter_ms);
}

static void
straggler_throttled(struct service *s, int64_t now_ms, int status,
    int64_t wait_ms, bool told, int64_t jitter_ms)
{
	if (!told)
		return;
	/* The jitter of a hold is drawn once, by who begins it. */
	if (s->state != SERVICE_SHUT)
		s->jitter_ms = jitter_ms;
	s->step_ms = step_of(wait_ms);
	shut_until(s, hold_end(now_ms, wait_ms, s->jitter_ms), WAIT_TOLD,
	    status);
}

bool
service_throttled(struct service *s, const struct service_cfg *cfg,
    const struct ticket *t, int64_t now_ms, int status, int64_t wait_ms,
    bool told, int64_t jitter_ms)
{
	(void)cfg;
	(void)ticket_over(s, t, now_ms);
	if (!service_counts(s, t)) {
		straggler_throttled(s, now_ms, status, wait_ms, told,
		    jitter_ms);
		return false;
	}
	if (s->state == SERVICE_PACED)
		s->peak = s->window;
	s->fails = service_fails_after(s, t);
	s->epoch++;
	s->last_fail_ms = now_ms;
	s->jitter_ms = jitter_ms;
	s->step_ms = step_of(wait_ms);
	shut_until(s, hold_end(now_ms, wait_ms, jitter_ms),
	    told ? WAIT_TOLD : WAIT_BACKOFF, status);
	return true;
}

/* A slow ticket of this round brought good news. */
static void
widen(struct service *s, const struct service_cfg *cfg, int64_t now_ms)
{
	switch (s->state) {
	case SERVICE_PROBE:
		if (cfg->has_rate)
			service_move(s, SERVICE_OPEN);
		else
			slow_start_begin(s, now_ms);
		break;
	case SERVICE_PACED:
		/* However wide: to open now would let the whole line loose. */
		if (s->grown < growth_limit(s))
			s->grown++;
		break;
	case SERVICE_OPEN:
	case SERVICE_SHUT: /* by another's word, since this one began */
		break;
	}
}

void
service_ok(struct service *s, const struct service_cfg *cfg,
    const struct ticket *t, int64_t now_ms)
{
	if (service_counts(s, t))
		s->fails = 0;
	if (ticket_over(s, t, now_ms))
		widen(s, cfg, now_ms);
}

void
service_neutral(struct service *s, const struct ticket *t, int64_t now_ms)
{
	if (!ticket_over(s, t, now_ms) || s->state != SERVICE_PROBE)
		return;
	/* Why it was shut, and for which status, is as true as before. */
	service_move(s, SERVICE_SHUT);
	s->until_ms = now_ms;
}

void
service_let_go(struct service *s, struct ticket *t)
{
	if (!t->slow || t->round != s->round || s->state == SERVICE_PROBE)
		return;
	t->slow = false;
	assert(s->flying > 0);
	s->flying--;
}

void
service_let_probe_go(struct service *s, int64_t now_ms)
{
	if (s->state != SERVICE_PROBE)
		return;
	/* Its ticket stays of this round, which the next probe ends. */
	service_move(s, SERVICE_SHUT);
	s->until_ms = now_ms;
}

bool
service_cut_off(const struct service *s, const struct service_cfg *cfg,
    const struct ticket *t)
{
	return at_cut_off(s, cfg) && !t->trial;
}

void
service_forgive(struct service *s)
{
	if (s->fails > 0)
		s->fails--;
}

void
service_told(struct service *s, int64_t until_ms, int status)
{
	if (s->state != SERVICE_SHUT)
		s->jitter_ms = 0;
	shut_until(s, until_ms, WAIT_TOLD, status);
}

void
service_hold(struct service *s, int64_t until_ms)
{
	if (s->state != SERVICE_SHUT)
		s->jitter_ms = 0;
	shut_until(s, until_ms, WAIT_TOLD, 0);
}

void
service_release(struct service *s)
{
	service_calm(s);
	s->until_ms = 0;
	s->fails = 0;
}

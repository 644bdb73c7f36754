/* SPDX-License-Identifier: MIT */
/*
 * Decides what becomes of a request when an attempt of it has ended, and tells
 * the service what that says about it. It does not know how an attempt is made,
 * where the request waits or what the client is told: it returns a word and a
 * time.
 *
 *    answer, a throttling status  -> learn refusal -> RETRY or GIVE_UP
 *    answer, for good             -> learn neutral -> GIVE_UP
 *    answer, any other status     -> learn ok      -> DELIVER
 *    reused connection lost       -> nothing yet   -> RECONNECT
 *    any other failure            -> learn neutral -> RETRY or GIVE_UP
 */
#include "policy/verdict.h"

#include "base/clock.h"

/* All that one decision looks at; lives as long as verdict_of runs. */
struct scene {
	const struct verdict_cfg *cfg;
	const struct backoff_cfg *backoff;
	const struct service_cfg *service_cfg;
	const struct verdict_request *r;
	const struct attempt *a;
	struct service *s;
	const struct ticket *t;
	int64_t now_ms;
	double u_own, u_jitter;
};

const char *
give_up_name(enum give_up g)
{
	switch (g) {
#define X(id, text) \
	case GIVE_UP_##id: \
		return text;
		GIVE_UP_LIST(X)
#undef X
	case GIVE_UP_COUNT:
		break;
	}
	return "?";
}

bool
verdict_statuses_has(const struct verdict_statuses *s, int status)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->v[i] == status)
			return true;
	}
	return false;
}

bool
verdict_idempotent(struct span method)
{
	static const char *const names[] = {"GET", "HEAD", "OPTIONS", "TRACE",
	    "PUT", "DELETE", "PROPFIND", "REPORT", "SEARCH"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (span_eq(method, span_of(names[i])))
			return true;
	}
	return false;
}

bool
verdict_throttled(const struct verdict_cfg *cfg, const struct attempt *a)
{
	if (a->end != ATTEMPT_ANSWER || a->says == SAYS_PERMANENT)
		return false;
	return a->says == SAYS_THROTTLED ||
	    verdict_statuses_has(&cfg->retry_on, a->status);
}

int
verdict_refusal_status(const struct attempt *a)
{
	return a->status < 400 ? 429 : a->status;
}

static struct verdict
give_up(enum give_up why)
{
	return (struct verdict){.kind = VERDICT_GIVE_UP, .why = why};
}

/* --- refusals ------------------------------------------------------------ */

static unsigned
larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

unsigned
verdict_nth(unsigned retries, const struct service *s, const struct ticket *t)
{
	return larger(retries + 1, service_fails_after(s, t));
}

/*
 * How long the refusal shuts the key, without jitter. *ret_told: not by own
 * back-off, so that it counts even where the refusal comes late.
 */
static int64_t
refusal_wait_ms(const struct scene *c, bool *ret_told)
{
	const struct custom_wait *custom = &c->a->custom;
	int64_t hint_ms = c->a->hint.valid ? c->a->hint.wait_ms : 0;
	int64_t wait_ms = custom->ms;

	if (custom->kind == CUSTOM_NONE)
		wait_ms = backoff_wait_ms(c->backoff, hint_ms,
		    verdict_nth(c->r->retries, c->s, c->t), c->u_own);
	else if (hint_ms > wait_ms)
		wait_ms = hint_ms;
	if (custom->kind == CUSTOM_WAIT) {
		*ret_told = true;
		return wait_ms;
	}
	if (!service_counts(c->s, c->t) && hint_ms > 0)
		wait_ms = hint_ms;
	*ret_told = hint_ms > 0 && wait_ms <= hint_ms;
	return wait_ms;
}

/*
 * Learns the refusal. Returns when this request may go again: at the end of
 * the key's hold or, where its refusal came too late to begin one, after its
 * own back-off. *ret_wait_ms: the same from now on, without jitter.
 */
static int64_t
learn_refusal(const struct scene *c, int64_t *ret_wait_ms)
{
	int64_t jitter_ms = backoff_jitter_ms(c->backoff, c->u_jitter);
	bool told;
	int64_t wait_ms = refusal_wait_ms(c, &told);

	if (service_throttled(c->s, c->service_cfg, c->t, c->now_ms,
		verdict_refusal_status(c->a), wait_ms, told, jitter_ms) &&
	    c->a->lesson.scope == SCOPE_SHARED)
		service_forgive(c->s);

	if (c->s->state == SERVICE_SHUT && c->s->until_ms > c->now_ms) {
		*ret_wait_ms = c->s->until_ms - c->now_ms - c->s->jitter_ms;
		return c->s->until_ms;
	}
	*ret_wait_ms = wait_ms;
	return clock_add(clock_add(c->now_ms, wait_ms), jitter_ms);
}

/* May this method be repeated after this status? Rule 10. */
static bool
refusal_repeatable(const struct scene *c)
{
	return c->r->repeatable || c->cfg->non_idempotent_always ||
	    verdict_statuses_has(&c->cfg->retry_non_idempotent, c->a->status);
}

/* Why not to go again at at_ms; the order is that of the header. */
static enum give_up
refusal_final(const struct scene *c, int64_t at_ms, int64_t wait_ms)
{
	const struct verdict_request *r = c->r;

	if (r->max_retries == 0)
		return GIVE_UP_NO_RETRIES;
	if (!refusal_repeatable(c))
		return GIVE_UP_METHOD;
	if (!r->replayable)
		return r->spill_failed ? GIVE_UP_SPILL : GIVE_UP_BODY;
	if (c->a->custom.kind == CUSTOM_GIVE_UP)
		return GIVE_UP_SCRIPT;
	if (wait_ms > r->max_wait_ms)
		return GIVE_UP_MAX_WAIT;
	if (service_cut_off(c->s, c->service_cfg, c->t))
		return GIVE_UP_CUTOFF;
	if (r->retries >= r->max_retries)
		return GIVE_UP_RETRIES;
	if (at_ms > r->deadline_ms)
		return r->signature_bound ? GIVE_UP_SIGNATURE
					  : GIVE_UP_DEADLINE;
	return GIVE_UP_NONE;
}

static struct verdict
of_refusal(const struct scene *c)
{
	int64_t wait_ms;
	int64_t at_ms = learn_refusal(c, &wait_ms);
	enum give_up why = refusal_final(c, at_ms, wait_ms);

	if (why != GIVE_UP_NONE)
		return give_up(why);
	return (struct verdict){.kind = VERDICT_RETRY, .at_ms = at_ms};
}

/* --- failures ------------------------------------------------------------ */

/* Sent again, would the upstream see the whole request? */
static bool
whole_again(const struct scene *c)
{
	return !c->a->sent || c->r->replayable;
}

/*
 * Rule 14: the upstream closed an idle connection just as we took it. That is
 * no failure of the request, so it costs none of its retries.
 */
static bool
lost_in_reuse(const struct scene *c)
{
	return c->a->end == ATTEMPT_RESET && c->a->reused &&
	    (!c->a->sent || c->r->repeatable) && whole_again(c);
}

static bool
reset_repeatable(const struct scene *c)
{
	if (c->r->resets > 0 || !whole_again(c))
		return false;
	switch (c->cfg->retry_reset) {
	case RESET_NEVER:
		return false;
	case RESET_IDEMPOTENT:
		return c->r->repeatable || !c->a->sent;
	case RESET_ALWAYS:
		return true;
	}
	return false;
}

static bool
failure_repeatable(const struct scene *c)
{
	switch (c->a->end) {
	case ATTEMPT_CONNECT_FAILED:
	case ATTEMPT_CONNECT_TIMEOUT:
	case ATTEMPT_DNS_FAILED:
		return c->cfg->retry_connect;
	case ATTEMPT_RESET:
		return reset_repeatable(c);
	case ATTEMPT_ANSWER:
	case ATTEMPT_DNS_NAME:
	case ATTEMPT_RESPONSE_TIMEOUT:
	case ATTEMPT_BAD_RESPONSE:
	case ATTEMPT_NO_MEMORY:
	case ATTEMPT_TLS_CERTIFICATE:
	case ATTEMPT_TLS:
	case ATTEMPT_PARENT:
		return false;
	}
	return false;
}

static enum give_up
failure_name(enum attempt_end end)
{
	switch (end) {
	case ATTEMPT_CONNECT_FAILED:
		return GIVE_UP_CONNECT;
	case ATTEMPT_CONNECT_TIMEOUT:
		return GIVE_UP_CONNECT_TIMEOUT;
	case ATTEMPT_DNS_FAILED:
	case ATTEMPT_DNS_NAME:
		return GIVE_UP_DNS;
	case ATTEMPT_RESET:
		return GIVE_UP_RESET;
	case ATTEMPT_RESPONSE_TIMEOUT:
		return GIVE_UP_RESPONSE_TIMEOUT;
	case ATTEMPT_BAD_RESPONSE:
		return GIVE_UP_PROTOCOL;
	case ATTEMPT_NO_MEMORY:
		return GIVE_UP_MEMORY;
	case ATTEMPT_TLS_CERTIFICATE:
		return GIVE_UP_TLS_CERTIFICATE;
	case ATTEMPT_TLS:
		return GIVE_UP_TLS;
	case ATTEMPT_PARENT:
		return GIVE_UP_PARENT;
	case ATTEMPT_ANSWER:
		break;
	}
	return GIVE_UP_NONE;
}

static struct verdict
of_failure(const struct scene *c)
{
	const struct verdict_request *r = c->r;
	enum give_up why = failure_name(c->a->end);
	int64_t wait_ms, at_ms;

	service_neutral(c->s, c->t, c->now_ms);
	if (!failure_repeatable(c) || r->retries >= r->max_retries)
		return give_up(why);
	wait_ms = backoff_own_ms(c->backoff, r->retries + 1, c->u_own);
	at_ms = clock_add(clock_add(c->now_ms, wait_ms),
	    backoff_jitter_ms(c->backoff, c->u_jitter));
	if (wait_ms > r->max_wait_ms || at_ms > r->deadline_ms)
		return give_up(why);
	return (struct verdict){.kind = VERDICT_RETRY,
	    .at_ms = at_ms,
	    .counts_reset = c->a->end == ATTEMPT_RESET};
}

struct verdict
verdict_of(const struct verdict_cfg *cfg, const struct backoff_cfg *backoff,
    const struct service_cfg *service_cfg, const struct verdict_request *r,
    const struct attempt *a, struct service *s, const struct ticket *t,
    int64_t now_ms, double u_own, double u_jitter)
{
	struct scene c = {.cfg = cfg,
	    .backoff = backoff,
	    .service_cfg = service_cfg,
	    .r = r,
	    .a = a,
	    .s = s,
	    .t = t,
	    .now_ms = now_ms,
	    .u_own = u_own,
	    .u_jitter = u_jitter};

	if (verdict_throttled(cfg, a))
		return of_refusal(&c);
	if (a->end == ATTEMPT_ANSWER && a->says == SAYS_PERMANENT) {
		service_neutral(s, t, now_ms);
		return give_up(GIVE_UP_PERMANENT);
	}
	if (a->end == ATTEMPT_ANSWER) {
		service_ok(s, service_cfg, t, now_ms);
		return (struct verdict){.kind = VERDICT_DELIVER};
	}
	if (lost_in_reuse(&c))
		return (struct verdict){.kind = VERDICT_RECONNECT};
	return of_failure(&c);
}

struct verdict
verdict_over_budget(const struct attempt *a)
{
	return give_up(
	    a->end == ATTEMPT_ANSWER ? GIVE_UP_BUDGET : failure_name(a->end));
}

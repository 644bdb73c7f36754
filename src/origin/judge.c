/* SPDX-License-Identifier: MIT */
/*
 * The judge. An attempt is asked three questions, and the first that has an
 * answer decides:
 *
 *   script     does the script have a step for it? It counts the attempts of
 *              the request, if that named itself, and else of the key.
 *   max        are as many in progress as may be?
 *   rates      does every limiter of the key have room? Only if all have does
 *              it take from any: a refusal costs nothing but under `penalty`.
 *
 * An attempt is early when a hint that was told to its key (or, if the request
 * named itself, to that request) has not run out. The longest standing promise
 * counts, and it is measured from the moment the hint was written.
 *
 * This file reads no clock and writes no bytes.
 */
#include "judge.h"

#include "amount.h"

static void
by_step(const struct step *st, struct verdict *v)
{
	v->kind = st->kind;
	v->status = st->status;
	v->refused = st->kind != STEP_STATUS || st->status >= 400;
	v->hinted = st->hint_ns >= 0;
	v->after_ns = st->hint_ns;
}

static void
by_max(const struct wish *w, struct verdict *v)
{
	v->refused = v->hinted = true;
	v->status = w->status ? w->status : 429;
	v->after_ns = w->after_ns;
	/* nobody knows when a place is free: one turn of work is a guess */
	if (v->after_ns < 0)
		v->after_ns = w->hold_ns > 0 ? w->hold_ns : AMOUNT_SECOND_NS;
	v->quota = (struct advice_quota){.limit = (uint32_t)w->max,
	    .window_ns = v->after_ns};
}

static bool
all_fit(struct key *k, int64_t now_ns)
{
	for (unsigned i = 0; i < k->nlimits; i++) {
		if (!limit_fits(&k->limits[i], now_ns))
			return false;
	}
	return true;
}

/* The limiter that binds: the longest wait, then the fewest left. */
static void
tell_quota(struct key *k, int64_t now_ns, struct verdict *v)
{
	for (unsigned i = 0; i < k->nlimits; i++) {
		struct limit *l = &k->limits[i];
		int64_t ready_ns = limit_ready_ns(l, now_ns);
		uint32_t left = limit_left(l, now_ns);

		if (i > 0 &&
		    (ready_ns < v->ready_ns ||
			(ready_ns == v->ready_ns && left >= v->quota.left)))
			continue;
		v->ready_ns = ready_ns;
		v->quota = (struct advice_quota){
		    .limit = l->cfg.burst > l->cfg.count ? l->cfg.burst
							 : l->cfg.count,
		    .left = left,
		    .window_ns = l->cfg.period_ns,
		};
	}
}

static int
by_rates(struct key *k, const struct wish *w, int64_t now_ns, struct verdict *v)
{
	bool fit = all_fit(k, now_ns);
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < k->nlimits; i++)
		rc = fit ? limit_take(&k->limits[i], now_ns)
			 : limit_refuse(&k->limits[i], now_ns);
	if (rc < 0)
		return -1;
	tell_quota(k, now_ns, v);
	v->after_ns = w->after_ns;
	if (fit) {
		v->hinted = k->nlimits > 0 &&
		    advice_on_success((enum advice_form)w->hint);
		return 0;
	}
	v->refused = v->hinted = true;
	v->status = w->status ? w->status : 429;
	return 0;
}

int
judge_attempt(struct keytab *ks, struct key *k, struct key *self,
    const struct wish *w, int64_t now_ns, struct verdict *ret)
{
	const struct step *st = script_at(&w->script, self->script_at);
	struct verdict v = {
	    .kind = STEP_STATUS,
	    .after_ns = -1,
	    .ready_ns = now_ns,
	};
	int rc = 0;

	if (st != NULL) {
		self->script_at++;
		by_step(st, &v);
	} else if (k->max > 0 && k->held >= k->max) {
		by_max(w, &v);
	} else {
		rc = by_rates(k, w, now_ns, &v);
		v.held = rc == 0 && !v.refused;
		k->held += v.held;
	}
	keytab_account(ks, k);
	if (rc == 0)
		*ret = v;
	return rc;
}

int64_t
judge_early_ns(const struct key *k, int64_t now_ns, int64_t grace_ns,
    int64_t *ret_age_ns)
{
	*ret_age_ns = k->hinted_ns > 0 ? now_ns - k->hinted_ns : -1;
	if (k->hinted_ns == 0 || now_ns >= k->until_ns ||
	    *ret_age_ns < grace_ns)
		return 0;
	return k->until_ns - now_ns;
}

void
judge_told(struct key *k, int64_t now_ns, int64_t told_ns)
{
	k->hinted_ns = now_ns;
	if (now_ns + told_ns > k->until_ns)
		k->until_ns = now_ns + told_ns;
}

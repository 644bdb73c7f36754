/* SPDX-License-Identifier: MIT */
/*
 * dispatch_wish decides whom the wishes of a service hold up: what is left of a
 * quota is spread over the time, a success may ask for a pause. These come with
 * answers that are no refusals, so nobody is refused for their sake: who can't
 * wait goes at once, past the others in line, and the service says itself what
 * it thinks of that.
 *
 *   weigh   how long may it wait, is that enough for its place in line?
 *   hurry   it holds the line up: is it still, for each who stands there?
 */
#include "dispatch_line.h"

/* A wait for a wish leaves this part of its time to a request, for the attempt
 * itself. */
#define LEFT_FOR_ATTEMPT 4

bool
key_pleases(const struct key *k, const struct request *r, int64_t now_ms,
    enum wait_why *ret_why, int64_t *ret_at_ms)
{
	enum wait_why why = WAIT_PACED;
	int64_t at_ms;

	if (!k->quota.on || r->hasty)
		return true;
	at_ms = quota_at_ms(&k->quota, now_ms, 0, &why);
	if (at_ms <= now_ms)
		return true;
	*ret_why = why;
	*ret_at_ms = at_ms;
	return false;
}

static int64_t
patience_ms(const struct request *r, int64_t now_ms)
{
	int64_t until_ms = request_limit_ms(r), time_ms = until_ms - now_ms;

	if (r->policy->queue_timeout_ms < time_ms)
		time_ms = r->policy->queue_timeout_ms;
	time_ms -= time_ms / LEFT_FOR_ATTEMPT;
	if (r->max_wait_ms < time_ms)
		time_ms = r->max_wait_ms;
	return clock_add(now_ms, time_ms > 0 ? time_ms : 0);
}

/* Could one that stands behind `ahead` others be served too late? */
static bool
key_is_slow(const struct key *k, int64_t now_ms, uint32_t ahead,
    int64_t until_ms)
{
	enum wait_why why;

	return k->quota.on &&
	    quota_at_ms(&k->quota, now_ms, ahead, &why) > until_ms;
}

void
key_weigh(const struct key *k, struct request *r, int64_t now_ms)
{
	r->patience_ms = patience_ms(r, now_ms);
	r->hasty =
	    key_is_slow(k, now_ms, line_length(&k->line), r->patience_ms);
}

/* The line is a heap: in its order each stands about where it will be served. */
static struct request *
key_standing(const struct key *k, uint32_t i)
{
	return AB_CONTAINER(k->line.heap.v[i], struct request, entry.node);
}

bool
key_let_hasty(struct key *k, struct engine *e, int64_t *at_ms)
{
	int64_t now_ms = key_now(e), open_ms = TIMER_NEVER;
	struct list out, *it;
	enum wait_why why;
	bool any = false;

	list_init(&out);
	for (uint32_t i = 0; i < line_length(&k->line); i++)
		if (key_standing(k, i)->hasty)
			list_push_back(&out, &key_standing(k, i)->mail);
	k->hasty = false;
	while ((it = list_first(&out))) {
		list_del(it);
		if (!k->hasty && key_open(k, now_ms, &why, &open_ms)) {
			key_grant(k, e, AB_CONTAINER(it, struct request, mail));
			any = true;
		} else {
			k->hasty = true; /* it goes on standing there */
		}
	}
	if (open_ms < *at_ms)
		*at_ms = open_ms;
	return any;
}

void
key_hurry(struct key *k, int64_t now_ms)
{
	uint32_t n = line_length(&k->line), ahead = 0;

	if (n == 0 || !key_is_slow(k, now_ms, n - 1, k->least_patience_ms))
		return;
	k->least_patience_ms = INT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		struct request *r = key_standing(k, i);

		if (!r->hasty && key_is_slow(k, now_ms, ahead, r->patience_ms))
			r->hasty = true;
		if (r->hasty) {
			k->hasty = true;
			continue;
		}
		ahead++;
		if (r->patience_ms < k->least_patience_ms)
			k->least_patience_ms = r->patience_ms;
	}
}

void
key_learn(struct key *k, const struct request *r, const struct attempt *a,
    bool held)
{
	struct engine *e = r->engine;
	int64_t now_ms = key_now(e) + e->grain_ms;
	uint64_t n = held ? r->start : 0;
	const struct lesson *l = &a->lesson;

	if (held)
		quota_over(&k->quota);
	if (a->end != ATTEMPT_ANSWER)
		return;
	if (l->quota.reset_ms > 0)
		quota_heard(&k->quota, &k->cfg.quota, n, &l->quota, now_ms);
	if (l->pause_ms > 0 || k->quota.paused_from != 0)
		quota_paused(&k->quota, &k->cfg.quota, n, l->pause_ms, now_ms);
}

void
dispatch_hurry(struct request *r)
{
	struct engine *e = r->engine;
	struct key *k = r->key;

	pthread_mutex_lock(&k->lock);
	if (r->grant == GRANT_LINE) {
		key_clock(k, key_now(e));
		r->patience_ms = patience_ms(r, key_now(e));
		if (r->patience_ms < k->least_patience_ms)
			k->least_patience_ms = r->patience_ms;
		key_pump(k, e);
	}
	pthread_mutex_unlock(&k->lock);
}

/* SPDX-License-Identifier: MIT */
/*
 * dispatch decides who starts now and who waits, and keeps the promise that
 * everybody who waits will be woken. It refuses to know what a request is
 * about, and what happens to it once it is admitted.
 *
 *   ask -> admitted at once, or a place in line
 *   pump (after every change): while the key lets one more go, the head of the
 *       line is granted and posted to its engine; then the caller's own timer
 *       is armed for when the key is worth another look
 *   confirm (by the engine that starts it): a hold that began between the grant
 *       and the first byte sends it back to its place
 *   outcome -> the key learns; a longer hold refuses those who can't wait it out
 *
 * An attempt whose body still comes from its client may take hours to tell
 * anything. So it is the probe only where nobody else would be one, and makes
 * way for the first who would; nor does slow start wait for it.
 */
#include "dispatch.h"

#include "dispatch_line.h"

static enum dispatch_result
key_enter(struct key *k, struct request *r)
{
	key_weigh(k, r, key_now(r->engine));
	switch (line_enter(&k->line, &r->entry)) {
	case LINE_FULL:
		return DISPATCH_FULL;
	case LINE_NO_MEMORY:
		return DISPATCH_NO_MEMORY;
	case LINE_OK:
		break;
	}
	r->grant = GRANT_LINE;
	r->refused = false;
	if (r->hasty)
		k->hasty = true;
	memcpy(r->held_ms, k->held_ms, sizeof(r->held_ms));
	if (request_limit_ms(r) < k->least_deadline_ms)
		k->least_deadline_ms = request_limit_ms(r);
	if (r->max_wait_ms < k->least_max_wait_ms)
		k->least_max_wait_ms = r->max_wait_ms;
	if (r->patience_ms < k->least_patience_ms)
		k->least_patience_ms = r->patience_ms;
	/* Holds have been heeded: of one that comes in just now the line is
	 * told the next time, and r with it. */
	key_run(k, r->engine);
	if (r->grant == GRANT_LINE)
		return DISPATCH_PARKED;
	list_del(&r->mail); /* it was its turn at once */
	r->grant = GRANT_HELD;
	return DISPATCH_GO;
}

enum dispatch_result
dispatch_ask(struct request *r)
{
	int64_t now_ms = key_now(r->engine), at_ms;
	struct key *k = r->key;
	enum dispatch_result res = DISPATCH_GO;
	enum wait_why why;

	if (AB_NEVER(r->grant != GRANT_NONE))
		return DISPATCH_NO_MEMORY;
	pthread_mutex_lock(&k->lock);
	key_clock(k, now_ms);
	key_heed(k, r->engine);
	key_relieve_probe(k, r, now_ms);
	r->hasty = false;
	if (k->quota.on)
		key_weigh(k, r, now_ms);
	if (key_shut_for(k, r, now_ms)) {
		res = DISPATCH_SHUT;
	} else if ((line_length(&k->line) == 0 || r->hasty) &&
	    key_ready(k, r, now_ms, &why, &at_ms)) {
		line_pass(&k->line, &r->entry);
		key_admit(k, r, now_ms);
		r->grant = GRANT_HELD;
		if (r->hasty)
			key_pump(k, r->engine);
	} else {
		res = key_enter(k, r);
	}
	/* The pace may have grown: the line's turn comes earlier. */
	if (res != DISPATCH_GO && res != DISPATCH_PARKED)
		key_run(k, r->engine);
	pthread_mutex_unlock(&k->lock);
	return res;
}

bool
dispatch_is_shut(struct request *r)
{
	struct key *k = r->key;
	bool shut;

	pthread_mutex_lock(&k->lock);
	key_heed(k, r->engine);
	shut = key_shut_for(k, r, key_now(r->engine));
	pthread_mutex_unlock(&k->lock);
	return shut;
}

/* Takes back an admission: its attempt never was, or is over. */
static void
key_give_back(struct key *k, struct request *r, bool neutral)
{
	if (neutral && r->adapting)
		adapt_void(&k->adapt);
	r->adapting = false;
	if (neutral && !r->learned)
		service_neutral(&k->service, &r->ticket, key_now(r->engine));
	if (!r->learned)
		quota_over(&k->quota);
	r->learned = true;
	k->in_use--;
	r->grant = GRANT_NONE;
	key_pump(k, r->engine);
}

/* The pace learns with the service; current: r's ticket was of its epoch. */
static void
key_adapt_learn(struct key *k, struct request *r, const struct attempt *a,
    bool throttled, bool current)
{
	struct adapt *ad = &k->adapt;

	if (!r->adapting)
		return;
	r->adapting = false;
	if (throttled)
		adapt_refused(ad, &k->cfg.adapt, current);
	else if (a->end == ATTEMPT_ANSWER && a->says != SAYS_PERMANENT)
		adapt_served(ad, &k->cfg.adapt, current);
	else
		adapt_void(ad);
}

enum dispatch_result
dispatch_confirm(struct request *r)
{
	int64_t now_ms = key_now(r->engine);
	enum dispatch_result res = DISPATCH_GO;
	struct key *k = r->key;

	pthread_mutex_lock(&k->lock);
	if (r->grant == GRANT_MAIL)
		r->grant = GRANT_HELD;
	key_heed(k, r->engine);
	if (r->grant == GRANT_HELD &&
	    !service_stands(&k->service, &r->ticket)) {
		key_clock(k, now_ms);
		key_give_back(k, r, true);
		res = key_shut_for(k, r, now_ms) ? DISPATCH_SHUT
						 : key_enter(k, r);
	}
	pthread_mutex_unlock(&k->lock);
	return res;
}

bool
dispatch_leave(struct request *r)
{
	struct engine *e = r->engine;
	struct key *k = r->key;
	bool was = true;

	pthread_mutex_lock(&k->lock);
	key_clock(k, key_now(e));
	if (r->grant == GRANT_LINE) {
		request_charge(r, k);
		line_leave(&k->line, &r->entry);
		r->grant = GRANT_NONE;
		key_pump(k, e);
	} else if (r->grant == GRANT_MAIL) {
		pthread_mutex_lock(&e->mail_lock);
		list_del(&r->mail);
		pthread_mutex_unlock(&e->mail_lock);
		if (r->refused || r->moved)
			r->grant = GRANT_NONE;
		else
			key_give_back(k, r, true);
		r->moved = false;
	} else {
		was = false;
	}
	pthread_mutex_unlock(&k->lock);
	return was;
}

void
dispatch_release(struct request *r, bool neutral)
{
	struct key *k = r->key;

	if (r->grant != GRANT_HELD)
		return;
	pthread_mutex_lock(&k->lock);
	key_clock(k, key_now(r->engine));
	key_give_back(k, r, neutral);
	pthread_mutex_unlock(&k->lock);
}

void
dispatch_served(struct request *r)
{
	struct engine *e = r->engine;
	struct key *k = r->key;

	pthread_mutex_lock(&k->lock);
	key_clock(k, key_now(e));
	if (r->adapting)
		adapt_served(&k->adapt, &k->cfg.adapt,
		    service_counts(&k->service, &r->ticket));
	r->adapting = false;
	service_ok(&k->service, &k->cfg.service, &r->ticket,
	    key_now(e) + e->grain_ms);
	quota_over(&k->quota);
	r->learned = true;
	key_give_back(k, r, false);
	pthread_mutex_unlock(&k->lock);
}

/* The facts that a verdict needs of a request. */
static struct verdict_request
verdict_request_of(const struct request *r)
{
	return (struct verdict_request){
	    .repeatable = r->repeatable,
	    .replayable = !r->has_body || body_replayable(&r->body),
	    .spill_failed = r->body.once == BODY_SPILL_FAILED,
	    .retries = r->retries,
	    .max_retries = r->max_retries,
	    .resets = r->resets,
	    .max_wait_ms = r->max_wait_ms,
	    .deadline_ms = request_limit_ms(r),
	    .signature_bound = r->signature_bound && !request_drains(r),
	};
}

static bool
keeps_slot(const struct verdict *v, const struct attempt *a)
{
	switch (v->kind) {
	case VERDICT_DELIVER:
	case VERDICT_RECONNECT:
		return true;
	case VERDICT_GIVE_UP:
		return a->end == ATTEMPT_ANSWER; /* which is relayed */
	case VERDICT_RETRY:
		break;
	}
	return false;
}

/* Each request counts once, with its first outcome, and then pays for its own
 * retries as others do. */
static bool
key_affords(struct key *k, const struct request *r, const struct verdict *v)
{
	int64_t now_ms = key_now(r->engine);

	if (!k->cfg.budget.on || v->kind == VERDICT_RECONNECT)
		return true;
	if (r->retries == 0)
		keygroup_count_request(k->group, now_ms);
	return v->kind != VERDICT_RETRY ||
	    keygroup_take_retry(k->group, now_ms);
}

int64_t
dispatch_own_ms(struct request *r)
{
	struct engine *e = r->engine;
	double u = e->ports->random(e);
	struct key *k = r->key;
	struct ticket t = r->ticket;
	unsigned n;

	pthread_mutex_lock(&k->lock);
	if (r->grant != GRANT_HELD) /* in a dry run */
		t = (struct ticket){.epoch = k->service.epoch};
	n = verdict_nth(r->retries, &k->service, &t);
	pthread_mutex_unlock(&k->lock);
	return backoff_own_ms(&r->policy->backoff, n, u);
}

struct verdict
dispatch_outcome(struct request *r, const struct attempt *a)
{
	struct engine *e = r->engine;
	const struct policy *p = r->policy;
	double u_own = e->ports->random(e), u_jitter = e->ports->random(e);
	struct verdict_request vr = verdict_request_of(r);
	struct key *k = r->key;
	struct service copy;
	struct ticket none;
	struct verdict v;
	bool held = r->grant == GRANT_HELD; /* not so in a dry run */
	bool current;

	pthread_mutex_lock(&k->lock);
	key_clock(k, key_now(e));
	current = service_counts(&k->service, &r->ticket);
	copy = k->service;
	none = (struct ticket){.epoch = copy.epoch, .round = copy.round};
	v = verdict_of(&p->verdict, &p->backoff, &k->cfg.service, &vr, a,
	    held ? &k->service : &copy, held ? &r->ticket : &none,
	    key_now(e) + e->grain_ms, u_own, u_jitter);
	if (!key_affords(k, r, &v))
		v = verdict_over_budget(a);
	r->learned = v.kind != VERDICT_RECONNECT;
	if (r->learned)
		key_learn(k, r, a, held);
	key_adapt_learn(k, r, a, verdict_throttled(&p->verdict, a), current);
	if (a->lesson.scope == SCOPE_GLOBAL && held)
		key_hold_all(k);
	key_sweep(k, e);
	if (held && !keeps_slot(&v, a))
		key_give_back(k, r, false);
	else
		key_pump(k, e);
	if (v.kind == VERDICT_GIVE_UP && v.why == GIVE_UP_DEADLINE &&
	    request_drains(r))
		v.why = GIVE_UP_DRAINING;
	/* A wait that the key's hold covers is spent in line. */
	if (v.kind == VERDICT_RETRY && k->service.state == SERVICE_SHUT &&
	    k->service.until_ms >= v.at_ms)
		v.at_ms = key_now(e);
	pthread_mutex_unlock(&k->lock);
	return v;
}

enum wait_why
dispatch_why(struct request *r, int64_t *ret_at_ms)
{
	struct key *k = r->key;
	enum wait_why why = WAIT_TURN;

	*ret_at_ms = TIMER_NEVER;
	pthread_mutex_lock(&k->lock);
	if (key_ready(k, r, key_now(r->engine), &why, ret_at_ms))
		*ret_at_ms = key_now(r->engine);
	pthread_mutex_unlock(&k->lock);
	return why;
}

int64_t
dispatch_retry_after_ms(struct request *r, int *ret_shut_status)
{
	int64_t now_ms = key_now(r->engine), at_ms;
	struct key *k = r->key;

	*ret_shut_status = 0;
	(void)dispatch_why(r, &at_ms);
	pthread_mutex_lock(&k->lock);
	if (k->service.state == SERVICE_SHUT)
		*ret_shut_status = k->service.shut_status;
	pthread_mutex_unlock(&k->lock);
	if (at_ms == TIMER_NEVER || at_ms - now_ms < 1000)
		return 1000;
	return at_ms - now_ms;
}

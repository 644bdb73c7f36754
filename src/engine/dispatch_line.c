/* SPDX-License-Identifier: MIT */
/*
 * dispatch_line decides who of a line goes next and when it is looked at again:
 * may one more start, who, by whose timer, and who has to be sent away.
 * All of it under the key's lock.
 */
#include "dispatch_line.h"

#define PROBES_LOOKED_AT 256 /* in line, for one that does not stream */

void
key_clock(struct key *k, int64_t now_ms)
{
	if (now_ms <= k->held_since_ms)
		return;
	if (line_length(&k->line) > 0)
		k->held_ms[k->held_by] += now_ms - k->held_since_ms;
	k->held_since_ms = now_ms;
	if (adapt_on(&k->cfg.adapt))
		adapt_clock(&k->adapt, &k->cfg.adapt, now_ms,
		    line_length(&k->line) > 0);
}

bool
key_open(const struct key *k, int64_t now_ms, enum wait_why *ret_why,
    int64_t *ret_at_ms)
{
	int64_t wait;

	if (!service_ready(&k->service, now_ms, ret_why, ret_at_ms))
		return false;
	if (k->cfg.concurrency && k->in_use >= k->cfg.concurrency) {
		*ret_why = WAIT_TURN;
		*ret_at_ms = TIMER_NEVER;
		return false;
	}
	wait = bucket_wait_ms(&k->bucket, &k->cfg.bucket, now_ms);
	if (wait == 0 && adapt_on(&k->cfg.adapt))
		wait = adapt_wait_ms(&k->adapt, &k->cfg.adapt, now_ms);
	if (wait > 0) {
		*ret_why = WAIT_PACED;
		*ret_at_ms = clock_add(now_ms, wait);
		return false;
	}
	return true;
}

bool
key_ready(const struct key *k, const struct request *r, int64_t now_ms,
    enum wait_why *ret_why, int64_t *ret_at_ms)
{
	return key_open(k, now_ms, ret_why, ret_at_ms) &&
	    key_pleases(k, r, now_ms, ret_why, ret_at_ms);
}

/* What comes slowly from its client tells nothing for a long time. */
static void
key_adapt_begin(struct key *k, struct request *r)
{
	adapt_take(&k->adapt);
	r->adapting = !request_streams(r);
	if (!r->adapting)
		adapt_void(&k->adapt);
}

void
key_admit(struct key *k, struct request *r, int64_t now_ms)
{
	service_begin(&k->service, &k->cfg.service, now_ms, &r->ticket);
	if (k->service.state == SERVICE_PROBE)
		k->probe_streams = request_streams(r);
	else if (request_streams(r))
		service_let_go(&k->service, &r->ticket);
	bucket_take(&k->bucket, &k->cfg.bucket, now_ms);
	r->start = quota_begin(&k->quota, now_ms);
	if (adapt_on(&k->cfg.adapt))
		key_adapt_begin(k, r);
	k->in_use++;
	r->learned = false;
}

bool
key_shut_for(const struct key *k, const struct request *r, int64_t now_ms)
{
	const struct service *s = &k->service;

	if (s->state != SERVICE_SHUT || s->until_ms <= now_ms)
		return false;
	return s->until_ms > request_limit_ms(r) ||
	    s->until_ms - s->jitter_ms > clock_add(now_ms, r->max_wait_ms);
}

void
key_post(struct engine *from, struct request *r)
{
	struct engine *to = r->engine;

	r->grant = GRANT_MAIL;
	if (to == from) {
		list_push_back(&to->ready, &r->mail);
		return;
	}
	pthread_mutex_lock(&to->mail_lock);
	list_push_back(&to->mail, &r->mail);
	pthread_mutex_unlock(&to->mail_lock);
	to->ports->wake(to);
}

void
request_charge(struct request *r, const struct key *k)
{
	for (int i = 0; i < WAIT_WHY_COUNT; i++)
		r->waited_ms[i] += k->held_ms[i] - r->held_ms[i];
}

/* Arms this engine's tick, unless somebody's is as early. */
static void
key_arm(struct key *k, struct engine *e, int64_t at_ms)
{
	struct key_tick *t = &k->ticks[e->index];

	if (at_ms >= k->wake_ms)
		return;
	k->wake_ms = at_ms;
	t->engine = e;
	if (!timer_armed(&t->timer) && list_empty(&t->late))
		key_ref(k);
	list_del(&t->late);
	if (timer_arm(&e->timers, &t->timer, at_ms) < 0) {
		/* It is looked at again and again then, not at at_ms. */
		k->wake_ms = key_now(e);
		list_push_back(&e->late, &t->late);
	}
}

static bool
entry_probes_well(const struct line_entry *e)
{
	return !request_streams(AB_CONTAINER(e, struct request, entry));
}

/* Who goes next: the head, but rather another one where a probe is due. */
static struct line_entry *
key_next(const struct key *k)
{
	struct line_entry *head = line_head(&k->line), *other;

	if (!head || entry_probes_well(head) ||
	    (k->service.state != SERVICE_SHUT &&
		k->service.state != SERVICE_PROBE))
		return head;
	other = line_find(&k->line, PROBES_LOOKED_AT, entry_probes_well);
	return other ? other : head;
}

void
key_relieve_probe(struct key *k, const struct request *r, int64_t now_ms)
{
	if (k->probe_streams && !request_streams(r))
		service_let_probe_go(&k->service, now_ms);
}

void
key_grant(struct key *k, struct engine *e, struct request *r)
{
	line_pop(&k->line, &r->entry);
	request_charge(r, k);
	key_admit(k, r, key_now(e));
	key_post(e, r);
}

void
key_heed(struct key *k, struct engine *e)
{
	if (!key_take_hold(k, key_now(e)))
		return;
	key_clock(k, key_now(e));
	key_sweep(k, e);
}

void
key_pump(struct key *k, struct engine *e)
{
	key_heed(k, e);
	key_run(k, e);
}

void
key_run(struct key *k, struct engine *e)
{
	int64_t now_ms = key_now(e), at_ms = TIMER_NEVER;
	struct line_entry *head;
	struct request *r;

	while ((head = key_next(k))) {
		r = AB_CONTAINER(head, struct request, entry);
		key_relieve_probe(k, r, now_ms);
		if (!key_open(k, now_ms, &k->held_by, &at_ms))
			break;
		if (!key_pleases(k, r, now_ms, &k->held_by, &at_ms)) {
			/* What they take makes it slower for the others. */
			key_hurry(k, now_ms);
			if (k->hasty && key_let_hasty(k, e, &at_ms))
				continue;
			break;
		}
		key_grant(k, e, r);
	}
	if (!head) {
		k->least_deadline_ms = k->least_max_wait_ms = INT64_MAX;
		k->least_patience_ms = INT64_MAX;
		return;
	}
	if (at_ms != TIMER_NEVER)
		key_arm(k, e, at_ms);
}

void
dispatch_tick(struct timer *t, int64_t now_ms)
{
	struct key_tick *tick = AB_CONTAINER(t, struct key_tick, timer);
	struct key *k = tick->key;

	pthread_mutex_lock(&k->lock);
	if (k->wake_ms <= now_ms)
		k->wake_ms = TIMER_NEVER;
	key_clock(k, now_ms);
	key_pump(k, tick->engine);
	pthread_mutex_unlock(&k->lock);
	key_put(k); /* of this tick; armed anew, it has taken another */
}

void
dispatch_poke(struct key *k, struct engine *e)
{
	pthread_mutex_lock(&k->lock);
	key_clock(k, key_now(e));
	k->wake_ms = TIMER_NEVER;
	key_pump(k, e);
	pthread_mutex_unlock(&k->lock);
}

void
key_sweep(struct key *k, struct engine *e)
{
	const struct service *s = &k->service;
	int64_t now_ms = key_now(e);
	struct list out, *it;
	struct request *r;

	if (s->state != SERVICE_SHUT ||
	    (s->until_ms <= k->least_deadline_ms &&
		s->until_ms - now_ms <= k->least_max_wait_ms))
		return;
	list_init(&out);
	k->least_deadline_ms = k->least_max_wait_ms = INT64_MAX;
	for (uint32_t i = 0; i < k->line.heap.n; i++) {
		r = AB_CONTAINER(k->line.heap.v[i], struct request, entry.node);
		if (key_shut_for(k, r, now_ms)) {
			list_push_back(&out, &r->mail);
			continue;
		}
		if (request_limit_ms(r) < k->least_deadline_ms)
			k->least_deadline_ms = request_limit_ms(r);
		if (r->max_wait_ms < k->least_max_wait_ms)
			k->least_max_wait_ms = r->max_wait_ms;
	}
	while ((it = list_first(&out))) {
		r = AB_CONTAINER(it, struct request, mail);
		list_del(it);
		line_leave(&k->line, &r->entry);
		request_charge(r, k);
		r->refused = true;
		key_post(e, r);
	}
}

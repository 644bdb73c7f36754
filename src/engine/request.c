/* SPDX-License-Identifier: MIT */
/*
 * request decides nothing: it keeps the record of one request, and the one
 * setter of its state. What follows from what is in flow.c.
 */
#include "request.h"

#include <assert.h>

const char *
request_state_name(enum request_state s)
{
	static const char *const names[] = {
#define X(name) [REQUEST_##name] = #name,
	    REQUEST_STATE_LIST(X)
#undef X
	};

	return names[s];
}

static void
request_timer(struct timer *t, int64_t now_ms)
{
	(void)now_ms;
	flow_timeout(AB_CONTAINER(t, struct request, timer));
}

void
request_init(struct request *r, struct engine *e, struct key *key,
    const struct policy *policy, uint64_t client, uint8_t urgency)
{
	*r = (struct request){
	    .state = REQUEST_READING,
	    .engine = e,
	    .key = key,
	    .policy = policy,
	    .max_retries = policy->verdict.max_retries,
	    .max_wait_ms = policy->max_wait_ms,
	    .start_ms = e->now_ms,
	    .deadline_ms = clock_add(e->now_ms, policy->deadline_ms),
	    .expires_ms = TIMER_NEVER,
	    .first_attempt_ms = -1,
	    .head_ms = -1,
	};
	list_init(&r->mail);
	timer_init(&r->timer, request_timer);
	line_entry_init(&r->entry, client, urgency);
	body_init(&r->body);
	list_push_back(&e->in[REQUEST_READING], &r->link);
	e->count[REQUEST_READING]++;
	STATS_ADD(e->stats.requests, 1);
}

void
request_clear(struct request *r)
{
	struct engine *e = r->engine;

	assert(r->grant == GRANT_NONE);
	timer_stop(&e->timers, &r->timer);
	list_del(&r->link);
	e->count[r->state]--;
	body_free(&r->body, e);
	key_put(r->key);
	STATS_ADD(e->stats.finished, 1);
}

static void
request_parks(struct request *r)
{
	atomic_fetch_add(&r->engine->shared->parked, 1);
	if (r->print)
		r->copy = copies_add(&r->key->group->copies, r->print);
}

static void
request_unparks(struct request *r)
{
	atomic_fetch_sub(&r->engine->shared->parked, 1);
	copies_del(&r->key->group->copies, r->copy);
	r->copy = NULL;
}

void
request_printed(struct request *r, uint64_t print)
{
	r->print = print;
	r->stacked = copies_waiting(&r->key->group->copies, print);
	if (r->stacked > 0)
		STATS_ADD(r->engine->stats.stacked, 1);
}

void
request_move(struct request *r, enum request_state to)
{
	struct engine *e = r->engine;

	if (to == REQUEST_WAITING && r->state != REQUEST_WAITING)
		request_parks(r);
	if (to != REQUEST_WAITING && r->state == REQUEST_WAITING)
		request_unparks(r);
	log_debug("request=%016llx %s -> %s", (unsigned long long)r->id,
	    request_state_name(r->state), request_state_name(to));
	list_del(&r->link);
	e->count[r->state]--;
	r->state = to;
	list_push_back(&e->in[to], &r->link);
	e->count[to]++;
}

void
request_expires(struct request *r, int64_t left_ms)
{
	r->expires_ms = clock_add(r->engine->now_ms, left_ms);
	request_count_down(r);
}

void
request_count_down(struct request *r)
{
	int64_t now_ms = r->engine->now_ms;

	r->deadline_ms = clock_add(now_ms, r->policy->deadline_ms);
	r->signature_bound = r->expires_ms < r->deadline_ms;
	if (!r->signature_bound)
		return;
	if (r->expires_ms > now_ms) {
		r->deadline_ms = r->expires_ms;
		return;
	}
	/* What is late already goes out once: the service may see it
	 * differently, and says so best itself. But it is not held. */
	r->max_retries = 0;
	r->max_wait_ms = 0;
}

int64_t
request_limit_ms(const struct request *r)
{
	int64_t drain_ms = r->engine->drain_ms;

	return drain_ms < r->deadline_ms ? drain_ms : r->deadline_ms;
}

int64_t
request_waited_ms(const struct request *r)
{
	int64_t sum = 0;

	for (int i = 0; i < WAIT_WHY_COUNT; i++)
		sum += r->waited_ms[i];
	return sum;
}

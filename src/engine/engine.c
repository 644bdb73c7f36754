/* SPDX-License-Identifier: MIT */
/*
 * engine decides in which order a turn's work is done: mail, timers, starts,
 * the dead. It refuses to know what a request does with its turn.
 */
#include "engine.h"

#include "dispatch.h"
#include "request.h"

#define TURN_TIMERS_MAX 1000 /* fired in one turn; more: the next turn */
#define TURN_STARTS_MAX 1000 /* a start may make another one ready: bounded */
#define LATE_LOOK_MS 10 /* how often, where there is no memory for a timer */

int
engine_shared_init(struct engine_shared *s, unsigned nengines,
    const struct hash_key *hash, unsigned max_parked, uint64_t max_body_memory)
{
	*s = (struct engine_shared){.nengines = nengines};
	atomic_init(&s->max_parked, max_parked);
	atomic_init(&s->max_body_memory, max_body_memory);
	atomic_init(&s->max_body_disk, UINT64_MAX);
	return keys_init(&s->keys, hash, nengines);
}

void
engine_shared_free(struct engine_shared *s)
{
	keys_free(&s->keys);
}

void
engine_init(struct engine *e, struct engine_shared *s, unsigned index,
    const struct ports *ports, void *ctx)
{
	*e = (struct engine){
	    .index = index,
	    .ports = ports,
	    .ctx = ctx,
	    .shared = s,
	    .drain_ms = TIMER_NEVER,
	};
	timers_init(&e->timers);
	for (int i = 0; i < REQUEST_STATE_COUNT; i++)
		list_init(&e->in[i]);
	pthread_mutex_init(&e->mail_lock, NULL);
	list_init(&e->mail);
	list_init(&e->ready);
	list_init(&e->late);
}

void
engine_free(struct engine *e)
{
	struct heap_node *n;
	struct list *it;

	while ((n = heap_min(&e->timers.heap))) {
		struct timer *t = AB_CONTAINER(n, struct timer, node);
		bool is_tick = t->fn == dispatch_tick;

		timer_stop(&e->timers, t);
		if (is_tick)
			key_put(AB_CONTAINER(t, struct key_tick, timer)->key);
	}
	while ((it = list_first(&e->late))) {
		list_del(it);
		key_put(AB_CONTAINER(it, struct key_tick, late)->key);
	}
	timers_clear(&e->timers);
	pthread_mutex_destroy(&e->mail_lock);
}

static void
engine_take_mail(struct engine *e)
{
	struct list *it;

	pthread_mutex_lock(&e->mail_lock);
	while ((it = list_first(&e->mail))) {
		list_del(it);
		list_push_back(&e->ready, it);
	}
	pthread_mutex_unlock(&e->mail_lock);
}

static void
engine_start_ready(struct engine *e)
{
	struct list *it;

	for (int i = 0; i < TURN_STARTS_MAX; i++) {
		struct request *r;

		it = list_first(&e->ready);
		if (!it)
			return;
		list_del(it);
		r = AB_CONTAINER(it, struct request, mail);
		if (r->refused) {
			r->grant = GRANT_NONE;
			flow_refused(r);
		} else {
			flow_admitted(r);
		}
	}
}

/* Looked at without a timer, since there was no memory for one. */
static void
engine_look_late(struct engine *e)
{
	struct list now, *it;

	list_init(&now);
	while ((it = list_first(&e->late))) {
		list_del(it);
		list_push_back(&now, it);
	}
	while ((it = list_first(&now))) {
		list_del(it);
		dispatch_tick(&AB_CONTAINER(it, struct key_tick, late)->timer,
		    e->now_ms);
	}
}

static void
engine_reap(struct engine *e)
{
	struct list *it;

	while ((it = list_first(&e->in[REQUEST_GONE])))
		e->ports->reap(AB_CONTAINER(it, struct request, link));
}

void
engine_turn(struct engine *e)
{
	if (!list_empty(&e->late))
		engine_look_late(e);
	engine_take_mail(e);
	timers_run(&e->timers, e->now_ms, TURN_TIMERS_MAX);
	engine_start_ready(e);
	engine_reap(e);
}

int64_t
engine_next_ms(const struct engine *e)
{
	int64_t next = timers_next_ms(&e->timers);

	if (!list_empty(&e->ready) || !list_empty(&e->in[REQUEST_GONE]))
		return e->now_ms;
	if (!list_empty(&e->late) && next > e->now_ms + LATE_LOOK_MS)
		next = e->now_ms + LATE_LOOK_MS;
	return next;
}

void
engine_drain(struct engine *e, int64_t until_ms)
{
	struct list *it, *next;

	e->drain_ms = until_ms;
	LIST_EACH_SAFE(it, next, &e->in[REQUEST_WAITING])
		flow_drain(AB_CONTAINER(it, struct request, link));
}

bool
engine_may_stop(struct engine *e)
{
	bool wanted = engine_busy(e) > 0 || !list_empty(&e->late);

	for (uint32_t i = 0; i < e->timers.heap.n && !wanted; i++) {
		struct timer *t =
		    AB_CONTAINER(e->timers.heap.v[i], struct timer, node);
		struct key *k;

		if (t->fn != dispatch_tick)
			continue;
		k = AB_CONTAINER(t, struct key_tick, timer)->key;
		pthread_mutex_lock(&k->lock);
		wanted = line_length(&k->line) > 0;
		if (!wanted)
			k->wake_ms = TIMER_NEVER; /* who comes now: not by us */
		pthread_mutex_unlock(&k->lock);
	}
	return !wanted;
}

void
engine_recheck(struct engine *e)
{
	struct list *it, *next;

	LIST_EACH_SAFE(it, next, &e->in[REQUEST_WAITING])
		dispatch_poke(AB_CONTAINER(it, struct request, link)->key, e);
}

unsigned
engine_busy(const struct engine *e)
{
	unsigned n = 0;

	for (int i = 0; i < REQUEST_STATE_COUNT; i++)
		n += e->count[i];
	return n;
}

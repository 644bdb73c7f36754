/* SPDX-License-Identifier: MIT */
/*
 * invariant decides what must hold whatever the scenario: nobody knocks early,
 * nobody is forgotten, nothing is left over.
 */
#include "world.h"

void
invariant_attempt(struct world *w, struct job *j)
{
	if (j->end != JOB_OPEN)
		world_fault(w, "#%u an attempt, and its client has %s", j->n,
		    j->end == JOB_LEFT ? "left" : "its answer");
	if (w->now_us < j->lane->hint_until_us)
		world_fault(w, "#%u an attempt %lld us before its hint", j->n,
		    (long long)(j->lane->hint_until_us - w->now_us));
	if (j->r.engine->now_ms > j->r.deadline_ms)
		world_fault(w, "#%u an attempt after its deadline", j->n);
}

/* When the earliest timer will look at the key's line. */
static int64_t
key_looked_at_ms(const struct world *w, const struct key *k)
{
	int64_t at_ms = TIMER_NEVER;

	for (unsigned i = 0; i < w->scene->engines; i++) {
		const struct key_tick *t = &k->ticks[i];

		if (w->stopped[i])
			continue;
		if (!list_empty(&t->late))
			return 0; /* no memory for a timer: again and again */
		if (t->timer.due_ms < at_ms)
			at_ms = t->timer.due_ms;
	}
	return at_ms;
}

/* Does somebody stand there who need not wait for a quota? */
static bool
has_hasty(const struct key *k)
{
	for (uint32_t i = 0; i < line_length(&k->line); i++)
		if (AB_CONTAINER(k->line.heap.v[i], struct request, entry.node)
			->hasty)
			return true;
	return false;
}

/* Could its line move now? If not, *ret_at_ms: when. */
static bool
key_could_go(const struct key *k, int64_t now_ms, int64_t *ret_at_ms)
{
	enum wait_why why;
	int64_t wait_ms;

	if (!service_ready(&k->service, now_ms, &why, ret_at_ms))
		return false;
	*ret_at_ms = TIMER_NEVER;
	if (k->cfg.concurrency && k->in_use >= k->cfg.concurrency)
		return false;
	wait_ms = bucket_wait_ms(&k->bucket, &k->cfg.bucket, now_ms);
	if (wait_ms == 0 && adapt_on(&k->cfg.adapt))
		wait_ms = adapt_wait_ms(&k->adapt, &k->cfg.adapt, now_ms);
	*ret_at_ms = clock_add(now_ms, wait_ms);
	if (wait_ms > 0 || has_hasty(k))
		return wait_ms == 0;
	*ret_at_ms = quota_at_ms(&k->quota, now_ms, 0, &why);
	return *ret_at_ms <= now_ms;
}

static void
key_now(struct world *w, const struct key *k)
{
	int64_t at_ms;

	if (line_length(&k->line) == 0)
		return;
	if (key_could_go(k, w->now_us / 1000, &at_ms) &&
	    key_looked_at_ms(w, k) > 0)
		world_fault(w, "%s could go on, and nobody lets it", k->label);
	else if (at_ms == TIMER_NEVER && k->in_use == 0)
		world_fault(w, "%s waits for nobody", k->label);
	else if (at_ms != TIMER_NEVER && key_looked_at_ms(w, k) > at_ms)
		world_fault(w, "nobody will wake %s", k->label);
}

static void
key_end(struct world *w, const struct key *k)
{
	if (atomic_load(&k->refs) || k->in_use || k->service.flying ||
	    k->quota.flying || k->adapt.flying || line_length(&k->line) ||
	    k->service.state == SERVICE_PROBE)
		world_fault(w,
		    "%s is left with %u references, %u slots, %u "
		    "tickets, %u in line, state %s",
		    k->label, atomic_load(&k->refs), k->in_use,
		    k->service.flying, line_length(&k->line),
		    service_state_name(k->service.state));
}

static void
each_key(struct world *w, void (*fn)(struct world *, const struct key *))
{
	for (int i = 0; i < w->scene->nservices; i++) {
		struct map *m = &w->groups[i]->map;
		struct map_node *n = NULL;
		size_t pos = 0;

		while ((n = map_walk(m, &pos, n)))
			fn(w, AB_CONTAINER(n, struct key, node));
	}
}

void
invariant_now(struct world *w)
{
	for (unsigned i = 0; i < w->scene->engines; i++) {
		const struct engine *e = &w->engines[i];

		if (e->count[REQUEST_WAITING] > 0 &&
		    engine_next_ms(e) == TIMER_NEVER)
			world_fault(w, "engine %u sleeps, and %u wait", i,
			    e->count[REQUEST_WAITING]);
	}
	each_key(w, key_now);
}

static void
engine_end(struct world *w, const struct engine *e)
{
	unsigned long long began = atomic_load(&e->stats.requests);
	unsigned long long ended = atomic_load(&e->stats.finished);

	if (engine_busy(e) > 0 || began != ended)
		world_fault(w,
		    "engine %u is left with %u requests (%llu began, "
		    "%llu ended)",
		    e->index, engine_busy(e), began, ended);
}

void
invariant_end(struct world *w)
{
	const struct engine_shared *s = &w->shared;

	for (unsigned i = 0; i < w->njobs; i++) {
		const struct job *j = w->jobs[i];

		if (j->end == JOB_OPEN)
			world_fault(w, "#%u never ended: %s", j->n,
			    request_state_name(j->r.state));
		else if (j->begun && !j->reaped)
			world_fault(w, "#%u was never reaped", j->n);
	}
	for (unsigned i = 0; i < w->scene->engines; i++)
		engine_end(w, &w->engines[i]);
	if (atomic_load(&s->parked) || atomic_load(&s->body_memory))
		world_fault(w, "%u parked and %llu bytes of bodies are left",
		    atomic_load(&s->parked),
		    (unsigned long long)atomic_load(&s->body_memory));
	for (int i = 0; i < w->scene->nservices; i++)
		if (w->groups[i] && w->groups[i]->copies.map.n > 0)
			world_fault(w, "copies are left, and nobody waits");
	if (w->open_spills > 0)
		world_fault(w, "%u spill files are left open", w->open_spills);
	each_key(w, key_end);
}

/* SPDX-License-Identifier: MIT */
/*
 * world decides what time it is. It runs everything that is due at a moment,
 * events first, then each engine that has something to do, until nothing is
 * left for that moment; then the clock jumps to the next one.
 */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define MOMENT_TURNS_MAX 200000 /* more at one moment: it spins */
#define FAULTS_SHOWN 20
#define END_US (INT64_C(400) * 86400 * 1000000)

static void
say_time(FILE *f, int64_t us)
{
	fprintf(f, "%lld.%03lld", (long long)(us / 1000000),
	    (long long)(us / 1000 % 1000));
	if (us % 1000)
		fprintf(f, "%03lld", (long long)(us % 1000));
	fprintf(f, "s");
}

void
world_fault(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->faults++ >= FAULTS_SHOWN)
		return;
	fprintf(stderr, "%s: at ", w->scene->file);
	say_time(stderr, w->now_us);
	if (w->how.failing)
		fprintf(stderr, ", with allocation %lu failing",
		    w->how.failing);
	fprintf(stderr, ": ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void
world_tell(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (!w->how.verbose)
		return;
	say_time(stdout, w->now_us);
	fputs("  ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static bool
event_before(const struct event *a, const struct event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->seq < b->seq;
}

static void
queue_up(struct event *q, unsigned i)
{
	struct event e = q[i];

	for (; i > 0 && event_before(&e, &q[(i - 1) / 2]); i = (i - 1) / 2)
		q[i] = q[(i - 1) / 2];
	q[i] = e;
}

static struct event
queue_pop(struct world *w)
{
	struct event *q = w->queue, top = q[0], last = q[--w->nqueue];
	unsigned i = 0, next;

	while ((next = 2 * i + 1) < w->nqueue) {
		if (next + 1 < w->nqueue &&
		    event_before(&q[next + 1], &q[next]))
			next++;
		if (event_before(&last, &q[next]))
			break;
		q[i] = q[next];
		i = next;
	}
	q[i] = last;
	return top;
}

void
world_at(struct world *w, int64_t at_us, void (*fn)(struct world *, void *),
    void *arg)
{
	/* Never shrinks, so a push after a pop may find its place there. */
	w->queue = scene_grow(w->queue, w->nqueue, sizeof(*w->queue));
	w->queue[w->nqueue] = (struct event){at_us, w->seq++, fn, arg};
	queue_up(w->queue, w->nqueue++);
}

void
world_after(struct world *w, int64_t us, void (*fn)(struct world *, void *),
    void *arg)
{
	if (w->scene->fine)
		us += (int64_t)(rng_next(&w->noise) % 1000);
	world_at(w, w->now_us + us, fn, arg);
}

void
world_enter(struct world *w, struct engine *e)
{
	e->now_ms = w->now_us / 1000;
	w->woken[e->index] = true;
}

static bool
engine_is_due(const struct world *w, unsigned i)
{
	int64_t next_ms = engine_next_ms(&w->engines[i]);

	if (w->stopped[i])
		return false;
	return w->woken[i] || next_ms <= w->now_us / 1000;
}

/* One round of what is due. False: nothing was. */
static bool
world_round(struct world *w)
{
	bool moved = false;

	while (w->nqueue > 0 && w->queue[0].at_us <= w->now_us) {
		struct event e = queue_pop(w);

		e.fn(w, e.arg);
		moved = true;
	}
	for (unsigned i = 0; i < w->scene->engines; i++) {
		if (!engine_is_due(w, i))
			continue;
		w->woken[i] = false;
		w->engines[i].now_ms = w->now_us / 1000;
		engine_turn(&w->engines[i]);
		moved = true;
	}
	return moved;
}

/* What was to be looked at now, after all that happens now. */
static void
world_look(struct world *w)
{
	for (unsigned i = 0; i < w->nlooks && !w->how.failing; i++)
		expect_check(w, w->looks[i]);
	w->nlooks = 0;
}

/* A worker that drains ends as soon as it may. */
static void
world_stop_idle(struct world *w)
{
	for (unsigned i = 0; w->draining && i < w->scene->engines; i++)
		if (!w->stopped[i] && engine_may_stop(&w->engines[i]))
			w->stopped[i] = true;
}

static int64_t
world_next_us(const struct world *w)
{
	int64_t next = w->nqueue > 0 ? w->queue[0].at_us : INT64_MAX;

	for (unsigned i = 0; i < w->scene->engines; i++) {
		int64_t ms = engine_next_ms(&w->engines[i]);

		if (w->stopped[i] || ms >= INT64_MAX / 1000)
			continue;
		if (ms * 1000 < next)
			next = ms * 1000;
	}
	return next;
}

static void
world_run(struct world *w)
{
	int64_t next_us;

	for (;;) {
		unsigned turns = 0;

		while (world_round(w))
			if (++turns > MOMENT_TURNS_MAX) {
				world_fault(w, "the engine spins");
				return;
			}
		world_look(w);
		world_stop_idle(w);
		invariant_now(w);
		next_us = world_next_us(w);
		if (next_us == INT64_MAX || next_us > END_US)
			return;
		if (next_us > w->now_us)
			w->now_us = next_us;
	}
}

struct settings *
world_settings(struct world *w, const struct settings *from)
{
	struct settings *s = malloc(sizeof(*s));

	if (!s)
		abort();
	settings_finish(s, from);
	w->versions = scene_grow(w->versions, w->nversions, sizeof(s));
	w->versions[w->nversions++] = s;
	return s;
}

static void
world_init(struct world *w, const struct scene *s)
{
	static const struct hash_key hash = {1, 2};

	if (s->engines < 1 || s->engines > ENGINES_MAX ||
	    engine_shared_init(&w->shared, s->engines, &hash, s->max_parked,
		s->max_body_memory) < 0)
		abort();
	for (unsigned i = 0; i < s->engines; i++) {
		engine_init(&w->engines[i], &w->shared, i, &sim_ports, w);
		w->engines[i].grain_ms = s->fine;
	}
	for (int i = 0; i < s->nservices; i++) {
		const struct service_def *d = &s->services[i];
		struct key_cfg cfg;

		w->settings[i] = world_settings(w, &d->settings);
		cfg = settings_key_cfg(w->settings[i]);
		w->groups[i] =
		    keys_group(&w->shared.keys, span_of(d->name), &cfg, 0);
		if (!w->groups[i])
			abort();
	}
	for (unsigned i = 0; i < s->nactions; i++)
		world_after(w, s->actions[i].at_us, action_run, &s->actions[i]);
}

static void
world_free(struct world *w)
{
	for (unsigned i = 0; i < w->scene->engines; i++)
		engine_free(&w->engines[i]);
	invariant_end(w);
	engine_shared_free(&w->shared);
	for (unsigned i = 0; i < w->njobs; i++) {
		free(w->jobs[i]->head);
		free(w->jobs[i]);
	}
	for (unsigned i = 0; i < w->ntries; i++)
		free(w->tries[i]);
	for (unsigned i = 0; i < w->nlanes; i++)
		free(w->lanes[i]);
	for (unsigned i = 0; i < w->nversions; i++)
		free(w->versions[i]);
	for (unsigned i = 0; i < w->nspills; i++)
		free(w->spills[i].p);
	free(w->spills);
	free(w->versions);
	free(w->lanes);
	free(w->queue);
	free(w->jobs);
	free(w->tries);
}

unsigned
world_play(const struct scene *s, const struct how *how,
    unsigned long *ret_allocs)
{
	struct world *w = calloc(1, sizeof(*w));
	unsigned long never = log_never_count();
	unsigned faults;

	if (!w)
		abort();
	w->scene = s;
	w->how = *how;
	rng_seed(&w->rng, s->seed);
	rng_seed(&w->noise, s->seed + 1);
	world_init(w, s);
	mem_fail_at(how->failing, how->all_after);
	world_run(w);
	*ret_allocs = mem_count();
	mem_fail_at(0, false);
	for (unsigned i = 0; i < s->nexpects && !how->failing; i++)
		if (!s->expects[i].is_look)
			expect_check(w, &s->expects[i]);
	world_free(w);
	if (log_never_count() != never)
		world_fault(w, "AB_NEVER came true");
	faults = w->faults;
	free(w);
	return faults;
}

/* SPDX-License-Identifier: MIT */
/*
 * ports decides nothing: it is the engine's way to the clients, upstreams and
 * the disk of the simulation.
 */
#include <stdlib.h>

#include "world.h"

static void
port_start(struct request *r, bool fresh)
{
	origin_start(job_of(r), fresh);
}

static void
port_discard(struct request *r)
{
	origin_discard(job_of(r));
}

static void
port_abort(struct request *r)
{
	origin_abort(job_of(r));
}

static void
port_relay(struct request *r)
{
	origin_relay(job_of(r));
}

static void
port_answer(struct request *r, const struct answer *a)
{
	struct job *j = job_of(r);

	if (j->try)
		world_fault(j->world, "#%u own answer during an attempt", j->n);
	world_tell(j->world, "#%u own answer %d, %s", j->n, a->status,
	    give_up_name(a->why));
	j->retry_after_ms = a->retry_after_ms;
	job_end(j, JOB_OWN, a->status);
	request_answered(r);
}

static void
port_cut(struct request *r)
{
	struct job *j = job_of(r);

	origin_abort(j);
	job_end(j, JOB_CUT, 0);
}

static void
port_want_body(struct request *r)
{
	job_feed_more(job_of(r));
}

static void
port_parked(struct request *r)
{
	struct job *j = job_of(r);

	world_tell(j->world, "#%u waits", j->n);
	if (j->fin && !r->policy->allow_half_close)
		job_leave(j);
}

static void
port_reap(struct request *r)
{
	struct job *j = job_of(r);

	if (j->reaped)
		world_fault(j->world, "#%u reaped twice", j->n);
	if (j->end == JOB_OPEN)
		world_fault(j->world, "#%u reaped without an end", j->n);
	if (j->try)
		world_fault(j->world, "#%u reaped during an attempt", j->n);
	world_tell(j->world, "#%u over: %d, %s", j->n, j->status,
	    give_up_name(r->gave_up));
	j->reaped = true;
	request_clear(r);
}

/* The script of the simulation says what the answer tells it to. */
static int
port_custom(struct request *r, const struct custom_ctx *c,
    struct custom_wait *ret)
{
	struct span says = head_find(c->head, SPAN("x-script"));
	uint64_t ms;

	world_tell(job_of(r)->world,
	    "#%u script: attempt %u, waited %lld, left %lld, hint %lld, "
	    "back-off %lld",
	    job_of(r)->n, c->attempt, (long long)c->waited_ms,
	    (long long)c->deadline_ms, (long long)c->hint_ms,
	    (long long)c->backoff_ms);
	if (span_eq(says, SPAN("fails")))
		return -1;
	if (span_eq(says, SPAN("gives-up")))
		*ret = (struct custom_wait){.kind = CUSTOM_GIVE_UP};
	else if (span_eq(says, SPAN("body")) &&
	    span_u64(c->body->bytes, &ms) == 0)
		*ret = (struct custom_wait){CUSTOM_WAIT, (int64_t)ms};
	else if (span_eq(says, SPAN("left")))
		*ret = (struct custom_wait){CUSTOM_WAIT, c->deadline_ms};
	else if (span_eq(says, SPAN("twice")))
		*ret = (struct custom_wait){CUSTOM_WAIT, 2 * c->backoff_ms};
	else if (span_u64(says, &ms) == 0)
		*ret = (struct custom_wait){CUSTOM_WAIT, (int64_t)ms};
	return 0;
}

static double
port_random(struct engine *e)
{
	struct world *w = world_of(e);

	return w->scene->random < 0 ? rng_unit(&w->rng) : w->scene->random;
}

static int64_t
port_wall_ms(struct engine *e)
{
	const struct world *w = world_of(e);

	return w->scene->wall_ms + (w->now_us + w->wall_us) / 1000;
}

static void
port_wake(struct engine *e)
{
	world_of(e)->woken[e->index] = true;
}

static int
port_spill_open(struct engine *e)
{
	struct world *w = world_of(e);

	w->spills = scene_grow(w->spills, w->nspills, sizeof(*w->spills));
	w->spills[w->nspills] = (struct spill){NULL, 0};
	w->open_spills++;
	return (int)w->nspills++;
}

static int
port_spill_write(struct engine *e, int fd, const void *p, size_t n, uint64_t at)
{
	struct world *w = world_of(e);
	struct spill *s = &w->spills[fd];
	char *q;

	if (w->disk_used + n > w->scene->disk_bytes)
		return -1;
	if (at != s->n)
		world_fault(w, "a spill is written at %llu, not at its end",
		    (unsigned long long)at);
	q = realloc(s->p, s->n + n);
	if (!q)
		abort();
	memcpy(q + s->n, p, n);
	s->p = q;
	s->n += n;
	w->disk_used += n;
	return 0;
}

static int
port_spill_read(struct engine *e, int fd, void *p, size_t n, uint64_t at)
{
	struct world *w = world_of(e);
	const struct spill *s = &w->spills[fd];

	if (w->disk_unreadable || at > s->n || n > s->n - at)
		return -1;
	memcpy(p, s->p + at, n);
	return 0;
}

static void
port_spill_close(struct engine *e, int fd)
{
	struct world *w = world_of(e);

	w->disk_used -= w->spills[fd].n;
	free(w->spills[fd].p);
	w->spills[fd] = (struct spill){NULL, 0};
	w->open_spills--;
}

const struct ports sim_ports = {
    .start = port_start,
    .discard = port_discard,
    .abort = port_abort,
    .relay = port_relay,
    .answer = port_answer,
    .cut = port_cut,
    .want_body = port_want_body,
    .parked = port_parked,
    .reap = port_reap,
    .custom = port_custom,
    .random = port_random,
    .wall_ms = port_wall_ms,
    .wake = port_wake,
    .spill_open = port_spill_open,
    .spill_write = port_spill_write,
    .spill_read = port_spill_read,
    .spill_close = port_spill_close,
};

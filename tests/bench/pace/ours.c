/* SPDX-License-Identifier: MIT */
/*
 * ours.c: N clients, each with an abided of its own that paces by adaptive =
 * aimd: the real engine and policy, with an upstream and a clock made up.
 */
#include <stdio.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/request.h"
#include "pace.h"

#define FOREVER_MS (2 * PACE_END_MS)

struct client {
	struct engine_shared shared;
	struct engine engine;
	struct keygroup *group;
	struct rng rng;
};

struct job {
	struct request r;
	struct heap_node node; /* its answer */
	int64_t refused_ms;    /* 0: it is served; else its true wait */
};

struct run {
	const struct pace_cell *cell;
	bool hints;
	struct meter meter;
	struct client *clients;
	unsigned ready; /* clients that were made */
	struct heap answers;
	uint64_t tie;
	unsigned wanted; /* requests issued so far */
	unsigned reaped;
	int64_t now_ms;
	struct pace_result *res;
	bool failed;
};

static struct policy policy = {
    .verdict = {.retry_on = {1, {429}}, .max_retries = 100000},
    .backoff = {STRATEGY_AUTO, 1000, 10000, 1500},
    .service = {.half_open_ms = SERVICE_HALF_OPEN_MS, .has_rate = true},
    .adapt = {ADAPTIVE_AIMD, 1.0 / 60000},
    .queue = PACE_REQUESTS,
    .queue_timeout_ms = FOREVER_MS,
    .deadline_ms = FOREVER_MS,
    .max_wait_ms = FOREVER_MS,
    .connect_timeout_ms = FOREVER_MS,
    .response_timeout_ms = FOREVER_MS,
    .idle_timeout_ms = FOREVER_MS,
};

static struct run *
run_of(struct request *r)
{
	return r->engine->ctx;
}

static struct job *
job_of(struct request *r)
{
	return AB_CONTAINER(r, struct job, r);
}

/* ---- ports ---- */

static void
port_start(struct request *r, bool fresh)
{
	struct run *run = run_of(r);
	struct job *j = job_of(r);

	(void)fresh;
	j->refused_ms = meter_ask(&run->meter, run->now_ms);
	j->node.key = run->now_ms + PACE_RTT_MS;
	j->node.tie = run->tie++;
	if (heap_add(&run->answers, &j->node) < 0)
		run->failed = true;
	if (request_connected(r, true))
		request_sent(r);
}

static void
port_drop(struct request *r)
{
	heap_del(&run_of(r)->answers, &job_of(r)->node);
}

static void
port_relay(struct request *r)
{
	struct run *run = run_of(r);

	if (r->last_status == 200)
		run->res->served++;
	run->res->end_ms = run->now_ms;
	request_relayed(r);
}

static void
port_answer(struct request *r, const struct answer *a)
{
	(void)a;
	run_of(r)->failed = true;
	request_answered(r);
}

static void
port_nothing(struct request *r)
{
	(void)r;
}

static void
port_reap(struct request *r)
{
	run_of(r)->reaped++;
	request_clear(r);
	mem_free(job_of(r));
}

static double
port_random(struct engine *e)
{
	struct run *run = e->ctx;
	struct client *c = AB_CONTAINER(e, struct client, engine);

	(void)run;
	return rng_unit(&c->rng);
}

static int64_t
port_wall_ms(struct engine *e)
{
	return e->now_ms;
}

static void
port_wake(struct engine *e)
{
	(void)e; /* each is looked at all the time */
}

static const struct ports ports = {
    .start = port_start,
    .discard = port_drop,
    .abort = port_drop,
    .relay = port_relay,
    .answer = port_answer,
    .cut = port_drop,
    .want_body = port_nothing,
    .parked = port_nothing,
    .reap = port_reap,
    .random = port_random,
    .wall_ms = port_wall_ms,
    .wake = port_wake,
};

/* ---- what happens ---- */

static void
answer(struct run *run, struct job *j)
{
	static const struct head_limits limits = {4096, 4096, 16};
	struct body_view body = {.whole = false};
	struct head_scan scan = {0};
	static struct head h;
	const char *why;
	char text[128];
	int n;

	if (j->refused_ms > 0)
		run->res->refused++;
	if (j->refused_ms > 0 && run->hints)
		n = snprintf(text, sizeof(text),
		    "HTTP/1.1 429 No\r\nRetry-After: %lld\r\n\r\n",
		    (long long)(j->refused_ms + 999) / 1000);
	else
		n = snprintf(text, sizeof(text), "HTTP/1.1 %d X\r\n\r\n",
		    j->refused_ms > 0 ? 429 : 200);
	if (head_response(text, (size_t)n, &scan, &limits, &h, &why) != HEAD_OK)
		run->failed = true;
	else
		request_got_head(&j->r, &h, &body, true);
}

static void
issue(struct run *run, unsigned i)
{
	struct client *c = &run->clients[demand_of(run->cell, i)];
	struct job *j = mem_zalloc(sizeof(*j));
	struct key *k = key_get(c->group, 1, 0, SPAN("api"));

	if (!j || !k) {
		run->failed = true;
		mem_free(j);
		return;
	}
	heap_node_init(&j->node);
	request_init(&j->r, &c->engine, k, &policy, 1, 3);
	j->r.repeatable = true;
	request_begin(&j->r);
}

static int64_t
next_ms(const struct run *run)
{
	struct heap_node *first = heap_min(&run->answers);
	int64_t next = first ? first->key : PACE_END_MS;

	for (unsigned i = 0; i < run->ready; i++) {
		int64_t ms = engine_next_ms(&run->clients[i].engine);

		if (ms < next)
			next = ms;
	}
	if (run->wanted < run->cell->requests &&
	    demand_at_ms(run->cell, run->wanted) < next)
		next = demand_at_ms(run->cell, run->wanted);
	return next > run->now_ms ? next : run->now_ms;
}

static void
moment(struct run *run)
{
	struct heap_node *node;

	for (unsigned i = 0; i < run->ready; i++)
		run->clients[i].engine.now_ms = run->now_ms;
	while ((node = heap_min(&run->answers)) && node->key <= run->now_ms) {
		heap_del(&run->answers, node);
		answer(run, AB_CONTAINER(node, struct job, node));
	}
	while (run->wanted < run->cell->requests &&
	    demand_at_ms(run->cell, run->wanted) <= run->now_ms)
		issue(run, run->wanted++);
	for (unsigned i = 0; i < run->ready; i++)
		if (engine_next_ms(&run->clients[i].engine) <= run->now_ms)
			engine_turn(&run->clients[i].engine);
}

static int
client_init(struct run *run, struct client *c, unsigned i)
{
	static const struct hash_key hash = {1, 2};
	const struct key_cfg cfg = {
	    .service = policy.service,
	    .adapt = policy.adapt,
	    .queue = policy.queue,
	    .max_keys = 1,
	};

	rng_seed(&c->rng, run->cell->seed + i);
	if (engine_shared_init(&c->shared, 1, &hash, PACE_REQUESTS, 0) < 0)
		return -1;
	engine_init(&c->engine, &c->shared, 0, &ports, run);
	c->group = keys_group(&c->shared.keys, SPAN("api"), &cfg, 0);
	run->ready = i + 1;
	return c->group ? 0 : -1;
}

static void
run_free(struct run *run)
{
	for (unsigned i = 0; i < run->ready; i++) {
		engine_free(&run->clients[i].engine);
		engine_shared_free(&run->clients[i].shared);
	}
	mem_free(run->clients);
	heap_clear(&run->answers);
	meter_free(&run->meter);
}

int
ours_run(const struct pace_cell *cell, bool hints, struct pace_result *ret)
{
	struct run run = {.cell = cell, .hints = hints, .res = ret};

	*ret = (struct pace_result){.served = 0};
	policy.hint = hint_default;
	heap_init(&run.answers);
	run.clients = mem_zalloc(cell->clients * sizeof(*run.clients));
	run.failed = !run.clients || meter_init(&run.meter, cell->limit) < 0;
	for (unsigned i = 0; !run.failed && i < cell->clients; i++)
		run.failed = client_init(&run, &run.clients[i], i) < 0;
	while (!run.failed && run.reaped < cell->requests &&
	    run.now_ms < PACE_END_MS) {
		run.now_ms = next_ms(&run);
		moment(&run);
	}
	if (!run.failed && run.reaped == cell->requests)
		run_free(&run);
	return run.failed ? -1 : 0;
}

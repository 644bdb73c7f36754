/* SPDX-License-Identifier: MIT */
/*
 * Three engines on three threads share two keys: what tests/sim plays on one
 * thread, here for the thread sanitizer's eyes. Time is a counter that every
 * look moves on, so nobody sleeps and nothing depends on the machine's speed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>

#include "base/mem.h"
#include "base/rng.h"
#include "engine/dispatch.h"
#include "engine/request.h"

#define WORKERS 3
#define REQUESTS 400 /* of each worker */
#define LOOKS 8      /* at the clock in one ms */
#define TURNS_MAX 4000000

struct job {
	struct request r;
	struct list
	    todo; /* in worker->todo: its upstream has something to say */
	struct list live;
};

struct worker {
	struct engine engine;
	struct rng rng;
	struct list todo, live;
	unsigned index, issued, reaped;
	bool stuck;
};

static struct engine_shared shared;
static struct worker workers[WORKERS];
static struct keygroup *group;
static struct head refusal, success, taught[4];
static bool teach;
static atomic_ullong looks;
static atomic_uint reaped;
static struct policy policy = {
    .verdict = {.retry_on = {1, {429}}, .max_retries = 50},
    .backoff = {.base_ms = 1, .max_ms = 5, .jitter_ms = 2},
    .bucket = {1, {{2, 1, 4}}},
    .concurrency = 5,
    .queue = 1000,
    .queue_timeout_ms = 100000,
    .deadline_ms = 100000,
    .max_wait_ms = 100000,
    .connect_timeout_ms = 100000,
    .response_timeout_ms = 100000,
    .idle_timeout_ms = 100000,
};

static struct job *
job_of(struct request *r)
{
	return AB_CONTAINER(r, struct job, r);
}

static struct worker *
worker_of(struct request *r)
{
	return r->engine->ctx;
}

static void
port_start(struct request *r, bool fresh)
{
	(void)fresh;
	list_push_back(&worker_of(r)->todo, &job_of(r)->todo);
}

static void
port_drop(struct request *r)
{
	list_del(&job_of(r)->todo);
}

static void
port_relay(struct request *r)
{
	request_relayed(r);
}

static void
port_answer(struct request *r, const struct answer *a)
{
	(void)a;
	request_answered(r);
}

static void
port_parked(struct request *r)
{
	(void)r;
}

static void
port_reap(struct request *r)
{
	struct worker *w = worker_of(r);
	struct job *j = job_of(r);

	w->reaped++;
	atomic_fetch_add(&reaped, 1);
	list_del(&j->todo);
	list_del(&j->live);
	request_clear(r);
	mem_free(j);
}

static double
port_random(struct engine *e)
{
	struct worker *w = e->ctx;

	return rng_unit(&w->rng);
}

static int64_t
port_wall_ms(struct engine *e)
{
	return e->now_ms;
}

static void
port_wake(struct engine *e)
{
	(void)e; /* nobody sleeps */
}

static const struct ports ports = {
    .start = port_start,
    .discard = port_drop,
    .abort = port_drop,
    .relay = port_relay,
    .answer = port_answer,
    .cut = port_drop,
    .want_body = port_parked,
    .parked = port_parked,
    .reap = port_reap,
    .random = port_random,
    .wall_ms = port_wall_ms,
    .wake = port_wake,
};

static void
read_head(struct head *h, const char *text)
{
	static const struct head_limits limits = {4096, 4096, 16};
	struct head_scan scan = {0};
	const char *why;

	assert_int_equal(head_response(text, strlen(text), &scan, &limits, h,
			     &why),
	    HEAD_OK);
}

static void
worker_issue(struct worker *w)
{
	struct job *j = mem_zalloc(sizeof(*j));
	struct key *k = key_get(group, w->issued % 2, 0, SPAN("k"));

	if (!j || !k)
		return; /* the test fails by its count */
	request_init(&j->r, &w->engine, k, &policy, rng_next(&w->rng) % 7,
	    (uint8_t)(rng_next(&w->rng) % 8));
	list_init(&j->todo);
	list_push_back(&w->live, &j->live);
	j->r.repeatable = true;
	if (teach) {
		j->r.base = k->node.hash;
		j->r.route = 1 + rng_next(&w->rng) % 3;
		request_printed(&j->r, 1 + rng_next(&w->rng) % 3);
	}
	w->issued++;
	request_begin(&j->r);
}

/* The upstream goes a step on. */
static void
job_step(struct worker *w, struct job *j)
{
	struct request *r = &j->r;
	struct attempt lost = {.end = ATTEMPT_CONNECT_FAILED};
	unsigned dice = (unsigned)(rng_next(&w->rng) % 10);

	if (r->state == REQUEST_CONNECTING) {
		if (dice == 0) {
			request_failed(r, &lost);
		} else if (request_connected(r, false)) {
			request_sent(r);
			list_push_back(&w->todo, &j->todo);
		}
		return;
	}
	request_got_head(r,
	    teach          ? &taught[rng_next(&w->rng) % 4]
		: dice < 3 ? &refusal
			   : &success,
	    &(struct body_view){.whole = false}, false);
}

/* Now and then a client leaves, wherever its request is. */
static void
worker_lose_one(struct worker *w)
{
	struct list *it = list_first(&w->live);

	for (uint64_t n = rng_next(&w->rng) % 5; it && n > 0; n--)
		it = it->next == &w->live ? NULL : it->next;
	if (it)
		request_gone(&AB_CONTAINER(it, struct job, live)->r);
}

static void
worker_turn(struct worker *w)
{
	struct list now, *it;

	w->engine.now_ms = (int64_t)(atomic_fetch_add(&looks, 1) / LOOKS);
	if (w->issued < REQUESTS && rng_next(&w->rng) % 2)
		worker_issue(w);
	list_init(&now);
	while ((it = list_first(&w->todo))) {
		list_del(it);
		list_push_back(&now, it);
	}
	while ((it = list_first(&now))) {
		list_del(it);
		job_step(w, AB_CONTAINER(it, struct job, todo));
	}
	if (rng_next(&w->rng) % 20 == 0)
		worker_lose_one(w);
	engine_turn(&w->engine);
}

static void *
worker_main(void *arg)
{
	struct worker *w = arg;

	for (unsigned i = 0; atomic_load(&reaped) < WORKERS * REQUESTS; i++) {
		worker_turn(w);
		if (i % 64 == 0)
			sched_yield();
		w->stuck = i > TURNS_MAX;
		if (w->stuck)
			break;
	}
	return NULL;
}

static void
key_is_at_rest(struct key *k)
{
	assert_int_equal(atomic_load(&k->refs), 0);
	assert_int_equal(k->in_use, 0);
	assert_int_equal(k->service.flying, 0);
	assert_int_equal(k->quota.flying, 0);
	assert_int_equal(k->adapt.flying, 0);
	assert_int_equal(k->adapt.learned, adapt_on(&k->cfg.adapt));
	assert_int_equal(line_length(&k->line), 0);
}

/* Three threads and two keys, until every request is over. */
static void
run_engines(void)
{
	static const struct hash_key hash = {5, 6};
	struct key_cfg cfg = {
	    .service = {.failure_cutoff = 0,
		.half_open_ms = 100,
		.has_rate = true},
	    .bucket = policy.bucket,
	    .budget = policy.budget,
	    .quota = policy.quota,
	    .adapt = policy.adapt,
	    .concurrency = policy.concurrency,
	    .queue = policy.queue,
	    .max_keys = 10,
	};
	pthread_t threads[WORKERS];
	struct map_node *n = NULL;
	size_t pos = 0;

	atomic_store(&reaped, 0);
	atomic_store(&looks, 0);
	assert_int_equal(engine_shared_init(&shared, WORKERS, &hash, 1000000,
			     1 << 20),
	    0);
	group = keys_group(&shared.keys, SPAN("api"), &cfg, 0);
	assert_non_null(group);
	for (unsigned i = 0; i < WORKERS; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){.index = i};
		rng_seed(&w->rng, i);
		list_init(&w->todo);
		list_init(&w->live);
		engine_init(&w->engine, &shared, i, &ports, w);
		w->engine.grain_ms = 1;
	}
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, worker_main,
				     &workers[i]),
		    0);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_false(workers[i].stuck);
		assert_int_equal(workers[i].reaped, REQUESTS);
		assert_int_equal(engine_busy(&workers[i].engine), 0);
		engine_free(&workers[i].engine);
	}
	assert_int_equal(atomic_load(&shared.parked), 0);
	while ((n = map_walk(&group->map, &pos, n)))
		key_is_at_rest(AB_CONTAINER(n, struct key, node));
	assert_int_equal(group->copies.map.n, 0);
	engine_shared_free(&shared);
}

static void
engines_on_threads_end_every_request_once(void **state)
{
	(void)state;
	policy.hint = hint_default;
	read_head(&refusal, "HTTP/1.1 429 No\r\nretry-after-ms: 4\r\n\r\n");
	read_head(&success, "HTTP/1.1 200 OK\r\n\r\n");
	run_engines();
}

/* The same with all that answers may teach: quotas, pauses, buckets, scopes. */
static void
engines_that_are_taught_end_every_request_once(void **state)
{
	(void)state;
	teach = true;
	policy.hint = hint_default;
	policy.quota = (struct quota_cfg){.percent = 50, .pauses = true};
	policy.budget = (struct budget_cfg){.on = true, .percent = 200};
	policy.lesson =
	    (struct lesson_cfg){.bucket = SPAN("x-b"), .scope = SPAN("x-s")};
	read_head(&taught[0],
	    "HTTP/1.1 200 OK\r\nX-B: one\r\nX-RateLimit-Remaining: 2\r\n"
	    "X-RateLimit-Limit: 10\r\nX-RateLimit-Reset-After: 0.02\r\n\r\n");
	read_head(&taught[1], "HTTP/1.1 200 OK\r\nX-B: two\r\n\r\n");
	read_head(&taught[2],
	    "HTTP/1.1 429 No\r\nX-S: global\r\nretry-after-ms: 4\r\n\r\n");
	read_head(&taught[3],
	    "HTTP/1.1 200 OK\r\nX-RateLimit-Remaining: 0\r\n"
	    "X-RateLimit-Reset-After: 0.01\r\n\r\n");
	run_engines();
}

/* The pace is the key's, and all engines learn it. */
static void
engines_that_adapt_end_every_request_once(void **state)
{
	(void)state;
	teach = false;
	policy.quota = (struct quota_cfg){.percent = 0};
	policy.budget = (struct budget_cfg){.on = false};
	policy.lesson = (struct lesson_cfg){.bucket = SPAN("")};
	policy.adapt = (struct adapt_cfg){ADAPTIVE_AIMD, 0.5};
	run_engines();
	policy.adapt = (struct adapt_cfg){ADAPTIVE_OFF, 0};
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(engines_on_threads_end_every_request_once),
	    cmocka_unit_test(engines_that_are_taught_end_every_request_once),
	    cmocka_unit_test(engines_that_adapt_end_every_request_once),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}

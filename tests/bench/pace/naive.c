/* SPDX-License-Identifier: MIT */
/*
 * naive.c: ways to come back in which each request is for itself: at once,
 * after an exponential back-off with full jitter as SDKs do it (1 s, at most
 * 20 s), or at the next edge of the window, which such a client has to know.
 * Each tries until it is served.
 */
#include "base/heap.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rng.h"
#include "pace.h"
#include "policy/backoff.h"

struct ask {
	struct heap_node node; /* key: when it asks next, ms */
	unsigned tries;
};

static int64_t
back_at_ms(enum pace_way way, struct rng *rng, unsigned n, int64_t now_ms)
{
	static const struct backoff_cfg sdk = {STRATEGY_EXPONENTIAL, 1000,
	    20000, 0};

	switch (way) {
	case PACE_BACKOFF:
		return now_ms + backoff_own_ms(&sdk, n, rng_unit(rng));
	case PACE_EDGE:
		return now_ms - now_ms % PACE_WINDOW_MS + PACE_WINDOW_MS;
	default:
		return now_ms;
	}
}

static void
play(const struct pace_cell *c, enum pace_way way, struct heap *h,
    struct meter *q, struct pace_result *res)
{
	struct heap_node *node;
	uint64_t tie = c->requests;
	struct rng rng;

	rng_seed(&rng, c->seed);
	while ((node = heap_min(h)) && node->key < PACE_END_MS) {
		struct ask *a = AB_CONTAINER(node, struct ask, node);
		int64_t got_ms = node->key + PACE_RTT_MS;

		if (meter_ask(q, node->key) == 0) {
			res->served++;
			res->end_ms = got_ms;
			heap_del(h, node);
			continue;
		}
		res->refused++;
		node->key = back_at_ms(way, &rng, ++a->tries, got_ms);
		node->tie = tie++;
		heap_fix(h, node);
	}
}

int
naive_run(const struct pace_cell *c, enum pace_way way, struct pace_result *ret)
{
	struct ask *v = mem_zalloc(c->requests * sizeof(*v));
	struct meter q = {.served_ms = NULL};
	struct heap h;
	int rc = -1;

	heap_init(&h);
	*ret = (struct pace_result){.served = 0};
	if (!v || meter_init(&q, c->limit) < 0 ||
	    heap_reserve(&h, c->requests) < 0)
		goto out;
	for (unsigned i = 0; i < c->requests; i++) {
		heap_node_init(&v[i].node);
		v[i].node.key = demand_at_ms(c, i);
		v[i].node.tie = i;
		if (heap_add(&h, &v[i].node) < 0)
			goto out;
	}
	play(c, way, &h, &q, ret);
	rc = 0;
out:
	heap_clear(&h);
	meter_free(&q);
	mem_free(v);
	return rc;
}

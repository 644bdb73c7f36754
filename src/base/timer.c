/* SPDX-License-Identifier: MIT */
/*
 * timer.c: lazy deadlines over one heap.
 *
 * Decides when the heap is touched and who fires in which call. It reads no
 * clock and knows nothing of what a deadline guards.
 *
 * A node's key is when the heap looks at it, never later than due_ms:
 *
 *	arm later     due_ms moves, key stays; looked at in vain, then moved
 *	arm earlier   both move
 *	run           key <= now and due_ms <= now: out of the heap, then fn
 *
 * Ties are a count of armings. While a run is under way, what is armed for
 * now or earlier gets key = now and a tie past all ties from before the run,
 * so it sorts behind all that was due already, and the first such tie seen
 * means that the run is done.
 */
#include "base/timer.h"

#include <assert.h>

#include "base/list.h"

#define NOT_RUNNING INT64_MIN

static struct timer *
timer_of(struct heap_node *node)
{
	return AB_CONTAINER(node, struct timer, node);
}

void
timers_init(struct timers *ts)
{
	*ts = (struct timers){.run_ms = NOT_RUNNING};
	heap_init(&ts->heap);
}

void
timers_clear(struct timers *ts)
{
	for (uint32_t i = 0; i < ts->heap.n; i++)
		timer_of(ts->heap.v[i])->due_ms = TIMER_NEVER;
	heap_clear(&ts->heap);
}

int
timers_reserve(struct timers *ts, uint32_t n)
{
	return heap_reserve(&ts->heap, n);
}

void
timer_init(struct timer *t, void (*fn)(struct timer *t, int64_t now_ms))
{
	*t = (struct timer){.due_ms = TIMER_NEVER, .fn = fn};
	heap_node_init(&t->node);
}

int
timer_arm(struct timers *ts, struct timer *t, int64_t due_ms)
{
	int64_t look_ms = due_ms > ts->run_ms ? due_ms : ts->run_ms;

	if (due_ms == TIMER_NEVER) {
		timer_stop(ts, t);
		return 0;
	}
	if (!heap_has(&t->node)) {
		t->node.key = look_ms;
		t->node.tie = ts->seq;
		if (heap_add(&ts->heap, &t->node) != 0)
			return -1;
		ts->seq++;
	} else if (look_ms < t->node.key) {
		t->node.key = look_ms;
		t->node.tie = ts->seq++;
		heap_fix(&ts->heap, &t->node);
	}
	t->due_ms = due_ms;
	return 0;
}

void
timer_stop(struct timers *ts, struct timer *t)
{
	heap_del(&ts->heap, &t->node);
	t->due_ms = TIMER_NEVER;
}

unsigned
timers_run(struct timers *ts, int64_t now_ms, unsigned most)
{
	uint64_t armed_in_run = ts->seq;
	unsigned fired = 0;
	struct heap_node *node;

	assert(ts->run_ms == NOT_RUNNING);
	ts->run_ms = now_ms;
	while (fired < most && (node = heap_min(&ts->heap)) != NULL) {
		struct timer *t = timer_of(node);

		if (node->key > now_ms || node->tie >= armed_in_run)
			break;
		if (t->due_ms > node->key) {
			node->key = t->due_ms;
			heap_fix(&ts->heap, node);
			continue;
		}
		timer_stop(ts, t);
		fired++;
		t->fn(t, now_ms);
	}
	ts->run_ms = NOT_RUNNING;
	return fired;
}

int64_t
timers_next_ms(const struct timers *ts)
{
	const struct heap_node *node = heap_min(&ts->heap);

	return node ? node->key : TIMER_NEVER;
}

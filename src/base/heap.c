/* SPDX-License-Identifier: MIT */
/*
 * heap.c: the sifting behind heap.h.
 *
 * Decides nothing but order: (key, tie), smallest first. What a key means is
 * the caller's. Every move goes through put(), so that a node's `at` is never
 * stale. A gap travels instead of swapping pairs: half the stores.
 *
 *              v[0]
 *            /      \
 *         v[1]      v[2]      parent of i: (i - 1) / 2
 *        /    \     /         children of i: 2i + 1, 2i + 2
 *      v[3]  v[4] v[5]
 */
#include "base/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define HEAP_FIRST_CAP 16u
/* Child indices of any node must fit, and HEAP_NOWHERE must be none. */
#define HEAP_MAX_CAP (UINT32_MAX / 2)

static bool
before(const struct heap_node *a, const struct heap_node *b)
{
	return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void
put(struct heap *h, uint32_t at, struct heap_node *node)
{
	h->v[at] = node;
	node->at = at;
}

/* The gap at `at` rises until `node` may stand in it. */
static void
sift_up(struct heap *h, uint32_t at, struct heap_node *node)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;

		if (!before(node, h->v[parent]))
			break;
		put(h, at, h->v[parent]);
		at = parent;
	}
	put(h, at, node);
}

static void
sift_down(struct heap *h, uint32_t at, struct heap_node *node)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n && before(h->v[child + 1], h->v[child]))
			child++;
		if (!before(h->v[child], node))
			break;
		put(h, at, h->v[child]);
		at = child;
	}
	put(h, at, node);
}

static void
settle(struct heap *h, uint32_t at, struct heap_node *node)
{
	if (at > 0 && before(node, h->v[(at - 1) / 2]))
		sift_up(h, at, node);
	else
		sift_down(h, at, node);
}

void
heap_init(struct heap *h)
{
	*h = (struct heap){.v = NULL};
}

void
heap_clear(struct heap *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		h->v[i]->at = HEAP_NOWHERE;
	mem_free(h->v);
	heap_init(h);
}

static int
compare(const void *a, const void *b)
{
	const struct heap_node *const *x = a, *const *y = b;

	return before(*x, *y) ? -1 : before(*y, *x);
}

void
heap_sort(struct heap *h)
{
	if (h->n > 1)
		qsort(h->v, h->n, sizeof(struct heap_node *), compare);
	for (uint32_t i = 0; i < h->n; i++)
		h->v[i]->at = i;
}

int
heap_reserve(struct heap *h, uint32_t n)
{
	uint32_t cap = h->cap ? h->cap : HEAP_FIRST_CAP;
	struct heap_node **v;

	if (n <= h->cap)
		return 0;
	if (n > HEAP_MAX_CAP)
		return -1;
	while (cap < n)
		cap = cap > HEAP_MAX_CAP / 2 ? HEAP_MAX_CAP : cap * 2;
	v = mem_realloc(h->v, (size_t)cap * sizeof(struct heap_node *));
	if (v == NULL)
		return -1;
	h->v = v;
	h->cap = cap;
	return 0;
}

int
heap_add(struct heap *h, struct heap_node *node)
{
	assert(!heap_has(node));
	if (h->n == h->cap && heap_reserve(h, h->n + 1) != 0)
		return -1;
	h->n++;
	sift_up(h, h->n - 1, node);
	return 0;
}

void
heap_del(struct heap *h, struct heap_node *node)
{
	uint32_t at = node->at;
	struct heap_node *last;

	if (!heap_has(node))
		return;
	assert(at < h->n && h->v[at] == node);
	last = h->v[--h->n];
	if (last != node)
		settle(h, at, last);
	node->at = HEAP_NOWHERE;
}

void
heap_fix(struct heap *h, struct heap_node *node)
{
	assert(node->at < h->n && h->v[node->at] == node);
	settle(h, node->at, node);
}

/* SPDX-License-Identifier: MIT */
/*
 * heap: an intrusive binary heap ordered by (key, tie), smallest first.
 *
 * Nodes live inside what they order and know their place, so that any of them
 * can be taken out in O(log n). The heap owns only its array of pointers.
 */
#ifndef AB_HEAP_H
#define AB_HEAP_H

#include <stdint.h>

#include "base/span.h"

#define HEAP_NOWHERE UINT32_MAX

struct heap_node {
	int64_t key;
	uint64_t tie;
	uint32_t at; /* index in the heap, HEAP_NOWHERE when in none */
};

struct heap {
	struct heap_node **v; /* owns the array, shares the nodes */
	uint32_t n, cap;
};

static inline void
heap_node_init(struct heap_node *node)
{
	*node = (struct heap_node){.at = HEAP_NOWHERE};
}

static inline bool
heap_has(const struct heap_node *node)
{
	return node->at != HEAP_NOWHERE;
}

/* The smallest, or NULL. */
static inline struct heap_node *
heap_min(const struct heap *h)
{
	return h->n ? h->v[0] : NULL;
}

void heap_init(struct heap *h);
void heap_clear(struct heap *h); /* frees the array; nodes become HEAP_NOWHERE */
/* 0, or -1 when out of memory (the node is then in no heap). */
AB_MUST int heap_add(struct heap *h, struct heap_node *node);
void heap_del(struct heap *h, struct heap_node *node); /* fine when in none */
/* After node->key or node->tie changed: restores the order. */
void heap_fix(struct heap *h, struct heap_node *node);
/* The array itself in order, which is a heap as well. */
void heap_sort(struct heap *h);
/* Room for `n` nodes in all, so that the next adds up to it can't fail. */
AB_MUST int heap_reserve(struct heap *h, uint32_t n);

#endif

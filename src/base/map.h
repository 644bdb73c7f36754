/* SPDX-License-Identifier: MIT */
/*
 * map: an intrusive chained hash map. The caller brings the 64-bit hash (see
 * hash.h) and compares; the map owns only its array of buckets and grows it
 * by doubling. Growing that fails for want of memory is put off, not an error.
 */
#ifndef AB_MAP_H
#define AB_MAP_H

#include "base/span.h"

struct map_node {
	struct map_node *next; /* borrows */
	uint64_t hash;
};

struct map {
	struct map_node **v; /* owns the array, shares the nodes */
	size_t cap;          /* a power of two */
	size_t n;
};

AB_MUST int map_init(struct map *m); /* 0, or -1 out of memory */
void map_clear(struct map *m);       /* frees the array, not the nodes */
void map_add(struct map *m, struct map_node *node, uint64_t hash);
void map_del(struct map *m, struct map_node *node);
/* The first node with this hash, then the next one; NULL at the end. */
struct map_node *map_find(const struct map *m, uint64_t hash);
struct map_node *map_find_next(const struct map_node *node);
/*
 * Walks all nodes: start with *pos = 0 and node = NULL. The node returned last
 * may not be deleted before the next call.
 */
struct map_node *map_walk(const struct map *m, size_t *pos, struct map_node *node);

#endif

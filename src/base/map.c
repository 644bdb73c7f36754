/* SPDX-License-Identifier: MIT */
/*
 * map.c: buckets, chains and growth behind map.h.
 *
 * Decides when to double. It never compares what callers store: equal hashes
 * share a chain and map_find_next tells them apart by hash alone. Chains stay
 * right at any load, so growth that can't get its memory only costs speed.
 */
#include "base/map.h"

#include <assert.h>

#include "base/mem.h"

#define MAP_FIRST_CAP 16

static size_t
bucket_of(const struct map *m, uint64_t hash)
{
	return (size_t)hash & (m->cap - 1);
}

static struct map_node *
same_hash(struct map_node *node, uint64_t hash)
{
	while (node != NULL && node->hash != hash)
		node = node->next;
	return node;
}

int
map_init(struct map *m)
{
	struct map_node **v =
	    mem_zalloc(MAP_FIRST_CAP * sizeof(struct map_node *));

	if (v == NULL)
		return -1;
	*m = (struct map){.v = v, .cap = MAP_FIRST_CAP};
	return 0;
}

void
map_clear(struct map *m)
{
	mem_free(m->v);
	*m = (struct map){.v = NULL};
}

static void
push(struct map *m, struct map_node *node)
{
	struct map_node **head = &m->v[bucket_of(m, node->hash)];

	node->next = *head;
	*head = node;
}

static void
grow(struct map *m)
{
	struct map old = *m;
	struct map_node **v;

	if (old.cap > SIZE_MAX / 2 / sizeof(struct map_node *))
		return;
	v = mem_zalloc(old.cap * 2 * sizeof(struct map_node *));
	if (v == NULL)
		return;
	m->v = v;
	m->cap = old.cap * 2;
	for (size_t i = 0; i < old.cap; i++) {
		struct map_node *node = old.v[i];

		while (node != NULL) {
			struct map_node *next = node->next;

			push(m, node);
			node = next;
		}
	}
	mem_free(old.v);
}

void
map_add(struct map *m, struct map_node *node, uint64_t hash)
{
	assert(m->cap > 0);
	if (m->n >= m->cap)
		grow(m);
	node->hash = hash;
	push(m, node);
	m->n++;
}

void
map_del(struct map *m, struct map_node *node)
{
	struct map_node **link = &m->v[bucket_of(m, node->hash)];

	while (*link != NULL && *link != node)
		link = &(*link)->next;
	assert(*link == node);
	if (*link == NULL)
		return;
	*link = node->next;
	node->next = NULL;
	m->n--;
}

struct map_node *
map_find(const struct map *m, uint64_t hash)
{
	return m->n ? same_hash(m->v[bucket_of(m, hash)], hash) : NULL;
}

struct map_node *
map_find_next(const struct map_node *node)
{
	return same_hash(node->next, node->hash);
}

/* *pos: the first bucket not begun yet. */
struct map_node *
map_walk(const struct map *m, size_t *pos, struct map_node *node)
{
	if (node != NULL && node->next != NULL)
		return node->next;
	while (*pos < m->cap) {
		struct map_node *head = m->v[(*pos)++];

		if (head != NULL)
			return head;
	}
	return NULL;
}

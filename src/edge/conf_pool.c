/* SPDX-License-Identifier: MIT */
/*
 * conf_pool.c: memory with one end.
 *
 * Decides how a pool remembers what it gave out: each piece is an allocation
 * of its own behind a link, so that a sanitizer sees the edges of every one.
 * Speed is no concern here: a configuration is read a few times a day.
 */
#include "edge/conf_pool.h"

#include "base/mem.h"

struct conf_block {
	struct conf_block *next; /* owns */
	max_align_t data[];
};

void *
conf_pool_zalloc(struct conf_pool *pool, size_t bytes)
{
	struct conf_block *b = mem_zalloc(sizeof(*b) + bytes);

	if (b == NULL) {
		pool->failed = true;
		return NULL;
	}
	b->next = pool->blocks;
	pool->blocks = b;
	return b->data;
}

char *
conf_pool_dup(struct conf_pool *pool, struct span s)
{
	char *p = conf_pool_zalloc(pool, s.n + 1);

	if (p != NULL && s.n > 0)
		memcpy(p, s.p, s.n);
	return p;
}

void *
conf_pool_grow(struct conf_pool *pool, void *v, size_t n, size_t size)
{
	/* Full at 0 and at each power of two, where the capacity doubles. */
	if (n > 0 && (n & (n - 1)) != 0)
		return v;

	void *larger = conf_pool_zalloc(pool, (n ? 2 * n : 1) * size);
	if (larger != NULL && n > 0)
		memcpy(larger, v, n * size);
	return larger;
}

void
conf_pool_free(struct conf_pool *pool)
{
	while (pool->blocks != NULL) {
		struct conf_block *b = pool->blocks;

		pool->blocks = b->next;
		mem_free(b);
	}
	pool->failed = false;
}

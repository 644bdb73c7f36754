/* SPDX-License-Identifier: MIT */
/*
 * copies decides whether a request waits already. It refuses to know what makes
 * two of them the same: edge does, in the print.
 */
#include "copies.h"

int
copies_init(struct copies *c)
{
	if (map_init(&c->map) < 0)
		return -1;
	pthread_mutex_init(&c->lock, NULL);
	atomic_init(&c->n, 0);
	return 0;
}

void
copies_free(struct copies *c)
{
	map_clear(&c->map);
	pthread_mutex_destroy(&c->lock);
}

void
copies_add(struct copies *c, struct map_node *request, uint64_t print)
{
	pthread_mutex_lock(&c->lock);
	map_add(&c->map, request, print);
	atomic_fetch_add(&c->n, 1);
	pthread_mutex_unlock(&c->lock);
}

void
copies_del(struct copies *c, struct map_node *request)
{
	pthread_mutex_lock(&c->lock);
	map_del(&c->map, request);
	atomic_fetch_sub(&c->n, 1);
	pthread_mutex_unlock(&c->lock);
}

unsigned
copies_waiting(struct copies *c, uint64_t print)
{
	unsigned n = 0;

	if (atomic_load_explicit(&c->n, memory_order_relaxed) == 0)
		return 0;
	pthread_mutex_lock(&c->lock);
	for (struct map_node *m = map_find(&c->map, print); m;
	     m = map_find_next(m))
		n++;
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* SPDX-License-Identifier: MIT */
/*
 * copies decides whether a request waits already. It refuses to know what makes
 * two of them the same: edge does, in the print.
 */
#include "copies.h"

#include "base/list.h"
#include "base/mem.h"

/* What those who wait for the same share. */
struct copies_print {
	struct map_node node; /* by the print */
	unsigned waiting;     /* > 0 */
};

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

static struct copies_print *
print_find(const struct copies *c, uint64_t print)
{
	struct map_node *n = map_find(&c->map, print);

	return n ? AB_CONTAINER(n, struct copies_print, node) : NULL;
}

static struct copies_print *
print_new(struct copies *c, uint64_t print)
{
	struct copies_print *p = mem_zalloc(sizeof(*p));

	if (p)
		map_add(&c->map, &p->node, print);
	return p;
}

struct copies_print *
copies_add(struct copies *c, uint64_t print)
{
	struct copies_print *p;

	pthread_mutex_lock(&c->lock);
	p = print_find(c, print);
	if (!p)
		p = print_new(c, print);
	if (p) {
		p->waiting++;
		atomic_fetch_add(&c->n, 1);
	}
	pthread_mutex_unlock(&c->lock);
	return p;
}

void
copies_del(struct copies *c, struct copies_print *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&c->lock);
	atomic_fetch_sub(&c->n, 1);
	if (--p->waiting == 0) {
		map_del(&c->map, &p->node);
		mem_free(p);
	}
	pthread_mutex_unlock(&c->lock);
}

unsigned
copies_waiting(struct copies *c, uint64_t print)
{
	struct copies_print *p;
	unsigned n;

	if (atomic_load_explicit(&c->n, memory_order_relaxed) == 0)
		return 0;
	pthread_mutex_lock(&c->lock);
	p = print_find(c, print);
	n = p ? p->waiting : 0;
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* SPDX-License-Identifier: MIT */
/*
 * resolve_cache.c: which answers are kept.
 *
 * Decides what is dropped: what is over when somebody asks for it, and the
 * least recently used where a new answer needs the room. It knows no TTLs,
 * only the time until which an answer holds.
 */
#include "edge/resolve_cache.h"

#include "base/mem.h"
#include "edge/resolve_addrs.h"

struct cached {
	struct map_node node;
	struct list by_use;
	struct resolve_addrs *addrs; /* a reference */
	int64_t until_ms;
	size_t name_n;
	char name[];
};

int
resolve_cache_init(struct resolve_cache *c)
{
	c->max = 0;
	list_init(&c->by_use);
	return map_init(&c->names);
}

static void
drop(struct resolve_cache *c, struct cached *e)
{
	map_del(&c->names, &e->node);
	list_del(&e->by_use);
	resolve_addrs_put(e->addrs);
	mem_free(e);
}

static struct cached *
of_list(struct list *l)
{
	return AB_CONTAINER(l, struct cached, by_use);
}

void
resolve_cache_reset(struct resolve_cache *c, unsigned max)
{
	struct list *l;

	while ((l = list_last(&c->by_use)) != NULL)
		drop(c, of_list(l));
	c->max = max;
}

void
resolve_cache_free(struct resolve_cache *c)
{
	resolve_cache_reset(c, 0);
	map_clear(&c->names);
}

static struct cached *
find(const struct resolve_cache *c, struct span name, uint64_t hash)
{
	struct map_node *node = map_find(&c->names, hash);

	for (; node != NULL; node = map_find_next(node)) {
		struct cached *e = AB_CONTAINER(node, struct cached, node);

		if (span_eq((struct span){e->name, e->name_n}, name))
			return e;
	}
	return NULL;
}

struct resolve_addrs *
resolve_cache_find(struct resolve_cache *c, struct span name, uint64_t hash,
    int64_t now_ms)
{
	struct cached *e = find(c, name, hash);

	if (e == NULL)
		return NULL;
	if (now_ms >= e->until_ms) {
		drop(c, e);
		return NULL;
	}
	list_del(&e->by_use);
	list_push_front(&c->by_use, &e->by_use);
	return resolve_addrs_ref(e->addrs);
}

void
resolve_cache_put(struct resolve_cache *c, struct span name, uint64_t hash,
    struct resolve_addrs *addrs, int64_t until_ms)
{
	struct cached *e = find(c, name, hash);

	if (e != NULL)
		drop(c, e);
	if (c->max == 0)
		return;
	e = mem_alloc(sizeof(*e) + name.n);
	if (e == NULL)
		return;
	if (c->names.n >= c->max)
		drop(c, of_list(list_last(&c->by_use)));
	e->addrs = resolve_addrs_ref(addrs);
	e->until_ms = until_ms;
	e->name_n = name.n;
	memcpy(e->name, name.p, name.n);
	map_add(&c->names, &e->node, hash);
	list_push_front(&c->by_use, &e->by_use);
}

/* SPDX-License-Identifier: MIT */
/*
 * pool decides which idle connection serves next and which one must go. It
 * refuses to know how long one may idle: its owner's timer says.
 */
#include "pool.h"

#include <string.h>

#include "base/mem.h"
#include "upstream.h"

struct pool_host {
	struct map_node node;
	struct list idle; /* newest first */
	unsigned n;
};

int
pool_init(struct pool *p)
{
	list_init(&p->idle);
	p->n = 0;
	return map_init(&p->hosts);
}

void
pool_clear_idle(struct pool *p)
{
	struct list *it;

	while ((it = list_first(&p->idle)))
		upstream_close(AB_CONTAINER(it, struct upstream, in_pool));
}

void
pool_clear(struct pool *p)
{
	pool_clear_idle(p);
	map_clear(&p->hosts);
}

static struct pool_host *
pool_find(const struct pool *p, uint64_t place)
{
	struct map_node *n = map_find(&p->hosts, place);

	return n ? AB_CONTAINER(n, struct pool_host, node) : NULL;
}

struct upstream *
pool_take(struct pool *p, const struct exchange *x)
{
	struct pool_host *ph = pool_find(p, x->place);
	struct list *it;

	if (!ph)
		return NULL;
	for (it = ph->idle.next; it != &ph->idle; it = it->next) {
		struct upstream *u = AB_CONTAINER(it, struct upstream, in_host);

		if (u->port == x->port && u->tls == x->tls &&
		    u->service == x->service && strcmp(u->host, x->host) == 0) {
			pool_drop(p, u);
			return u;
		}
	}
	return NULL;
}

int
pool_put(struct pool *p, struct upstream *u)
{
	struct pool_host *ph = pool_find(p, u->place);

	if (!ph) {
		ph = mem_zalloc(sizeof(*ph));
		if (!ph)
			return -1;
		list_init(&ph->idle);
		map_add(&p->hosts, &ph->node, u->place);
	}
	if (ph->n >= POOL_HOST_MAX)
		upstream_close(AB_CONTAINER(list_last(&ph->idle),
		    struct upstream, in_host));
	if (p->n >= POOL_IDLE_MAX)
		upstream_close(AB_CONTAINER(list_first(&p->idle),
		    struct upstream, in_pool));
	/* Closing the oldest may have taken the host's record with it. */
	if (pool_find(p, u->place) != ph)
		return pool_put(p, u);
	u->pool_host = ph;
	list_push_front(&ph->idle, &u->in_host);
	list_push_back(&p->idle, &u->in_pool);
	ph->n++;
	p->n++;
	return 0;
}

void
pool_drop(struct pool *p, struct upstream *u)
{
	struct pool_host *ph = u->pool_host;

	if (!ph)
		return;
	u->pool_host = NULL;
	list_del(&u->in_host);
	list_del(&u->in_pool);
	ph->n--;
	p->n--;
	if (ph->n == 0) {
		map_del(&p->hosts, &ph->node);
		mem_free(ph);
	}
}

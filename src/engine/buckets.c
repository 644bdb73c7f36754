/* SPDX-License-Identifier: MIT */
/*
 * buckets decides how long it is remembered what counts in which bucket. It
 * refuses to know what a bucket is good for (dispatch_move, intake).
 */
#include "buckets.h"

#include "base/mem.h"

struct bucket_route {
	struct map_node node; /* by the route */
	struct list lru;
	uint64_t bucket;
};

int
buckets_init(struct buckets *b)
{
	if (map_init(&b->routes) < 0)
		return -1;
	list_init(&b->lru);
	pthread_mutex_init(&b->lock, NULL);
	return 0;
}

static void
route_forget(struct buckets *b, struct bucket_route *r)
{
	map_del(&b->routes, &r->node);
	list_del(&r->lru);
	mem_free(r);
}

static struct bucket_route *
route_oldest(struct buckets *b)
{
	struct list *it = list_first(&b->lru);

	return it ? AB_CONTAINER(it, struct bucket_route, lru) : NULL;
}

void
buckets_free(struct buckets *b)
{
	struct bucket_route *r;

	while ((r = route_oldest(b)))
		route_forget(b, r);
	map_clear(&b->routes);
	pthread_mutex_destroy(&b->lock);
}

static struct bucket_route *
route_find(struct buckets *b, uint64_t route)
{
	struct map_node *n = map_find(&b->routes, route);
	struct bucket_route *r;

	if (!n)
		return NULL;
	r = AB_CONTAINER(n, struct bucket_route, node);
	list_del(&r->lru);
	list_push_back(&b->lru, &r->lru);
	return r;
}

uint64_t
buckets_find(struct buckets *b, uint64_t route)
{
	struct bucket_route *r;
	uint64_t bucket;

	pthread_mutex_lock(&b->lock);
	r = route_find(b, route);
	bucket = r ? r->bucket : 0;
	pthread_mutex_unlock(&b->lock);
	return bucket;
}

static struct bucket_route *
route_new(struct buckets *b, uint64_t route, uint32_t most)
{
	struct bucket_route *r;

	while (b->routes.n >= most && (r = route_oldest(b)))
		route_forget(b, r);
	r = mem_zalloc(sizeof(*r));
	if (!r)
		return NULL;
	map_add(&b->routes, &r->node, route);
	list_push_back(&b->lru, &r->lru);
	return r;
}

void
buckets_learn(struct buckets *b, uint64_t route, uint64_t bucket, uint32_t most)
{
	struct bucket_route *r;

	pthread_mutex_lock(&b->lock);
	r = route_find(b, route);
	if (r && bucket == 0) {
		route_forget(b, r);
	} else if (bucket != 0) {
		if (!r)
			r = route_new(b, route, most);
		if (r)
			r->bucket = bucket;
	}
	pthread_mutex_unlock(&b->lock);
}

void
buckets_raise(struct buckets *b, uint64_t route, uint64_t bucket, uint32_t most)
{
	struct bucket_route *r;

	pthread_mutex_lock(&b->lock);
	r = route_find(b, route);
	if (!r)
		r = route_new(b, route, most);
	if (r && r->bucket < bucket)
		r->bucket = bucket;
	pthread_mutex_unlock(&b->lock);
}

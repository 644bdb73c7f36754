/* SPDX-License-Identifier: MIT */
/*
 * buckets: which routes of a service count together, as its answers have named
 * it. A route is a hash of base key, method and path template; a bucket is the
 * hash of a base key and the name that the service gave. Bounded: the route
 * asked for longest ago goes first, and is learned anew with its next answer.
 *
 * Any thread; a lock of its own, taken last.
 */
#ifndef AB_BUCKETS_H
#define AB_BUCKETS_H

#include <pthread.h>

#include "base/list.h"
#include "base/map.h"

struct buckets {
	pthread_mutex_t lock;
	struct map routes;  /* owns its nodes */
	struct list lru;    /* of them, oldest first */
};

AB_MUST int buckets_init(struct buckets *b); /* 0, or -1 out of memory */
void buckets_free(struct buckets *b);
/* The bucket of a route; 0: it is not known. */
uint64_t buckets_find(struct buckets *b, uint64_t route);
/* An answer says so; bucket 0: that it has none. Without memory nothing is
 * learned. At most `most` routes are kept. */
void buckets_learn(struct buckets *b, uint64_t route, uint64_t bucket,
    uint32_t most);
/* The same for what is a time: the later one counts. */
void buckets_raise(struct buckets *b, uint64_t route, uint64_t bucket,
    uint32_t most);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * copies: the requests of a service that wait, by what they ask for and who
 * asks. A client that retries by itself sends its request again while the first
 * one waits here: that is seen, and told. Nothing of a request is kept but a
 * keyed hash, and that as long as it waits. As large as what waits, and so
 * bounded by max_parked.
 *
 * Any thread; a lock of its own, taken last.
 */
#ifndef AB_COPIES_H
#define AB_COPIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"

struct copies {
	pthread_mutex_t lock;
	struct map map;      /* shares its nodes with the requests */
	atomic_uint n;       /* so many; looked at without the lock */
};

AB_MUST int copies_init(struct copies *c); /* 0, or -1 out of memory */
void copies_free(struct copies *c);
/* A request with this print waits from now on; until copies_del. */
void copies_add(struct copies *c, struct map_node *request, uint64_t print);
void copies_del(struct copies *c, struct map_node *request);
/* How many of this print wait. Cheap where nobody does. */
unsigned copies_waiting(struct copies *c, uint64_t print);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * copies: the requests of a service that wait, by what they ask for and who
 * asks. A client that retries by itself sends its request again while the first
 * one waits here: that is seen, and told. Nothing of a request is kept but a
 * keyed hash, and that as long as it waits. As large as what waits, and so
 * bounded by max_parked. However many wait, none of this takes longer: who asks
 * for the same all the time is who it is for.
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
	struct map map;      /* owns its nodes, one for each print */
	atomic_uint n;       /* so many; looked at without the lock */
};

AB_MUST int copies_init(struct copies *c); /* 0, or -1 out of memory */
void copies_free(struct copies *c);
/* A request with this print waits from now on, until copies_del. NULL: it is not
 * counted, for want of memory. */
struct copies_print *copies_add(struct copies *c, uint64_t print);
/* What copies_add has returned; takes NULL. */
void copies_del(struct copies *c, struct copies_print *p);
/* How many of this print wait. Cheap where nobody does. */
unsigned copies_waiting(struct copies *c, uint64_t print);

#endif

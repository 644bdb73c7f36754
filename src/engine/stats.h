/* SPDX-License-Identifier: MIT */
/*
 * stats: counters of one engine. Written by its thread, read by any with
 * relaxed loads; they only grow.
 */
#ifndef AB_STATS_H
#define AB_STATS_H

#include <stdatomic.h>

#define STATS_LIST(X)                                              \
	X(stacked)       /* came while a copy waited */            \
	X(requests)      /* taken up */                            \
	X(finished)      /* over, whatever the end */              \
	X(attempts)      /* begun upstream */                      \
	X(throttled)     /* attempts that were refused */          \
	X(permanent)     /* refused for good: by a rule */         \
	X(looks)         /* answers whose body was looked at first */ \
	X(absorbed)      /* refused at least once, then a success */ \
	X(leaked)        /* a refusal reached the client */        \
	X(parks)         /* times that a request began to wait */  \
	X(client_gone)   /* left before its answer */              \
	X(own_answers)                                             \
	X(reconnects)    /* rule 14 */                             \
	X(discarded)     /* answers thrown away for a retry */     \
	X(script_errors) /* strategy = custom: fell back to auto */

struct stats {
#define X(name) atomic_ullong name;
	STATS_LIST(X)
#undef X
};

/* Only the owner writes: no read-modify-write on the bus is needed. */
#define STATS_ADD(field, by)                                               \
	atomic_store_explicit(&(field),                                    \
	    atomic_load_explicit(&(field), memory_order_relaxed) + (by),   \
	    memory_order_relaxed)

#endif

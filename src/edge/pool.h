/* SPDX-License-Identifier: MIT */
/*
 * pool: idle upstream connections of one worker, by where they lead. The one
 * used last is taken first; the oldest goes when there are too many.
 */
#ifndef AB_POOL_H
#define AB_POOL_H

#include "base/list.h"
#include "base/map.h"

#define POOL_IDLE_MAX 4096 /* per worker; given up when descriptors run short */
/* Per worker and host:port: fewer than run at a time would be dialled again and
 * again. */
#define POOL_HOST_MAX 1024

struct exchange;
struct upstream;

struct pool {
	struct map hosts;  /* struct pool_host; owns them */
	struct list idle;  /* struct upstream, oldest first */
	unsigned n;
};

AB_MUST int pool_init(struct pool *p);
void pool_clear(struct pool *p);      /* closes all, for good */
void pool_clear_idle(struct pool *p); /* closes all: descriptors are short */
/*
 * An idle connection to where x goes, in the way it goes, no longer in the
 * pool; or NULL. Only one of x's own service will do: what it trusts, whom it
 * claims to be and which proxy it passes are the service's.
 */
struct upstream *pool_take(struct pool *p, const struct exchange *x);
/* 0: it is in the pool. -1: out of memory; the caller closes it. */
AB_MUST int pool_put(struct pool *p, struct upstream *u);
/* It died or was taken; fine when not in. */
void pool_drop(struct pool *p, struct upstream *u);

#endif

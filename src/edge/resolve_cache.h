/* SPDX-License-Identifier: MIT */
/*
 * resolve_cache: answers by name, each until its time is over, at most `max`
 * of them; the one not asked for the longest makes room. Internal to the
 * resolver.
 */
#ifndef AB_RESOLVE_CACHE_H
#define AB_RESOLVE_CACHE_H

#include "base/map.h"
#include "resolve.h"

struct resolve_cache {
	struct map names;   /* owns its entries */
	struct list by_use; /* the same; last used in front */
	unsigned max;
};

AB_MUST int resolve_cache_init(struct resolve_cache *c); /* 0, or -1 no memory */
void resolve_cache_free(struct resolve_cache *c);
void resolve_cache_reset(struct resolve_cache *c, unsigned max); /* empties */

/* A reference, or NULL. hash: of the name, the same for equal names. */
struct resolve_addrs *resolve_cache_find(struct resolve_cache *c,
    struct span name, uint64_t hash, int64_t now_ms);
/* Valid before until_ms. Takes a reference of its own. Replaces what it has of
 * that name; without memory nothing is kept. */
void resolve_cache_put(struct resolve_cache *c, struct span name, uint64_t hash,
    struct resolve_addrs *addrs, int64_t until_ms);

#endif

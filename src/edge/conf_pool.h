/* SPDX-License-Identifier: MIT */
/*
 * conf_pool: memory that is taken bit by bit and given back all at once. A
 * configuration owns one, and so does each reading of its files.
 *
 * A failed allocation is remembered in `failed`, so that who builds something
 * of many parts asks once, at the end; each part still copes with a NULL.
 */
#ifndef AB_CONF_POOL_H
#define AB_CONF_POOL_H

#include "base/span.h"

struct conf_block;

struct conf_pool {
	struct conf_block *blocks; /* owns */
	bool failed;
};

void *conf_pool_zalloc(struct conf_pool *pool, size_t bytes); /* or NULL */
char *conf_pool_dup(struct conf_pool *pool, struct span s);   /* or NULL */
/*
 * An array with room for one more than the n elements of `size` bytes in v:
 * v itself, or a larger copy (v stays valid as well). NULL out of memory.
 * For arrays that never grew in any other way; v may be NULL when n is 0.
 */
void *conf_pool_grow(struct conf_pool *pool, void *v, size_t n, size_t size);
void conf_pool_free(struct conf_pool *pool); /* takes a zeroed one */

#endif

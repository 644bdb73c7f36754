/* SPDX-License-Identifier: MIT */
/*
 * template: what a method and a path have in common with others of their kind:
 * /users/17/posts and /users/4711/posts are one route, and count in one bucket
 * where the service says so.
 */
#ifndef AB_TEMPLATE_H
#define AB_TEMPLATE_H

#include "base/hash.h"

/*
 * Does a segment look like the name of one thing and not of a kind of things?
 * Digits only; 8 and more hex digits, dashes between them or not, with a digit
 * among them; 16 and more of base64url's signs, with a digit among them; anything
 * with a % in it.
 */
bool template_is_id(struct span segment);
/* The hash of a route: the query does not count, never 0. */
uint64_t template_hash(const struct hash_key *key, struct span method,
    struct span path);

#endif

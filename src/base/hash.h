/* SPDX-License-Identifier: MIT */
/*
 * hash: SipHash-2-4 with a 128-bit key, so that what a peer chooses (hosts,
 * keys, addresses) can't be chosen to collide.
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
 */
#ifndef AB_HASH_H
#define AB_HASH_H

#include "base/span.h"

struct hash_key {
	uint64_t k0, k1;
};

uint64_t hash_bytes(const struct hash_key *k, const void *p, size_t n);
/* ASCII letters hash without case. */
uint64_t hash_span_nocase(const struct hash_key *k, struct span s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * rng: a small seeded generator for jitter and back-off; not for secrets.
 * Source: Blackman and Vigna, xoshiro256++ 1.0, seeded by splitmix64.
 */
#ifndef AB_RNG_H
#define AB_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
double rng_unit(struct rng *r); /* uniform in [0, 1) */

#endif

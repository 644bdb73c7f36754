/* SPDX-License-Identifier: MIT */
/*
 * rng.c: xoshiro256++, seeded by splitmix64. Decides nothing; where the seed
 * comes from is the caller's, and the same seed gives the same run again.
 */
#include "base/rng.h"

static uint64_t
rotl(uint64_t x, unsigned by)
{
	return (x << by) | (x >> (64 - by));
}

static uint64_t
splitmix_next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* splitmix64 never gives four zeros in a row, the one state that is stuck. */
void
rng_seed(struct rng *r, uint64_t seed)
{
	for (unsigned i = 0; i < 4; i++)
		r->s[i] = splitmix_next(&seed);
}

uint64_t
rng_next(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t out = rotl(s[0] + s[3], 23) + s[0];
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotl(s[3], 45);
	return out;
}

/* The top 53 bits: every value is exact in a double, and 1.0 can't come. */
double
rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

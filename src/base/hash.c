/* SPDX-License-Identifier: MIT */
/*
 * hash.c: SipHash-2-4, 64 bits out.
 *
 * Decides nothing; the key comes from the caller. The form without case folds
 * eight bytes at a time while they are loaded, so it needs no copy and equals
 * hash_bytes() of the lower-cased text.
 */
#include "base/hash.h"

#include <endian.h>

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t
rotl(uint64_t x, unsigned by)
{
	return (x << by) | (x >> (64 - by));
}

static void
sip_rounds(struct sip *s, unsigned n)
{
	while (n-- > 0) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = rotl(s->v1, 13) ^ s->v0;
		s->v3 = rotl(s->v3, 16) ^ s->v2;
		s->v0 = rotl(s->v0, 32);
		s->v2 += s->v1;
		s->v0 += s->v3;
		s->v1 = rotl(s->v1, 17) ^ s->v2;
		s->v3 = rotl(s->v3, 21) ^ s->v0;
		s->v2 = rotl(s->v2, 32);
	}
}

static void
sip_word(struct sip *s, uint64_t w)
{
	s->v3 ^= w;
	sip_rounds(s, 2);
	s->v0 ^= w;
}

/*
 * Bit 7 of each byte of `upper` says "A to Z": adding carries a byte's low
 * seven bits over 0x80 from the given letter on, and bytes >= 0x80 are let be.
 * That bit moved to 0x20 is what makes the letter small.
 */
static uint64_t
fold(uint64_t w)
{
	uint64_t low = w & EACH_BYTE(0x7f);
	uint64_t from_a = low + EACH_BYTE(0x80 - 'A');
	uint64_t past_z = low + EACH_BYTE(0x7f - 'Z');
	uint64_t upper = (from_a ^ past_z) & ~w & EACH_BYTE(0x80);

	return w | (upper >> 2);
}

static uint64_t
load(const unsigned char *p, size_t n, bool nocase)
{
	uint64_t w = 0;

	if (n > 0)
		memcpy(&w, p, n);
	w = le64toh(w);
	return nocase ? fold(w) : w;
}

static uint64_t
siphash(const struct hash_key *k, const void *data, size_t n, bool nocase)
{
	const unsigned char *p = data;
	struct sip s = {
	    .v0 = k->k0 ^ UINT64_C(0x736f6d6570736575),
	    .v1 = k->k1 ^ UINT64_C(0x646f72616e646f6d),
	    .v2 = k->k0 ^ UINT64_C(0x6c7967656e657261),
	    .v3 = k->k1 ^ UINT64_C(0x7465646279746573),
	};
	size_t left = n;

	for (; left >= 8; left -= 8, p += 8)
		sip_word(&s, load(p, 8, nocase));
	sip_word(&s, load(p, left, nocase) | (uint64_t)n << 56);
	s.v2 ^= 0xff;
	sip_rounds(&s, 4);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t
hash_bytes(const struct hash_key *k, const void *p, size_t n)
{
	return siphash(k, p, n, false);
}

uint64_t
hash_span_nocase(const struct hash_key *k, struct span s)
{
	return siphash(k, s.p, s.n, true);
}

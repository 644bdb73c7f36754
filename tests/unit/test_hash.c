/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"

/* The key 00 01 .. 0f of the paper, as two little-endian words. */
static const struct hash_key paper_key = {
    .k0 = UINT64_C(0x0706050403020100),
    .k1 = UINT64_C(0x0f0e0d0c0b0a0908),
};

/*
 * Input 00 01 .. n-1: the paper's appendix A is n = 15; the others are made by
 * another implementation and cover every way to end a word.
 */
static void
hash_bytes_when_given_the_papers_input_gives_its_output(void **state)
{
	static const struct {
		size_t n;
		uint64_t want;
	} cases[] = {
	    {15, UINT64_C(0xa129ca6149be45e5)},
	    {0, UINT64_C(0x726fdb47dd0e0e31)},
	    {1, UINT64_C(0x74f839c593dc67fd)},
	    {7, UINT64_C(0xab0200f58b01d137)},
	    {8, UINT64_C(0x93f5f5799a932462)},
	    {9, UINT64_C(0x9e0082df0ba9e4b0)},
	    {16, UINT64_C(0x3f2acc7f57c29bdb)},
	    {63, UINT64_C(0x958a324ceb064572)},
	};
	unsigned char in[64];

	(void)state;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)i;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t got = hash_bytes(&paper_key, in, cases[i].n);

		assert_true(got == cases[i].want);
	}
}

static void
hash_bytes_when_unaligned_gives_the_same(void **state)
{
	char in[40] = {0};

	(void)state;
	for (size_t shift = 0; shift < 8; shift++) {
		memcpy(in + shift, "api.example.com:443/v1", 22);
		assert_true(hash_bytes(&paper_key, in + shift, 22) ==
		    hash_bytes(&paper_key, "api.example.com:443/v1", 22));
	}
}

static void
hash_bytes_when_key_differs_differs(void **state)
{
	struct hash_key k0 = paper_key, k1 = paper_key;
	uint64_t h = hash_bytes(&paper_key, "x", 1);

	(void)state;
	k0.k0 ^= 1;
	k1.k1 ^= UINT64_C(1) << 63;
	assert_true(hash_bytes(&k0, "x", 1) != h);
	assert_true(hash_bytes(&k1, "x", 1) != h);
}

static void
hash_bytes_when_empty_takes_null(void **state)
{
	(void)state;
	assert_true(
	    hash_bytes(&paper_key, NULL, 0) == hash_bytes(&paper_key, "", 0));
}

/* Each byte value at each place of a word: only A to Z may change. */
static void
hash_span_nocase_when_any_byte_folds_letters_alone(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 12; at++) {
		for (unsigned c = 0; c < 256; c++) {
			char in[12], low[12];
			struct span s = {in, sizeof(in)};

			memset(in, c & 1 ? 0xff : 'Q', sizeof(in));
			memset(low, c & 1 ? 0xff : 'q', sizeof(low));
			in[at] = low[at] = (char)c;
			if (c >= 'A' && c <= 'Z')
				low[at] = (char)(c + 32);
			assert_true(hash_span_nocase(&paper_key, s) ==
			    hash_bytes(&paper_key, low, sizeof(low)));
		}
	}
}

static void
hash_span_nocase_when_case_differs_is_equal(void **state)
{
	(void)state;
	assert_true(hash_span_nocase(&paper_key, SPAN("API.Example.COM")) ==
	    hash_span_nocase(&paper_key, SPAN("api.example.com")));
	assert_true(hash_span_nocase(&paper_key, SPAN("a[")) !=
	    hash_span_nocase(&paper_key, SPAN("a{")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		hash_bytes_when_given_the_papers_input_gives_its_output),
	    cmocka_unit_test(hash_bytes_when_unaligned_gives_the_same),
	    cmocka_unit_test(hash_bytes_when_key_differs_differs),
	    cmocka_unit_test(hash_bytes_when_empty_takes_null),
	    cmocka_unit_test(
		hash_span_nocase_when_any_byte_folds_letters_alone),
	    cmocka_unit_test(hash_span_nocase_when_case_differs_is_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * when_match.c: texts and decimal numbers compared.
 *
 * Decides what is equal, less and part of what. Numbers are compared digit by
 * digit, so none is too long and none is rounded.
 */
#include "policy/when_match.h"

#include "proto/octet.h"

int
number_parse(struct span s, struct number *ret)
{
	struct number v = {.negative = s.n > 0 && s.p[0] == '-'};

	if (v.negative)
		s = (struct span){s.p + 1, s.n - 1};
	v.whole = (struct span){s.p, octet_digits(s)};
	v.parts = (struct span){s.p + v.whole.n, 0};
	if (v.whole.n == 0)
		return -1;
	if (v.whole.n < s.n) {
		v.parts.n = s.n - v.whole.n - 1;
		v.parts.p++;
		if (s.p[v.whole.n] != '.' || v.parts.n == 0 ||
		    octet_digits(v.parts) < v.parts.n)
			return -1;
	}
	while (v.whole.n > 0 && v.whole.p[0] == '0')
		v.whole = (struct span){v.whole.p + 1, v.whole.n - 1};
	while (v.parts.n > 0 && v.parts.p[v.parts.n - 1] == '0')
		v.parts.n--;
	v.negative = v.negative && v.whole.n + v.parts.n > 0;
	*ret = v;
	return 0;
}

/* As strings; a longer one is greater than its own beginning. */
static int
compare_text(struct span a, struct span b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

int
number_compare(const struct number *a, const struct number *b)
{
	int order;

	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	if (a->whole.n != b->whole.n)
		order = a->whole.n > b->whole.n ? 1 : -1;
	else
		order = compare_text(a->whole, b->whole);
	if (order == 0)
		order = compare_text(a->parts, b->parts);
	return a->negative ? -order : order;
}

size_t
find_text(struct span s, size_t from, struct span part, bool any_case)
{
	if (part.n == 0)
		return s.n;
	for (; from < s.n && part.n <= s.n - from; from++) {
		struct span here = {s.p + from, part.n};

		if (any_case ? span_ieq(here, part) : span_eq(here, part))
			return from;
	}
	return s.n;
}

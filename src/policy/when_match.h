/* SPDX-License-Identifier: MIT */
/*
 * when_match: texts and decimal numbers compared. Internal to when.
 */
#ifndef AB_WHEN_MATCH_H
#define AB_WHEN_MATCH_H

#include "base/span.h"

/* [ "-" ] 1*DIGIT [ "." 1*DIGIT ], of any length. */
struct number {
	bool negative;     /* never for a zero */
	struct span whole; /* without leading zeros; borrows */
	struct span parts; /* behind the point, without zeros at the end */
};
/* 0, or -1: it is none. */
AB_MUST int number_parse(struct span s, struct number *ret);
/* Exact; < 0, 0, > 0 as a is less than, equal to or greater than b. */
int number_compare(const struct number *a, const struct number *b);

/* Where `part` begins in s, from byte `from` on; s.n: nowhere. An empty part is
 * nowhere. ASCII letters compare without case where any_case. */
size_t find_text(struct span s, size_t from, struct span part, bool any_case);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * hint_name: names of fields about limits: which ones a source means, and which
 * ones are about the same limit.
 */
#ifndef AB_HINT_NAME_H
#define AB_HINT_NAME_H

#include "base/span.h"

/* Names longer than that match no pattern with '*' in it. */
#define HINT_NAME_MAX 256

/* Any case; '*' in the pattern stands for any run of characters, none too. */
bool hint_name_matches(struct span pattern, struct span name);

/* The limit that a reset field is about: what its name is without that word. */
struct hint_name {
	struct span before, after; /* borrow */
};

/* False: there is no "reset" in it. */
bool hint_name_of_reset(struct span name, struct hint_name *ret);

bool hint_name_same(const struct hint_name *a, const struct hint_name *b);

/* Is it the name with that word ("remaining", "limit") in place of "reset"? */
bool hint_name_is(const struct hint_name *of, struct span word,
    struct span name);

#endif

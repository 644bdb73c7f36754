/* SPDX-License-Identifier: MIT */
/*
 * decimal: an exact number with a fraction, as texts have it. Nothing is ever
 * rounded down on its way to a time: who reads a wait short knocks early.
 */
#ifndef AB_DECIMAL_H
#define AB_DECIMAL_H

#include "base/span.h"

#define DECIMAL_ONE UINT64_C(1000000000000000000) /* 18 decimal places */

typedef unsigned __int128 decimal_wide;

struct decimal {
	uint64_t whole; /* saturates */
	uint64_t parts; /* of DECIMAL_ONE; rounded up where there are more places */
};

/* How many digits s begins with. */
size_t decimal_digits(struct span s);

/*
 * Takes 1*DIGIT [ "." 1*DIGIT ] off the start of *s. False: there is none, and
 * *s is then anywhere.
 */
bool decimal_take(struct span *s, struct decimal *ret);

/* The same for the whole of s. */
bool decimal_is(struct span s, struct decimal *ret);

/* d x unit, rounded up. unit: at most a week in ns (6.1e14), so it fits. */
decimal_wide decimal_times(const struct decimal *d, uint64_t unit);

#endif

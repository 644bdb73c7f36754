/* SPDX-License-Identifier: MIT */
/*
 * hint_limit: what an answer says about limits, be it in fields side by side or
 * in one value; and what of several counts.
 */
#ifndef AB_HINT_LIMIT_H
#define AB_HINT_LIMIT_H

#include "policy/hint.h"

/* What is left of one. */
enum hint_left {
	HINT_LEFT_UNKNOWN,
	HINT_LEFT_OVERDRAWN, /* negative */
	HINT_LEFT_NONE,
	HINT_LEFT_SOME,
};

struct hint_limit {
	enum hint_left left;
	uint64_t remaining; /* of SOME; rounded down */
	uint64_t limit;     /* 0: not said */
	int64_t reset_ms;   /* 0: not said, or over */
};

/* 1*DIGIT with perhaps a fraction, a '-' before and parameters (";w=60") behind
 * it: into left and remaining. Of several values the least counts. */
void hint_limit_left(struct hint_limit *l, struct span value);

/* The first number of a value like "10, 10;w=1"; 0: there is none. */
uint64_t hint_limit_total(struct span value);

/* Several limits, added up one by one. */
struct hint_limits {
	int64_t any_ms;             /* the longest reset of all; 0: none */
	int64_t spent_ms;           /* ... of those with nothing left */
	struct hint_quota tightest; /* as hint_quota_find says */
};

void hint_limits_add(struct hint_limits *all, const struct hint_limit *l);

/* All that stand in a value in HINT_SF or HINT_PAIRS. A structured field with a
 * fault in it adds nothing (RFC 9651 4.2: it is ignored as a whole). */
void hint_limits_read(struct hint_limits *all, struct span value,
    enum hint_format f, const struct hint_clock *clk);

#endif

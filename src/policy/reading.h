/* SPDX-License-Identifier: MIT */
/*
 * reading: all that one answer says about limits: is it a refusal, would a wait
 * mend it, how long. Whatever asks an answer asks here.
 */
#ifndef AB_READING_H
#define AB_READING_H

#include "policy.h"

/* The beginning of an answer's body, its transfer coding removed. */
struct body_view {
	struct span bytes; /* p NULL: it was not looked at */
	bool whole;        /* it ends there */
};

struct reading {
	enum attempt_says says;
	bool throttled;    /* by status or by rule */
	struct hint hint;  /* of a refusal only */
};

/*
 * wall_ms: our wall clock at the receipt of the head, since the epoch. The wait
 * is that of the fields (wait_headers); they say nothing: of the body
 * (wait_body); nor does it: what the answer is known to cost (wait_when).
 */
struct reading reading_of(const struct policy *p, const struct head *h,
    const struct body_view *body, int64_t wall_ms);

#endif

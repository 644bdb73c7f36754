/* SPDX-License-Identifier: MIT */
/*
 * summary: what the attempts of each key add up to.
 *
 * Worked out from the ring when somebody asks, so that it is exact for what is
 * remembered, and says how many attempts are not.
 */
#ifndef AB_ORIGIN_SUMMARY_H
#define AB_ORIGIN_SUMMARY_H

#include "report.h"

/*
 * JSON; key.p NULL: all keys. window_ns (>= 1): the width of the moving
 * half-open window whose fullest position is told. bad: requests that were no
 * HTTP. Check out->failed.
 */
void summary_json(struct report *r, struct span key, int64_t window_ns,
    uint64_t bad, struct strbuf *out);
/* The same as a table for people, with a window of one second. */
void summary_text(struct report *r, uint64_t bad, struct strbuf *out);

#endif

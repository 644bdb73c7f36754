/* SPDX-License-Identifier: MIT */
/*
 * lesson: what an answer teaches about the quota of a service beside being a
 * refusal or none.
 */
#ifndef AB_LESSON_H
#define AB_LESSON_H

#include "hint.h"
#include "quota.h"

struct lesson {
	struct quota_told quota; /* reset_ms 0: nothing is told */
	int64_t pause_ms;        /* Retry-After of a success; 0: none */
};

/*
 * Of an answer that is no refusal. A pause: of 2xx but 201 and 202, in which
 * Retry-After says when the work will be done and not how often one may ask
 * (RFC 9110 15.3.3, 10.2.3). Both only as far as cfg wants them, and neither
 * where hints are ignored (no sources). wall_ms: at its receipt.
 */
struct lesson lesson_of(const struct quota_cfg *cfg,
    const struct hint_cfg *hints, const struct head *h, int64_t wall_ms);

#endif

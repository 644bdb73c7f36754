/* SPDX-License-Identifier: MIT */
/*
 * instant: a point in time as ISO 8601 and RFC 3339 write it, and as far as
 * what was written fixes it.
 */
#ifndef AB_INSTANT_H
#define AB_INSTANT_H

#include "base/span.h"

#define INSTANT_MINUTE_MS 60000
#define INSTANT_DAY_MS    86400000

struct instant {
	int64_t ms;       /* since the epoch; the earliest it can mean */
	int64_t vague_ms; /* how much later it can mean: 0 (whole ms given),
	                   * 1, INSTANT_MINUTE_MS or INSTANT_DAY_MS */
};

/*
 *   2026-09-11                    2026-09-11T10:00Z
 *   2026-09-11T10:00:00.25+02:00  20260911T100000Z
 * 'T' may be small or a blank, 'Z' small. Without a zone: UTC. Offsets are hh,
 * hhmm or hh:mm. Years 1970..9999; second 60 is the next minute's first.
 * Whole-value match. Returns 0, or -1.
 */
AB_MUST int instant_parse(struct span s, struct instant *ret);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * ledger: when requests arrived at the origin, and the one hold that it may
 * be told to put on them. Bounded: what comes after the last row is counted.
 */
#ifndef AB_BENCH_LEDGER_H
#define AB_BENCH_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct ledger {
	uint64_t *arrived_ns; /* owned */
	size_t n;
	uint64_t lost;     /* arrivals for which there was no room */
	uint64_t until_ns; /* of the hold; 0: there was none yet */
	uint64_t early;    /* arrivals during the hold, but the first */
};

AB_MUST int ledger_init(struct ledger *l);
void ledger_free(struct ledger *l);
void ledger_clear(struct ledger *l);

/* An arrival that no hold concerns. */
void ledger_note(struct ledger *l, uint64_t now_ns);
/*
 * An arrival at a place that is held for `seconds` from the first one on.
 * Returns the whole seconds that are left of it, rounded up; 0: it is over,
 * and the arrival is noted.
 */
unsigned ledger_hold(struct ledger *l, unsigned seconds, uint64_t now_ns);

/* How much text ledger_print may write. */
size_t ledger_room(const struct ledger *l);
/*
 * "early N", "lost N", then a line for each arrival: microseconds since the
 * end of the hold or, without one, since the first. Returns its length.
 */
size_t ledger_print(const struct ledger *l, char *to);

#endif

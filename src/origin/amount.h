/* SPDX-License-Identifier: MIT */
/*
 * amount: what people write for times, sizes and rates, as numbers.
 *
 * All return 0, or -1 where the text is anything else; nothing is guessed and
 * nothing is cut off at a bound.
 */
#ifndef AB_ORIGIN_AMOUNT_H
#define AB_ORIGIN_AMOUNT_H

#include "base/span.h"

#define AMOUNT_SECOND_NS INT64_C(1000000000)
#define AMOUNT_MS_NS     INT64_C(1000000)
#define AMOUNT_TIME_MAX_NS (INT64_C(366) * 86400 * AMOUNT_SECOND_NS)
#define AMOUNT_COUNT_MAX 1000000000u

/*
 * "250ms", "1.5s", "5min", "2h", "1d", and "2" for two seconds. Rounded up to
 * whole nanoseconds; 0..AMOUNT_TIME_MAX_NS.
 */
AB_MUST int amount_time(struct span s, int64_t *ret_ns);

/* "1000", "64KiB", "1MiB", "2GiB"; up to 1 TiB. */
AB_MUST int amount_bytes(struct span s, uint64_t *ret);

/* Digits only, 0..max. */
AB_MUST int amount_count(struct span s, uint64_t max, uint64_t *ret);

/*
 * COUNT/PERIOD: "90/min", "1.5/s", "10000/day", "5/250ms", "100/10s". A
 * fraction makes both sides ten times as large until the count is whole
 * ("1.5/s" is 15 in 10 s). The count is 1..AMOUNT_COUNT_MAX, the period
 * 1 ns..AMOUNT_TIME_MAX_NS.
 */
AB_MUST int amount_rate(struct span s, uint32_t *ret_count,
    int64_t *ret_period_ns);

/* "yes", "1", "true", "on" and "" are true; "no", "0", "false", "off" not. */
AB_MUST int amount_bool(struct span s, bool *ret);

#endif

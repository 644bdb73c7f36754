/* SPDX-License-Identifier: MIT */
/*
 * value: what people write for times, sizes and rates, as numbers.
 *
 * All return 0, or -1 where the text is anything else; nothing is guessed and
 * nothing is cut off at a bound.
 */
#ifndef AB_ORIGIN_VALUE_H
#define AB_ORIGIN_VALUE_H

#include "base/span.h"

#define VALUE_SECOND_NS INT64_C(1000000000)
#define VALUE_MS_NS     INT64_C(1000000)
#define VALUE_TIME_MAX_NS (INT64_C(366) * 86400 * VALUE_SECOND_NS)
#define VALUE_COUNT_MAX 1000000000u

/*
 * "250ms", "1.5s", "5min", "2h", "1d", and "2" for two seconds. Rounded up to
 * whole nanoseconds; 0..VALUE_TIME_MAX_NS.
 */
AB_MUST int value_time(struct span s, int64_t *ret_ns);

/* "1000", "64KiB", "1MiB", "2GiB"; up to 1 TiB. */
AB_MUST int value_bytes(struct span s, uint64_t *ret);

/* Digits only, 0..max. */
AB_MUST int value_count(struct span s, uint64_t max, uint64_t *ret);

/*
 * COUNT/PERIOD: "90/min", "1.5/s", "10000/day", "5/250ms", "100/10s". A
 * fraction makes both sides ten times as large until the count is whole
 * ("1.5/s" is 15 in 10 s). The count is 1..VALUE_COUNT_MAX, the period
 * 1 ns..VALUE_TIME_MAX_NS.
 */
AB_MUST int value_rate(struct span s, uint32_t *ret_count,
    int64_t *ret_period_ns);

/* "yes", "1", "true", "on" and "" are true; "no", "0", "false", "off" not. */
AB_MUST int value_bool(struct span s, bool *ret);

#endif

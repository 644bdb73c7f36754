/* SPDX-License-Identifier: MIT */
/*
 * clock: the two clocks, read only by edge (and base/log). Everything below
 * edge gets the time as a parameter.
 */
#ifndef AB_CLOCK_H
#define AB_CLOCK_H

#include <stdint.h>

int64_t clock_mono_ms(void); /* CLOCK_MONOTONIC, rounded down */
int64_t clock_wall_ms(void); /* CLOCK_REALTIME since the epoch */

/* a + b without overflow; both >= 0, INT64_MAX is "never" and stays so. */
static inline int64_t
clock_add(int64_t a_ms, int64_t b_ms)
{
	return a_ms > INT64_MAX - b_ms ? INT64_MAX : a_ms + b_ms;
}

#endif

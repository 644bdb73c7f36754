/* SPDX-License-Identifier: MIT */
/*
 * clock.c: the two system calls behind clock.h. Decides only the rounding:
 * down, so that a time read is never later than the time that is.
 */
#include "base/clock.h"

#include <time.h>

static int64_t
read_ms(clockid_t id)
{
	struct timespec ts = {.tv_sec = 0};

	(void)clock_gettime(id, &ts); /* both clocks always exist on Linux */
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
clock_mono_ms(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

/* SPDX-License-Identifier: MIT */
/*
 * demand.c: who wants what when, the same for every way of coming back.
 *
 * steady: half as much again as the quota gives. bursty: every minute twice a
 * minute's quota at once. light: every ten seconds, at once, four fifths of what
 * the quota gives in that time.
 */
#include "pace.h"

#define STEADY_PER_S 15
#define BURST_MS 60000
#define BURST_REQUESTS 1200
#define LIGHT_MS 10000
#define LIGHT_REQUESTS 80

int64_t
demand_at_ms(const struct pace_cell *c, unsigned i)
{
	switch (c->demand) {
	case PACE_STEADY:
		return (int64_t)i * 1000 / STEADY_PER_S;
	case PACE_BURSTY:
		return (int64_t)(i / BURST_REQUESTS) * BURST_MS;
	case PACE_LIGHT:
		break;
	}
	return (int64_t)(i / LIGHT_REQUESTS) * LIGHT_MS;
}

unsigned
demand_of(const struct pace_cell *c, unsigned i)
{
	return i % c->clients;
}

/* SPDX-License-Identifier: MIT */
/*
 * pace: what different ways to come back after a 429 cost, in virtual time.
 *
 * N clients share one quota and know nothing of each other; each has the same
 * part of the same requests to make. A way of coming back is judged by two
 * figures: refusals for each request served, and when the last one was served.
 *
 *   meter.c    the upstream: one limit, and how long an answer takes
 *   demand.c   which client wants a request when
 *   naive.c    the ways of others: each request for itself
 *   ours.c     N engines of abided, one for each client
 *   table.c    all of them, side by side
 */
#ifndef AB_BENCH_PACE_H
#define AB_BENCH_PACE_H

#include "base/span.h"

#define PACE_RTT_MS   50    /* until an answer, of whatever kind */
#define PACE_REQUESTS 6000  /* of a full cell */
#define PACE_WINDOW_MS 60000
#define PACE_COUNT    600   /* in a window */
#define PACE_BURST    100   /* of the token bucket */
#define PACE_CLIENTS_MAX 100
#define PACE_END_MS   (INT64_C(4) * 3600 * 1000) /* later: given up */

enum pace_limit { PACE_FIXED, PACE_SLIDING, PACE_BUCKET };
enum pace_demand { PACE_STEADY, PACE_BURSTY, PACE_LIGHT };
enum pace_way { PACE_AT_ONCE, PACE_BACKOFF, PACE_EDGE, PACE_OURS, PACE_HINTS };

struct meter {
	enum pace_limit limit;
	int64_t window_at_ms;  /* FIXED: when it began */
	unsigned in_window;
	int64_t *served_ms;    /* SLIDING: owns; the last PACE_COUNT */
	unsigned next;
	double tokens;         /* BUCKET */
	int64_t at_ms;
};

struct pace_cell {
	enum pace_limit limit;
	enum pace_demand demand;
	unsigned clients;
	unsigned requests;
	uint64_t seed;
};

struct pace_result {
	uint64_t served, refused;
	int64_t end_ms;  /* when the last answer came */
};

/* 0, or -1 out of memory. */
AB_MUST int meter_init(struct meter *q, enum pace_limit limit);
void meter_free(struct meter *q);
/* 0: served; else refused, and ms until it may be. */
int64_t meter_ask(struct meter *q, int64_t now_ms);

/* When the i-th request of the cell is wanted; ever later. */
int64_t demand_at_ms(const struct pace_cell *c, unsigned i);
/* By which client. */
unsigned demand_of(const struct pace_cell *c, unsigned i);

/* 0, or -1 out of memory. */
AB_MUST int naive_run(const struct pace_cell *c, enum pace_way way,
    struct pace_result *ret);
AB_MUST int ours_run(const struct pace_cell *c, bool hints,
    struct pace_result *ret);

#endif

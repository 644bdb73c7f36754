/* SPDX-License-Identifier: MIT */
/*
 * limit: one limiter, exact to the nanosecond.
 *
 * All arithmetic is in integers, so that a limit of N admits N and never N + 1,
 * however long it runs. Time is a parameter and may not run backwards (an
 * earlier time counts as the latest one seen). A limiter begins with the first
 * call: the bucket is full and the first fixed window opens then.
 */
#ifndef AB_ORIGIN_LIMIT_H
#define AB_ORIGIN_LIMIT_H

#include "base/span.h"

#define LIMIT_SLIDING_MAX 100000u /* count of a sliding window */

enum limit_kind {
	LIMIT_BUCKET,  /* `burst` tokens, `count` new ones per period */
	LIMIT_FIXED,   /* `count` in each of [t0 + k P, t0 + (k + 1) P) */
	LIMIT_SLIDING, /* `count` admitted in any half-open window of P */
	LIMIT_PENALTY, /* the same, but refused attempts count as well */
};

struct limit_cfg {
	enum limit_kind kind;
	uint32_t count;    /* >= 1 */
	uint32_t burst;    /* LIMIT_BUCKET: >= 1; else 0 */
	int64_t period_ns; /* >= 1 */
};

struct limit {
	struct limit_cfg cfg;
	bool begun;
	int64_t at_ns;      /* latest time seen; LIMIT_FIXED: window start too */
	int64_t window_ns;  /* LIMIT_FIXED: start of the window at hand */
	uint64_t level;     /* LIMIT_BUCKET: a token is period_ns of it */
	uint32_t used;      /* LIMIT_FIXED: admitted in the window at hand */
	int64_t *seen_ns;   /* sliding: owns; ring of the latest attempts */
	uint32_t cap, n, first;
};

/* NULL where the numbers can be kept exactly, else what is wrong with them. */
const char *limit_cfg_fault(const struct limit_cfg *cfg);
bool limit_cfg_eq(const struct limit_cfg *a, const struct limit_cfg *b);

/* cfg passed limit_cfg_fault. */
void limit_init(struct limit *l, const struct limit_cfg *cfg);
void limit_clear(struct limit *l); /* as after limit_init, memory given back */

/* Whether one more attempt is admitted at now_ns. Takes nothing. */
bool limit_fits(struct limit *l, int64_t now_ns);
/*
 * The attempt was admitted (by this limiter and all others of its key).
 * 0, or -1 when out of memory; nothing is taken then.
 */
AB_MUST int limit_take(struct limit *l, int64_t now_ns);
/* The attempt was refused; only LIMIT_PENALTY minds. -1 as above. */
AB_MUST int limit_refuse(struct limit *l, int64_t now_ns);
/* The earliest time at which one would be admitted; now_ns where it would now. */
int64_t limit_ready_ns(struct limit *l, int64_t now_ns);
/* How many would be admitted at now_ns. */
uint32_t limit_left(struct limit *l, int64_t now_ns);
/* Bytes on the heap. */
size_t limit_bytes(const struct limit *l);

#endif

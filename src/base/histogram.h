/* SPDX-License-Identifier: MIT */
/*
 * histogram: how long things took, in fixed memory.
 *
 * Log-linear: 0 to 15 ms have a bucket each, from there on every doubling is
 * split in eight, so a value is known to 1/8 of itself. The last bucket takes
 * all from 2^27 ms (37 hours) on. Counters are relaxed atomics: any thread may
 * add while any other reads, and a reader may see an add half done.
 */
#ifndef AB_HISTOGRAM_H
#define AB_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_LINEAR 16    /* buckets of 1 ms */
#define HISTOGRAM_SPLIT 8      /* buckets per doubling above them */
#define HISTOGRAM_DOUBLINGS 23 /* 2^4 to 2^27 */
#define HISTOGRAM_BUCKETS \
	(HISTOGRAM_LINEAR + HISTOGRAM_SPLIT * HISTOGRAM_DOUBLINGS + 1)

struct histogram {
	_Atomic uint64_t sum_ms;
	_Atomic uint64_t v[HISTOGRAM_BUCKETS];
};

void histogram_init(struct histogram *h);
void histogram_add(struct histogram *h, int64_t ms); /* below 0 counts as 0 */
/* Adds all of `from` to `into`: workers each have their own. */
void histogram_merge(struct histogram *into, const struct histogram *from);

uint64_t histogram_count(const struct histogram *h);
uint64_t histogram_sum_ms(const struct histogram *h);
/*
 * How many were at most `ms`. Exact where a bucket ends at `ms` (up to 15,
 * then 2^k - 1 among others); elsewhere `ms` counts as its bucket's end.
 */
uint64_t histogram_at_most(const struct histogram *h, int64_t ms);
/*
 * A time that at least the share `q` (0 to 1) took at most: the end of the
 * bucket, so never too small. Past the last bucket 2^27. -1: nothing added.
 */
int64_t histogram_quantile(const struct histogram *h, double q);

#endif

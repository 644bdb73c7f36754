/* SPDX-License-Identifier: MIT */
/*
 * histogram.c: bucket arithmetic.
 *
 * Decides which bucket a time falls in. It refuses to know what was timed.
 * The index of a value from 16 on is read off its bits: the place of the top
 * one says which doubling, the three below it which eighth.
 *
 *	44 = 1 011 00b    top bit 5, eighth 3    16 + 8 * (5 - 4) + 3 = 27
 */
#include "base/histogram.h"

#define LINEAR_BITS 4 /* HISTOGRAM_LINEAR is 2^4 */
#define SPLIT_BITS 3  /* HISTOGRAM_SPLIT is 2^3 */
#define LAST (HISTOGRAM_BUCKETS - 1)

static unsigned
bucket_of(int64_t ms)
{
	uint64_t v = ms > 0 ? (uint64_t)ms : 0;
	unsigned top, eighth;

	if (v < HISTOGRAM_LINEAR)
		return (unsigned)v;
	if (v >> (LINEAR_BITS + HISTOGRAM_DOUBLINGS))
		return LAST;
	top = 63 - (unsigned)__builtin_clzll(v);
	eighth = (unsigned)(v >> (top - SPLIT_BITS)) & (HISTOGRAM_SPLIT - 1);
	return HISTOGRAM_LINEAR + HISTOGRAM_SPLIT * (top - LINEAR_BITS) +
	    eighth;
}

/* The largest value in bucket `i`; of the last one, its smallest. */
static int64_t
bucket_end(unsigned i)
{
	unsigned doubling, eighth;

	if (i < HISTOGRAM_LINEAR)
		return (int64_t)i;
	if (i == LAST)
		return INT64_C(1) << (LINEAR_BITS + HISTOGRAM_DOUBLINGS);
	doubling = (i - HISTOGRAM_LINEAR) / HISTOGRAM_SPLIT;
	eighth = (i - HISTOGRAM_LINEAR) % HISTOGRAM_SPLIT;
	return ((int64_t)(HISTOGRAM_SPLIT + eighth + 1)
		   << (doubling + LINEAR_BITS - SPLIT_BITS)) -
	    1;
}

static uint64_t
get(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void
bump(_Atomic uint64_t *p, uint64_t by)
{
	atomic_fetch_add_explicit(p, by, memory_order_relaxed);
}

void
histogram_init(struct histogram *h)
{
	atomic_init(&h->sum_ms, 0);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		atomic_init(&h->v[i], 0);
}

void
histogram_add(struct histogram *h, int64_t ms)
{
	bump(&h->sum_ms, ms > 0 ? (uint64_t)ms : 0);
	bump(&h->v[bucket_of(ms)], 1);
}

void
histogram_merge(struct histogram *into, const struct histogram *from)
{
	bump(&into->sum_ms, get(&from->sum_ms));
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		bump(&into->v[i], get(&from->v[i]));
}

static uint64_t
count_through(const struct histogram *h, unsigned last)
{
	uint64_t n = 0;

	for (unsigned i = 0; i <= last; i++)
		n += get(&h->v[i]);
	return n;
}

uint64_t
histogram_count(const struct histogram *h)
{
	return count_through(h, LAST);
}

uint64_t
histogram_sum_ms(const struct histogram *h)
{
	return get(&h->sum_ms);
}

uint64_t
histogram_at_most(const struct histogram *h, int64_t ms)
{
	return ms < 0 ? 0 : count_through(h, bucket_of(ms));
}

int64_t
histogram_quantile(const struct histogram *h, double q)
{
	uint64_t all = histogram_count(h), seen = 0;
	double rank = q * (double)all;

	if (all == 0)
		return -1;
	for (unsigned i = 0; i < LAST; i++) {
		seen += get(&h->v[i]);
		if (seen > 0 && (double)seen >= rank)
			return bucket_end(i);
	}
	return bucket_end(LAST);
}

/* SPDX-License-Identifier: MIT */
/*
 * meter.c: the upstream's limit, in arithmetic of its own: it must not share a
 * mistake with the pace that it judges.
 */
#include "base/mem.h"
#include "pace.h"

int
meter_init(struct meter *q, enum pace_limit limit)
{
	*q = (struct meter){.limit = limit, .tokens = PACE_BURST};
	if (limit != PACE_SLIDING)
		return 0;
	q->served_ms = mem_alloc(PACE_COUNT * sizeof(*q->served_ms));
	if (!q->served_ms)
		return -1;
	for (unsigned i = 0; i < PACE_COUNT; i++)
		q->served_ms[i] = -PACE_WINDOW_MS;
	return 0;
}

void
meter_free(struct meter *q)
{
	mem_free(q->served_ms);
}

static int64_t
ask_fixed(struct meter *q, int64_t now_ms)
{
	int64_t begin_ms = now_ms - now_ms % PACE_WINDOW_MS;

	if (begin_ms != q->window_at_ms) {
		q->window_at_ms = begin_ms;
		q->in_window = 0;
	}
	if (q->in_window == PACE_COUNT)
		return begin_ms + PACE_WINDOW_MS - now_ms;
	q->in_window++;
	return 0;
}

static int64_t
ask_sliding(struct meter *q, int64_t now_ms)
{
	int64_t oldest_ms = q->served_ms[q->next];

	if (now_ms - oldest_ms < PACE_WINDOW_MS)
		return oldest_ms + PACE_WINDOW_MS - now_ms;
	q->served_ms[q->next] = now_ms;
	q->next = (q->next + 1) % PACE_COUNT;
	return 0;
}

static int64_t
ask_bucket(struct meter *q, int64_t now_ms)
{
	double per_ms = (double)PACE_COUNT / PACE_WINDOW_MS;

	q->tokens += (double)(now_ms - q->at_ms) * per_ms;
	q->at_ms = now_ms;
	if (q->tokens > PACE_BURST)
		q->tokens = PACE_BURST;
	/* A hair less is one: sums of fractions are not exact. */
	if (q->tokens < 1 - 1e-9)
		return (int64_t)((1 - q->tokens) / per_ms) + 1;
	q->tokens -= 1;
	return 0;
}

int64_t
meter_ask(struct meter *q, int64_t now_ms)
{
	switch (q->limit) {
	case PACE_FIXED:
		return ask_fixed(q, now_ms);
	case PACE_SLIDING:
		return ask_sliding(q, now_ms);
	case PACE_BUCKET:
		break;
	}
	return ask_bucket(q, now_ms);
}

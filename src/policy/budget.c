/* SPDX-License-Identifier: MIT */
/*
 * Decides whether one more retry is affordable. It refuses to know which
 * request wants it, and why; it reads no clock.
 *
 *   requests  --share-->  window of 10 s  \
 *                                          >-- budget_retry
 *   time      --floor-->  token bucket    /
 */
#include "policy/budget.h"

static void
count_add(uint32_t *sum, uint32_t *part)
{
	if (*sum == UINT32_MAX)
		return;
	(*sum)++;
	(*part)++;
}

/* Forgets what is older than the window. */
static void
budget_turn(struct budget *b, int64_t now_ms)
{
	int64_t step = now_ms / BUDGET_STEP_MS;

	if (step - b->step >= BUDGET_STEPS) {
		memset(b->steps, 0, sizeof(b->steps));
		b->sum = (struct budget_count){0};
		b->step = step;
		return;
	}
	while (b->step < step) {
		struct budget_count *old = &b->steps[++b->step % BUDGET_STEPS];

		b->sum.requests -= old->requests;
		b->sum.retries -= old->retries;
		*old = (struct budget_count){0};
	}
}

static struct budget_count *
budget_now(struct budget *b)
{
	return &b->steps[b->step % BUDGET_STEPS];
}

static struct bucket_cfg
floor_of(const struct budget_cfg *cfg)
{
	struct bucket_cfg floor = {.n = cfg->floor.count > 0};

	floor.v[0] = cfg->floor;
	return floor;
}

void
budget_init(struct budget *b, const struct budget_cfg *cfg, int64_t now_ms)
{
	*b = (struct budget){.cfg = *cfg, .step = now_ms / BUDGET_STEP_MS};
	bucket_init(&b->floor);
}

void
budget_reconfigure(struct budget *b, const struct budget_cfg *cfg,
    int64_t now_ms)
{
	struct bucket_cfg old = floor_of(&b->cfg), floor = floor_of(cfg);

	bucket_reconfigure(&b->floor, &old, &floor, now_ms);
	b->cfg = *cfg;
}

void
budget_request(struct budget *b, int64_t now_ms)
{
	budget_turn(b, now_ms);
	count_add(&b->sum.requests, &budget_now(b)->requests);
}

/* Has the share room for one more? In hundredths of a retry. */
static bool
share_has_room(const struct budget *b)
{
	uint64_t room = (uint64_t)b->cfg.percent * b->sum.requests;

	return ((uint64_t)b->sum.retries + 1) * 100 <= room;
}

bool
budget_retry(struct budget *b, int64_t now_ms)
{
	struct bucket_cfg floor = floor_of(&b->cfg);

	if (!b->cfg.on)
		return true;
	budget_turn(b, now_ms);
	if (share_has_room(b)) {
		count_add(&b->sum.retries, &budget_now(b)->retries);
		return true;
	}
	if (now_ms < b->step * BUDGET_STEP_MS)
		now_ms = b->step * BUDGET_STEP_MS;
	if (floor.n == 0 || bucket_wait_ms(&b->floor, &floor, now_ms) > 0)
		return false;
	bucket_take(&b->floor, &floor, now_ms);
	return true;
}

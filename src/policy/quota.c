/* SPDX-License-Identifier: MIT */
/*
 * Decides how fast to use what a service says is left. It refuses to know who
 * starts, who waits and for how long anybody can.
 *
 *	limit |=====.                 nobody is held up
 *	      |      '=.
 *	share |- - - - -'*- - - - -   what is left, spread over the time left
 *	      |            * . *
 *	    0 +-------------------*---> reset
 */
#include "policy/quota.h"

#include "base/clock.h"

void
quota_init(struct quota *q)
{
	*q = (struct quota){.mode = QUOTA_NONE};
}

static void
quota_move(struct quota *q, enum quota_mode to)
{
	q->mode = to;
	q->on = to != QUOTA_NONE || q->paused_from != 0;
}

void
quota_reconfigure(struct quota *q, const struct quota_cfg *cfg)
{
	if (!cfg->pauses)
		q->paused_from = 0;
	quota_move(q, cfg->percent ? q->mode : QUOTA_NONE);
}

/* n / 100 * percent, without overflow. */
static uint64_t
share_of(uint64_t n, unsigned percent)
{
	return n / 100 * percent + n % 100 * percent / 100;
}

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int64_t
earlier(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/*
 * TOLD, at or below the share: one start each gap, the first at once where the
 * last one is that long ago.
 */
static int64_t
spread_at_ms(const struct quota *q, int64_t now_ms, uint64_t ahead)
{
	int64_t last_ms = earlier(q->started_ms, now_ms), first_ms;
	uint64_t time = (uint64_t)(q->ends_ms - last_ms);
	uint64_t gap = (time + q->left - 1) / q->left;

	first_ms = clock_add(last_ms, (int64_t)gap);
	if (first_ms < now_ms)
		first_ms = now_ms;
	if (ahead > time / gap)
		return q->ends_ms;
	return earlier(clock_add(first_ms, (int64_t)(ahead * gap)), q->ends_ms);
}

static int64_t
window_at_ms(const struct quota *q, int64_t now_ms, uint64_t ahead,
    enum wait_why *ret_why)
{
	if (q->mode == QUOTA_NONE || now_ms >= q->ends_ms)
		return now_ms;
	*ret_why = WAIT_PACED;
	if (q->mode == QUOTA_NEXT)
		return q->left > ahead ? now_ms : q->ends_ms;
	if (q->left <= ahead) {
		*ret_why = WAIT_TOLD;
		return q->ends_ms;
	}
	if (q->left - ahead > q->pace_at)
		return now_ms;
	return spread_at_ms(q, now_ms, less(ahead, less(q->left, q->pace_at)));
}

int64_t
quota_at_ms(const struct quota *q, int64_t now_ms, uint64_t ahead,
    enum wait_why *ret_why)
{
	int64_t at_ms = now_ms, pause_ms;

	if (!q->on)
		return at_ms;
	at_ms = window_at_ms(q, now_ms, ahead, ret_why);
	if (q->paused_from == 0)
		return at_ms;
	pause_ms = q->pause_until_ms;
	if (pause_ms < now_ms)
		pause_ms = now_ms;
	if (ahead > (uint64_t)(INT64_MAX / 4 / q->pause_ms))
		pause_ms = INT64_MAX / 4;
	else
		pause_ms = clock_add(pause_ms, (int64_t)ahead * q->pause_ms);
	if (pause_ms <= at_ms)
		return at_ms;
	*ret_why = WAIT_TOLD;
	return pause_ms;
}

/* The window's end has passed: on with what the next one may be like. */
static void
window_over(struct quota *q, int64_t now_ms)
{
	if (q->mode == QUOTA_NEXT) {
		quota_move(q, QUOTA_NONE);
		return;
	}
	/* Where nothing was left, a crowd may stand before this moment, and our
	 * clock may be ahead of the server's: one finds out. */
	bool one = q->left == 0 || q->full == 0;

	quota_move(q, QUOTA_NEXT);
	q->left = one ? 1 : q->full;
	q->ends_ms = clock_add(now_ms, QUOTA_NEXT_MS);
}

uint64_t
quota_begin(struct quota *q, int64_t now_ms)
{
	q->started_ms = now_ms;
	q->starts++;
	q->flying++;
	if (!q->on)
		return q->starts;
	if (q->mode != QUOTA_NONE && now_ms >= q->ends_ms)
		window_over(q, now_ms);
	if (q->left > 0)
		q->left--;
	if (q->paused_from != 0)
		q->pause_until_ms = clock_add(now_ms, q->pause_ms);
	return q->starts;
}

void
quota_over(struct quota *q)
{
	if (q->flying > 0)
		q->flying--;
}

/* Does what start n was told belong to the window at hand? One that started
 * once we knew how much was left finds no more left in it. */
static bool
same_window(const struct quota *q, uint64_t n, const struct quota_told *told,
    int64_t now_ms)
{
	int64_t ends_ms = clock_add(now_ms, told->reset_ms);

	if (q->mode == QUOTA_NEXT)
		return told->limit == 0 || told->limit == q->full;
	return q->mode == QUOTA_TOLD && now_ms < q->ends_ms &&
	    (n <= q->said_at || told->remaining <= q->said) &&
	    ends_ms <= q->ends_ms + QUOTA_SLACK_MS;
}

static void
note_said(struct quota *q, uint64_t remaining)
{
	q->said = remaining;
	q->said_at = q->starts;
}

/*
 * Starts were counted off as they happened. That was too many where some never
 * reached the service: what is surely left is what it said less all that it may
 * not have counted yet.
 */
static uint64_t
left_of(const struct quota *q, uint64_t remaining, uint64_t since, bool same)
{
	uint64_t left = less(remaining, since), sure;

	if (!same || left < q->left)
		return left;
	if (q->mode == QUOTA_TOLD && q->said < remaining)
		remaining = q->said;
	sure = less(remaining, since > q->flying ? since : q->flying);
	return q->left > sure ? q->left : sure;
}

/* The answer to a later start has come before. */
static void
heard_late(struct quota *q, uint64_t remaining)
{
	if (q->mode != QUOTA_TOLD)
		return;
	if (remaining < q->left)
		q->left = remaining;
	if (remaining < q->said)
		note_said(q, remaining);
}

void
quota_heard(struct quota *q, const struct quota_cfg *cfg, uint64_t n,
    const struct quota_told *told, int64_t now_ms)
{
	bool same = same_window(q, n, told, now_ms);

	if (cfg->percent == 0)
		return;
	if (n < q->heard) {
		heard_late(q, told->remaining);
		return;
	}
	q->left = left_of(q, told->remaining, less(q->starts, n), same);
	if (told->limit > 0)
		q->full = told->limit;
	else if (!same || q->mode == QUOTA_NEXT || told->remaining > q->full)
		q->full = told->remaining;
	if (!same || q->mode == QUOTA_NEXT || told->remaining <= q->said)
		note_said(q, told->remaining);
	q->heard = n;
	q->ends_ms = clock_add(now_ms, told->reset_ms);
	q->pace_at = share_of(q->full, cfg->percent);
	quota_move(q, QUOTA_TOLD);
}

void
quota_paused(struct quota *q, const struct quota_cfg *cfg, uint64_t n,
    int64_t pause_ms, int64_t now_ms)
{
	if (cfg->pauses && pause_ms > 0) {
		q->paused_from = q->starts + 1;
		q->pause_ms = pause_ms;
		q->pause_until_ms = clock_add(now_ms, pause_ms);
	} else if (n >= q->paused_from) {
		q->paused_from = 0;
	}
	quota_move(q, q->mode);
}

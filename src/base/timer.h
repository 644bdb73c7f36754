/* SPDX-License-Identifier: MIT */
/*
 * timer: one heap of deadlines per worker, on the monotonic clock in ms.
 *
 * Pushing a timer further out costs a store: the heap keeps the old time and
 * looks again when that comes ("lazy"). So an idle timeout that is renewed
 * with each byte costs nothing. A timer fires at or after due_ms, never before.
 */
#ifndef AB_TIMER_H
#define AB_TIMER_H

#include "base/heap.h"

#define TIMER_NEVER INT64_MAX

struct timer {
	struct heap_node node; /* key: the time the heap will look at it */
	int64_t due_ms;        /* TIMER_NEVER: not armed */
	void (*fn)(struct timer *t, int64_t now_ms);
};

struct timers {
	struct heap heap;
	uint64_t seq;   /* tie of the next one armed: first come, first fired */
	int64_t run_ms; /* now of the timers_run under way, else INT64_MIN */
};

void timers_init(struct timers *ts);
void timers_clear(struct timers *ts); /* disarms all; they must still exist */
/* Room for `n` armed timers in all: arming up to that many can't fail. */
AB_MUST int timers_reserve(struct timers *ts, uint32_t n);

void timer_init(struct timer *t, void (*fn)(struct timer *t, int64_t now_ms));
/*
 * Arms or re-arms. 0, or -1 when out of memory: the timer is then not armed
 * and the caller fails what it was to guard. Re-arming an armed timer, and
 * arming one of at most timers_reserve()d many, can't fail. TIMER_NEVER stops.
 */
AB_MUST int timer_arm(struct timers *ts, struct timer *t, int64_t due_ms);
void timer_stop(struct timers *ts, struct timer *t); /* fine when not armed */

static inline bool
timer_armed(const struct timer *t)
{
	return t->due_ms != TIMER_NEVER;
}

/*
 * Fires what is due at now_ms, each disarmed before its fn is called; fn may
 * arm, stop and free any timer, its own too, but not call timers_run. At most
 * `most` are fired in one call, so that a crowd can't starve the sockets; what
 * an fn arms for now or earlier waits for the next call. Returns how many were.
 */
unsigned timers_run(struct timers *ts, int64_t now_ms, unsigned most);
/* When timers_run must be called next (may be early), or TIMER_NEVER. */
int64_t timers_next_ms(const struct timers *ts);

#endif

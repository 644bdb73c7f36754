/* SPDX-License-Identifier: MIT */
/*
 * quota: what answers that are no refusals tell about the quota of a service
 * key, and when the next one had better start, so that none is refused.
 *
 *    NONE --an answer tells--> TOLD --its reset, next start--> NEXT
 *     ^                         ^                               |
 *     +-------- a second without a word ------- an answer -----+
 *
 * TOLD: `left` may start until the window ends. While that is more than a share
 * of the limit nobody is held up; at or below it what is left is spread over the
 * time; none left: nobody until the end. NEXT: a window is over and nothing is
 * known of the next one yet: as many as its limit may go; but one where it was
 * used up, or of unknown size, for a crowd may wait; no herd.
 *
 * An answer tells of the moment it was made at, and attempts overtake each other
 * on their way. So starts are numbered and counted off as they happen; what an
 * answer says is less those that started after its own, and within a window it
 * only lowers what is left, down to what would be left were none of those under
 * way counted yet. An answer to an earlier start than one that was heard can
 * only lower it, too.
 *
 * A pause is a Retry-After on a success: the next start comes after it, and the
 * one after that when that one's answer asks for no pause, or as long after it.
 *
 * These are wishes, not refusals: who can't wait for them need not. All times
 * are ms, monotonic; what comes a little out of order does no harm.
 */
#ifndef AB_QUOTA_H
#define AB_QUOTA_H

#include "service.h"

#define QUOTA_NEXT_MS 1000 /* how long a new window may stay unheard of */
#define QUOTA_SLACK_MS 2000 /* by how much one window's end may seem to move */

struct quota_cfg {
	unsigned percent; /* pacing begins at this share of the limit, 1..100;
	                   * 0: nothing is learned of quotas */
	bool pauses;      /* Retry-After on a success counts */
};

enum quota_mode { QUOTA_NONE, QUOTA_TOLD, QUOTA_NEXT };

struct quota {
	bool on;                /* it may hold somebody up: ask quota_at_ms */
	enum quota_mode mode;
	int64_t ends_ms;        /* of TOLD, and of NEXT */
	uint64_t left;          /* starts */
	uint64_t full;          /* the limit; the most seen in this window, where
	                         * none was told */
	uint64_t said;          /* the least that was told of this window, */
	uint64_t said_at;       /* and the last start at that time */
	uint64_t pace_at;       /* left at or below it is spread */
	uint64_t starts;        /* numbers them, from 1 */
	uint64_t flying;        /* of them, not over yet */
	uint64_t heard;         /* the latest start that an answer told of */
	int64_t started_ms;     /* the last start */
	uint64_t paused_from;   /* the first start that the pause is about; 0 */
	int64_t pause_ms, pause_until_ms;
};

/* What an answer says: policy/hint finds it. */
struct quota_told {
	uint64_t remaining;
	uint64_t limit;         /* 0: not said */
	int64_t reset_ms;       /* > 0: from its receipt to the window's end */
};

/* Knows nothing. */
void quota_init(struct quota *q);
/* After a reload: forgets what is not to be learned any more. */
void quota_reconfigure(struct quota *q, const struct quota_cfg *cfg);

/*
 * When may one more start that has `ahead` others before it? now_ms or earlier:
 * at once; else *ret_why says what for: TOLD (nothing is left, or a pause) or
 * PACED. Never later than the window's end, or the pause's.
 */
int64_t quota_at_ms(const struct quota *q, int64_t now_ms, uint64_t ahead,
    enum wait_why *ret_why);
/* One starts, whatever quota_at_ms said. Returns its number. */
uint64_t quota_begin(struct quota *q, int64_t now_ms);

/* One that started has its answer, or will get none. */
void quota_over(struct quota *q);
/* The answer to start `n`, which is over, tells of a quota. */
void quota_heard(struct quota *q, const struct quota_cfg *cfg, uint64_t n,
    const struct quota_told *told, int64_t now_ms);
/* The answer to start `n` asks for a pause of so many ms; 0: for none. */
void quota_paused(struct quota *q, const struct quota_cfg *cfg, uint64_t n,
    int64_t pause_ms, int64_t now_ms);

#endif

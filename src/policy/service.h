/* SPDX-License-Identifier: MIT */
/*
 * service: what we know of one service key: is it open, shut until when, how
 * often did it refuse. Rules 6 and 7 of the contract.
 *
 *   OPEN --throttled--> SHUT(until) --until passed--> PROBE (one request)
 *    ^                     ^                             |      |
 *    |                     +-------- throttled ----------+      | ok
 *    +---- calm, or a rate paces ------------ PACED <----------+
 *
 * A burst of refusals counts once: each admission carries the epoch in which
 * it was made, and only a refusal of the current epoch counts and opens the
 * next. A success of an earlier epoch proves nothing about this one.
 *
 * Each ticket is learned exactly once, by _throttled, _ok or _neutral, in any
 * order and whatever became of the state meanwhile. `flying` is exact all the
 * same: each probe begins a new round, and only tickets of the current round
 * are counted in it.
 *
 * Invariant: PROBE has exactly one ticket of its round out; PACED has
 * 2 <= window <= SERVICE_WINDOW_MAX. So when no ticket is out and until_ms has
 * passed, the service is ready.
 */
#ifndef AB_SERVICE_H
#define AB_SERVICE_H

#include "base/span.h"

#define SERVICE_STATE_LIST(X) X(OPEN) X(SHUT) X(PROBE) X(PACED)
enum service_state {
#define X(s) SERVICE_##s,
	SERVICE_STATE_LIST(X)
#undef X
};

/* Why a request waits; shown in status, log and metrics. */
#define WAIT_WHY_LIST(X)      \
	X(TURN, "turn")       \
	X(PACED, "paced")     \
	X(TOLD, "told")       \
	X(BACKOFF, "backoff") \
	X(PROBE, "probe")
enum wait_why {
#define X(w, text) WAIT_##w,
	WAIT_WHY_LIST(X)
#undef X
	WAIT_WHY_COUNT
};
const char *wait_why_name(enum wait_why w);
const char *service_state_name(enum service_state s);

#define SERVICE_HALF_OPEN_MS 30000 /* default time since the last failure */
#define SERVICE_WINDOW_MAX   65536 /* the window grows no further */
#define SERVICE_STEP_PART    8     /* a step of slow start: this part of the hold */
#define SERVICE_STEP_MIN_MS  20
#define SERVICE_STEP_MAX_MS  1000
#define SERVICE_NEVER        INT64_MAX

struct service_cfg {
	unsigned failure_cutoff; /* consecutive refusals; 0: no cut-off */
	int64_t half_open_ms;
	bool has_rate;           /* a bucket paces the line: no slow start */
};

struct service {
	enum service_state state;
	int64_t until_ms;      /* SHUT: not before; else past or meaningless */
	int64_t jitter_ms;     /* drawn once for the hold at hand */
	enum wait_why why;     /* SHUT: TOLD or BACKOFF */
	int shut_status;       /* the status that shut it; 0: an operator did */
	unsigned fails;        /* consecutive, one per epoch */
	uint64_t epoch;
	int64_t last_fail_ms;  /* -1: none yet */
	unsigned window;       /* PACED: how many may be under way, and start in
	                        * one step */
	unsigned grown;        /* by how much the next step is wider */
	unsigned used;         /* started in this step */
	unsigned peak;         /* the window that was refused last, 0: none */
	int64_t step_at_ms;    /* when it began */
	int64_t step_ms;       /* how long it lasts: of the last hold */
	uint64_t round;        /* counts probes: whose tickets `flying` counts */
	unsigned flying;       /* slow tickets of this round not yet over */
	int64_t calm_ms;       /* PACED: when the window was last full, or since */
	bool trial_out;        /* the half-open probe is under way */
};

/* What an admitted attempt carries until its outcome is learned. */
struct ticket {
	uint64_t epoch;
	uint64_t round;
	bool slow;  /* counts in `flying` while its round is the current one */
	bool trial; /* over the cut-off, yet it may retry */
};

void service_init(struct service *s);

/*
 * May one more start at now_ms? True: call service_begin if it really does.
 * False: *ret_why and *ret_at_ms, when to ask again (SERVICE_NEVER: when an
 * outcome is learned).
 */
bool service_ready(const struct service *s, int64_t now_ms,
    enum wait_why *ret_why, int64_t *ret_at_ms);
/*
 * Admits one; only after service_ready said so at this now_ms. Moves SHUT,
 * whose time has passed, to PROBE; and PACED to OPEN where its window has not
 * been full for half_open_ms: nobody waits then, so no herd breaks out.
 */
void service_begin(struct service *s, const struct service_cfg *cfg,
    int64_t now_ms, struct ticket *ret);

/*
 * Does the admission of t still hold? False: a hold has begun since, whether or
 * not it is over: an attempt that has not gone out yet has to ask again.
 */
static inline bool
service_stands(const struct service *s, const struct ticket *t)
{
	return t->epoch == s->epoch && t->round == s->round &&
	    s->state != SERVICE_SHUT;
}
/* Would a refusal of t count: is t of the current epoch? */
static inline bool
service_counts(const struct service *s, const struct ticket *t)
{
	return t->epoch == s->epoch;
}
/*
 * The count of consecutive refusals as it will be once this one is learned:
 * own back-off of the key is that of the n-th retry.
 */
unsigned service_fails_after(const struct service *s, const struct ticket *t);

/*
 * A refusal. wait_ms: hint or own back-off, without jitter; told: it was a
 * hint. jitter_ms: used only when this refusal begins a hold. Refusals of an
 * earlier epoch count nothing; a hint among them may still lengthen the hold
 * (the hold's own jitter stays on top) or, where the hold is over, begin
 * another; without a hint they change nothing. A hold is never shortened here,
 * and ends at INT64_MAX at the latest. Returns true when it counted.
 */
bool service_throttled(struct service *s, const struct service_cfg *cfg,
    const struct ticket *t, int64_t now_ms, int status, int64_t wait_ms,
    bool told, int64_t jitter_ms);
/*
 * A final answer that was no refusal: of the current epoch, it clears the count
 * of refusals. A probe's opens (has_rate) or begins slow start with a window
 * of 2; each of slow start widens the next step's window by one. So it doubles
 * with each round trip, and not more than once in a step: where answers take a
 * millisecond, round trips alone would let a whole line loose in no time. Past
 * half the width that was refused last it grows by an eighth only.
 */
void service_ok(struct service *s, const struct service_cfg *cfg,
    const struct ticket *t, int64_t now_ms);
/*
 * The attempt ended without a word about limits (connection failure, the
 * client left): its place is given back; a probe's goes to the next, at once.
 */
void service_neutral(struct service *s, const struct ticket *t, int64_t now_ms);

/*
 * Its outcome may be a long time coming, for the client takes its time: nobody
 * waits for it any more. Of slow start: the place of this ticket is given back,
 * which otherwise is still out. A probe: the next may be one, at once.
 */
void service_let_go(struct service *s, struct ticket *t);
void service_let_probe_go(struct service *s, int64_t now_ms);

/*
 * At or over the cut-off: this attempt's refusal is to be relayed. Asked after
 * the refusal was learned, so that the one that reaches the cut-off is cut off.
 */
bool service_cut_off(const struct service *s, const struct service_cfg *cfg,
    const struct ticket *t);

/* The refusal that has just counted was not of this client's making: it has not. */
void service_forgive(struct service *s);
/* Shut until at least then by the word of another key of the same service: of
 * `status`, with its jitter in it. Counts nothing. */
void service_told(struct service *s, int64_t until_ms, int status);
/*
 * An operator's hand: shut until at least until_ms (SERVICE_NEVER: until
 * released), or open at once with the count of refusals forgotten. Both are
 * fine while tickets are out; service_init is not.
 */
void service_hold(struct service *s, int64_t until_ms);
void service_release(struct service *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * adapt: the pace of one service key, learned from what is served and what is
 * refused, for services whose limits nobody tells (adaptive = aimd).
 *
 *   START --refused--> CLOSED --served--> OPEN
 *   no pace, a window    |  ^               |    paced: cut, then grown
 *   that each answer     |  +----refused----+
 *   widens               +-- the hold is the service's (policy/service)
 *
 * What is learned at the end of each CLOSED is the last good rate: how much
 * really went through, the time in which all was refused included. For any kind
 * of limit (window, bucket) and any number of others who share it that is what
 * this key can have in the long run. The pace then begins at a part of it, comes
 * back to it fast, lingers there, and goes on beyond it: the cubic of RFC 9438
 * section 4.2, in shares of the good rate rather than in segments.
 *
 * A pace that is not used up is not raised. Of the time in which nobody waits no
 * more than a moment is measured: what was not wanted was not refused.
 *
 * Pure: time is a parameter (monotonic ms, never going back).
 */
#ifndef AB_ADAPT_H
#define AB_ADAPT_H

#include "base/span.h"

enum adaptive { ADAPTIVE_OFF, ADAPTIVE_AIMD };

struct adapt_cfg {
	enum adaptive mode;
	double floor_per_ms; /* > 0: the pace never goes below */
};

struct adapt {
	bool learned;      /* a good rate is known: OPEN or CLOSED */
	bool closed;       /* refused, and nothing served since */
	double good;       /* the last good rate, per ms */
	double peak;       /* CLOSED: the pace that was refused, per ms; 0: none */
	double grown_ms;   /* for how long the pace has held somebody up since the
	                    * last cut */
	double tokens;     /* at clock_ms; one start takes one */
	double open_ms;    /* time with demand, in the last minute or two of it */
	double closed_ms;  /* the same while all was refused, which is apart */
	double unsure_ms;  /* CLOSED: the same since the last refusal */
	double served;     /* in that time */
	double rest_ms;    /* without demand until now, as far as it counts */
	double weary;      /* CLOSED for the first time: this part of the pace */
	int64_t clock_ms;  /* of the last adapt_clock */
	unsigned flying;   /* started, outcome unknown */
	double window;     /* START: how many may fly */
};

/* now_ms: now, or 0 while nobody waits. */
void adapt_init(struct adapt *a, int64_t now_ms);

static inline bool
adapt_on(const struct adapt_cfg *cfg)
{
	return cfg->mode != ADAPTIVE_OFF;
}

/*
 * Lets the time since the last call pass; before any of the others at the same
 * moment. waiting: somebody was in line all that time.
 */
void adapt_clock(struct adapt *a, const struct adapt_cfg *cfg, int64_t now_ms,
    bool waiting);
/*
 * 0: one may start now; else ms until one may, rounded up; INT64_MAX: when an
 * outcome is learned. Meanwhile the pace grows, as somebody is taken to wait.
 */
int64_t adapt_wait_ms(const struct adapt *a, const struct adapt_cfg *cfg,
    int64_t now_ms);
/* One starts. Only after adapt_wait_ms returned 0. */
void adapt_take(struct adapt *a);

/*
 * Outcomes, one for each adapt_take. current: the ticket is of the current
 * epoch (service_counts, asked before the service learned it): what was sent
 * before a refusal proves nothing about the time after it.
 * served: an answer that was no refusal. refused: a refusal; the first current
 * one ends the round, those until the next success belong to the same
 * congestion and cut no further. void: it ended without a word about limits, or
 * its outcome may be a long time coming.
 */
void adapt_served(struct adapt *a, const struct adapt_cfg *cfg, bool current);
void adapt_refused(struct adapt *a, const struct adapt_cfg *cfg, bool current);
void adapt_void(struct adapt *a);

/* The pace in force, starts per ms; 0: none, all is START. While CLOSED it is
 * that of the probes. */
double adapt_pace(const struct adapt *a, const struct adapt_cfg *cfg);

#endif

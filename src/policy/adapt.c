/* SPDX-License-Identifier: MIT */
/*
 * adapt.c: how fast may a key go that nobody told us about.
 *
 *	 pace                    /       x = grown / span - 1
 *	  |                    .         pace = good x (1 + (1 - CUT) x^3)
 *	 good  . . . . . .-'            and beyond good:
 *	  |         .-'                         good x (1 + PROBING x^3)
 *	 CUT x good
 *	  +--------------|------------>  grown: time in which the pace, and
 *	               span              nothing else, held somebody up
 *
 * Decides the pace alone. It refuses to know what a hint said and how long a
 * hold lasts: those are the service's, which is asked first. So the pace can
 * only make a start later, never earlier than a hold allows.
 *
 * Cubic growth is in shares of the good rate, so it never helps one that was
 * measured far too low: of many who share a quota a few get next to nothing at
 * first. Therefore the pace also grows by a fixed amount, the floor once in
 * STEADY_MS. To a fast key that is nothing, a slow one it brings back in line.
 */
#include "policy/adapt.h"

#define CUT 0.7          /* of the good rate: where a round begins */
#define SPAN_STARTS 20.0 /* so many starts until it is back at that rate ... */
#define SPAN_MIN_MS 20000.0 /* ... but within these */
#define SPAN_MAX_MS 40000.0
#define PROBING 1.0 /* beyond it: twofold after one more span */
#define STEADY_MS 60000.0
#define KNOCKS 0.7        /* while all is refused: this part of the pace */
#define HEADROOM 1.1      /* what went through is less than what could have */
#define MEMORY_MS 60000.0 /* of demand: what went through is averaged over it */
#define START_WINDOW 2.0
#define START_GROWTH 0.5 /* of the window, for each answer */
#define LATE_MS 2.0      /* a start so late is made up for */

void
adapt_init(struct adapt *a, int64_t now_ms)
{
	*a = (struct adapt){.window = START_WINDOW, .clock_ms = now_ms};
}

static double
at_least(double x, double least)
{
	return x > least ? x : least;
}

static double
span_ms(double good)
{
	double ms = SPAN_STARTS / good;

	if (ms < SPAN_MIN_MS)
		return SPAN_MIN_MS;
	return ms > SPAN_MAX_MS ? SPAN_MAX_MS : ms;
}

double
adapt_pace(const struct adapt *a, const struct adapt_cfg *cfg)
{
	double x, pace, steady;

	if (!a->learned)
		return 0;
	if (a->closed)
		return at_least(KNOCKS * CUT * a->good, cfg->floor_per_ms);
	x = a->grown_ms / span_ms(a->good) - 1;
	pace = a->good * (1 + (x < 0 ? 1 - CUT : PROBING) * x * x * x);
	steady = a->good * CUT + cfg->floor_per_ms * (a->grown_ms / STEADY_MS);
	return at_least(at_least(pace, steady), cfg->floor_per_ms);
}

/* A start that comes a moment too late does not put the next one off. */
static double
tokens_after(const struct adapt *a, const struct adapt_cfg *cfg, double ms)
{
	double pace = adapt_pace(a, cfg), most = 1 + pace * LATE_MS;
	double tokens = a->tokens + pace * ms;

	return tokens < most ? tokens : most;
}

/* What was long ago counts less; its average stays. */
static void
forget(struct adapt *a)
{
	double ms = a->open_ms + a->closed_ms,
	       keep = MEMORY_MS / at_least(ms, 1);

	if (keep >= 1)
		return;
	a->open_ms *= keep;
	a->closed_ms *= keep;
	a->served *= keep;
}

/* Demand that was there for so long. */
static void
charge(struct adapt *a, double ms)
{
	if (a->closed) {
		/* However long: this is what is measured. */
		a->closed_ms += ms;
		return;
	}
	a->open_ms += ms;
	if (a->open_ms + a->closed_ms > 2 * MEMORY_MS)
		forget(a);
}

void
adapt_clock(struct adapt *a, const struct adapt_cfg *cfg, int64_t now_ms,
    bool waiting)
{
	double ms = (double)(now_ms - a->clock_ms), held, pace;

	if (now_ms <= a->clock_ms)
		return;
	a->clock_ms = now_ms;
	if (waiting || a->flying > 0)
		charge(a, ms);
	pace = adapt_pace(a, cfg);
	if (pace <= 0)
		return;
	/* Until the token was there it was the pace that held somebody up. */
	held = (1 - a->tokens) / pace;
	a->tokens = tokens_after(a, cfg, ms);
	if (waiting && !a->closed && held > 0)
		a->grown_ms += held < ms ? held : ms;
}

int64_t
adapt_wait_ms(const struct adapt *a, const struct adapt_cfg *cfg,
    int64_t now_ms)
{
	double tokens, ms;
	int64_t whole;

	if (!a->learned)
		return a->closed || a->flying < a->window ? 0 : INT64_MAX;
	tokens = tokens_after(a, cfg, (double)(now_ms - a->clock_ms));
	if (tokens >= 1)
		return 0;
	ms = (1 - tokens) / adapt_pace(a, cfg);
	whole = (int64_t)ms;
	return (double)whole < ms ? whole + 1 : whole;
}

void
adapt_take(struct adapt *a)
{
	a->flying++;
	a->tokens -= 1;
}

/* A new round begins, at a part of what is good. */
static void
begin_round(struct adapt *a, const struct adapt_cfg *cfg, double good)
{
	a->learned = true;
	a->closed = false;
	a->good = at_least(good, cfg->floor_per_ms);
	a->grown_ms = 0;
	forget(a);
	a->tokens = 0; /* who was served just now has used it up */
}

/*
 * What goes through in the long run, per ms: what was served in all the time in
 * which somebody wanted to be, closed or not. A pace below the limit is part of
 * that average, so the limit is somewhat above it; but never above a pace that
 * was refused.
 */
static double
measured(const struct adapt *a)
{
	double ms = at_least(a->open_ms + a->closed_ms, 1);
	double through = at_least(a->served, 1) / ms;

	if (!a->learned)
		return through;
	through *= HEADROOM;
	return a->peak < through ? a->peak : through;
}

static void
landed(struct adapt *a)
{
	if (a->flying > 0)
		a->flying--;
}

void
adapt_served(struct adapt *a, const struct adapt_cfg *cfg, bool current)
{
	landed(a);
	if (a->closed && current)
		begin_round(a, cfg, measured(a));
	a->served++;
	a->window += START_GROWTH;
}

void
adapt_refused(struct adapt *a, const struct adapt_cfg *cfg, bool current)
{
	landed(a);
	if (!current || a->closed)
		return;
	a->peak = adapt_pace(a, cfg);
	a->closed = true;
	a->grown_ms = 0;
}

void
adapt_void(struct adapt *a)
{
	landed(a);
}

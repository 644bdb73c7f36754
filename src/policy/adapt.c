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
 * Many who share a quota are all refused at its end, each for itself, and knock
 * until it is there again. What costs refusals are the knocks: they are few.
 * What costs time is a key that measures little, therefore knocks late, is
 * refused again soon and measures even less. So knocks have a lower bound, the
 * time for which nobody knows whether all was refused counts half, and the pace
 * rises steeply where nobody else seems to be left.
 */
#include "policy/adapt.h"

#define CUT 0.65        /* of the good rate: where a round begins */
#define SPAN_MS 20000.0 /* until it is back at that rate ... */
#define SPAN_STARTS 0.5 /* ... or the time of so many starts, if that is more */
#define PROBING 4.0     /* beyond it: fivefold after one more span */
#define STEPS 32.0      /* of a span; within one the pace is the same */
#define KNOCKS 0.33     /* of the good rate: while all is refused */
#define FLOOR_KNOCKS 1.5 /* of the floor: never slower than this then */
#define WEARY 0.8        /* of it are left after each knock of the first time */
#define UNSURE 0.5   /* of the time since the last refusal was shut as well */
#define HEADROOM 1.1 /* what went through is less than what could have */
#define MEMORY_MS 60000.0 /* what went through is averaged over it */
#define REST_MS 10000.0   /* without demand: so much of it counts */
#define START_WINDOW 1.0
#define START_GROWTH 0.25 /* of the window, for each answer */
#define LATE_MS 2.0       /* a start so late is made up for */
#define FOREVER_MS 1e12

void
adapt_init(struct adapt *a, int64_t now_ms)
{
	*a = (struct adapt){
	    .weary = 1,
	    .rest_ms = REST_MS, /* what was before the first does not count */
	    .clock_ms = now_ms,
	    .window = START_WINDOW,
	};
}

static double
at_least(double x, double least)
{
	return x > least ? x : least;
}

static double
at_most(double x, double most)
{
	return x < most ? x : most;
}

static double
span_ms(double good)
{
	return at_least(SPAN_STARTS / good, SPAN_MS);
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

	return a->learned ? at_most(HEADROOM * through, a->peak) : through;
}

static double
knock_pace(const struct adapt *a, const struct adapt_cfg *cfg)
{
	double good = a->learned ? a->good : a->weary * measured(a);

	return at_least(KNOCKS * good, FLOOR_KNOCKS * cfg->floor_per_ms);
}

static double
curve(const struct adapt *a, const struct adapt_cfg *cfg)
{
	double x = a->grown_ms / span_ms(a->good) - 1;
	double pace = a->good * (1 + (x < 0 ? 1 - CUT : PROBING) * x * x * x);

	return at_least(pace, cfg->floor_per_ms);
}

double
adapt_pace(const struct adapt *a, const struct adapt_cfg *cfg)
{
	if (!a->learned && !a->closed)
		return 0;
	return a->closed ? knock_pace(a, cfg) : curve(a, cfg);
}

/*
 * The pace holds somebody up for ms, or until one may start; returns what is
 * left of ms then. Meanwhile it grows, so it is done in steps.
 */
static double
hold_up(struct adapt *a, const struct adapt_cfg *cfg, double ms)
{
	while (ms > 0 && a->tokens < 1) {
		double pace = adapt_pace(a, cfg), due = (1 - a->tokens) / pace;
		double step = at_most(ms, due);

		if (!a->closed) {
			step = at_most(step, span_ms(a->good) / STEPS);
			a->grown_ms += step;
		}
		a->tokens = step < due ? a->tokens + pace * step : 1;
		ms -= step;
	}
	return ms;
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

/* Of the time since the last refusal, this part was closed as well. */
static void
settle(struct adapt *a, double part)
{
	/* However long: this is what is measured. */
	a->closed_ms += part * a->unsure_ms;
	a->unsure_ms = 0;
}

/* So much time was there to serve somebody in. */
static void
charge(struct adapt *a, double ms)
{
	if (a->closed) {
		a->unsure_ms += ms;
		return;
	}
	a->open_ms += ms;
	if (a->open_ms + a->closed_ms > 2 * MEMORY_MS)
		forget(a);
}

/* What nobody used for a moment was there as well: who asks seldom would take
 * the time that its requests take for all the time there was. */
static void
charge_rest(struct adapt *a, double ms)
{
	double counts = at_most(ms, REST_MS - a->rest_ms);

	a->rest_ms += counts;
	charge(a, counts);
}

void
adapt_clock(struct adapt *a, const struct adapt_cfg *cfg, int64_t now_ms,
    bool waiting)
{
	double ms = (double)(now_ms - a->clock_ms), pace;

	if (now_ms <= a->clock_ms)
		return;
	a->clock_ms = now_ms;
	if (waiting || a->flying > 0) {
		a->rest_ms = 0;
		charge(a, ms);
	} else {
		charge_rest(a, ms);
	}
	if (waiting && adapt_pace(a, cfg) > 0)
		ms = hold_up(a, cfg, ms);
	/* A start that comes a moment too late does not put the next one off. */
	pace = adapt_pace(a, cfg);
	a->tokens = at_most(a->tokens + pace * ms, 1 + pace * LATE_MS);
}

int64_t
adapt_wait_ms(const struct adapt *a, const struct adapt_cfg *cfg,
    int64_t now_ms)
{
	struct adapt then = *a;
	double ms;
	int64_t whole;

	if (!a->learned && !a->closed)
		return a->flying < a->window ? 0 : INT64_MAX;
	adapt_clock(&then, cfg, now_ms, true);
	if (then.tokens >= 1)
		return 0;
	ms = FOREVER_MS - hold_up(&then, cfg, FOREVER_MS);
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
	if (a->closed && current) {
		settle(a, UNSURE);
		begin_round(a, cfg, measured(a));
	}
	a->served++;
	a->window += START_GROWTH;
}

void
adapt_refused(struct adapt *a, const struct adapt_cfg *cfg, bool current)
{
	landed(a);
	if (!current)
		return;
	if (a->closed) {
		a->weary *= WEARY;
		settle(a, 1);
		return;
	}
	a->peak = adapt_pace(a, cfg);
	a->weary = 1;
	a->tokens = 0;
	a->closed = true;
	a->grown_ms = 0;
}

void
adapt_void(struct adapt *a)
{
	landed(a);
}

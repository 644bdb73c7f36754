/* SPDX-License-Identifier: MIT */
/*
 * instant.c: reading ISO 8601 dates.
 *
 *	date [ ( T | t | blank ) hh:mm [ :ss [ .fraction ] ] [ zone ] ]
 *
 * Decides which point in time was written and how sharply. It refuses to know
 * the time of day now, and to say which end of a vague date is the safe one:
 * who waits for a date takes the late end, who has to be done by it the early.
 */
#include "policy/instant.h"
#include "proto/httpdate.h"
#include "proto/octet.h"

/* Takes exactly `digits` digits off *s. */
static bool
take_number(struct span *s, size_t digits, unsigned *ret)
{
	uint64_t v;

	if (s->n < digits || span_u64((struct span){s->p, digits}, &v))
		return false;
	*s = (struct span){s->p + digits, s->n - digits};
	*ret = (unsigned)v;
	return true;
}

static bool
take_char(struct span *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

/* Whether the month has this day. */
static bool
day_exists(unsigned year, unsigned month, unsigned day)
{
	bool last = month == 12;
	int64_t next =
	    httpdate_days(last ? year + 1 : year, last ? 1 : month + 1, 1);

	return day >= 1 && httpdate_days(year, month, day) < next;
}

/* *ret_extended: with '-' between its parts, so ':' belongs in the time. */
static bool
take_date(struct span *s, int64_t *ret_days, bool *ret_extended)
{
	unsigned year, month, day;

	if (!take_number(s, 4, &year))
		return false;
	*ret_extended = take_char(s, '-');
	if (!take_number(s, 2, &month))
		return false;
	if (*ret_extended && !take_char(s, '-'))
		return false;
	if (!take_number(s, 2, &day))
		return false;
	if (year < 1970 || month < 1 || month > 12)
		return false;
	if (!day_exists(year, month, day))
		return false;
	*ret_days = httpdate_days(year, month, day);
	return true;
}

/* .1*DIGIT in whole ms; *ret_more: there is more than whole ms. */
static bool
take_fraction(struct span *s, int64_t *ret_ms, bool *ret_more)
{
	int64_t scale = 100;
	size_t n = 0;

	*ret_ms = 0;
	*ret_more = false;
	if (!take_char(s, '.'))
		return true;
	for (; n < s->n && octet_is_digit(s->p[n]); n++) {
		*ret_ms += (s->p[n] - '0') * scale;
		*ret_more |= scale == 0 && s->p[n] != '0';
		scale /= 10;
	}
	*s = (struct span){s->p + n, s->n - n};
	return n > 0;
}

static bool
take_time(struct span *s, bool extended, struct instant *at)
{
	unsigned hour, minute, second;
	int64_t fraction_ms;
	bool more;

	if (!take_number(s, 2, &hour) || (extended && !take_char(s, ':')) ||
	    !take_number(s, 2, &minute))
		return false;
	if (hour > 23 || minute > 59)
		return false;
	at->ms += (hour * 60 + minute) * (int64_t)INSTANT_MINUTE_MS;
	at->vague_ms = INSTANT_MINUTE_MS;
	if (extended ? !take_char(s, ':')
		     : s->n == 0 || !octet_is_digit(s->p[0]))
		return true;
	if (!take_number(s, 2, &second) || second > 60)
		return false;
	if (!take_fraction(s, &fraction_ms, &more))
		return false;
	at->ms += second * INT64_C(1000) + fraction_ms;
	at->vague_ms = more;
	return true;
}

static bool
take_zone(struct span *s, struct instant *at)
{
	unsigned hours, minutes = 0;
	bool west = false;

	if (s->n == 0 || take_char(s, 'Z') || take_char(s, 'z'))
		return true;
	if (!take_char(s, '+')) {
		west = take_char(s, '-');
		if (!west)
			return false;
	}
	if (!take_number(s, 2, &hours))
		return false;
	if ((take_char(s, ':') || s->n > 0) && !take_number(s, 2, &minutes))
		return false;
	if (hours > 23 || minutes > 59)
		return false;
	at->ms += (west ? 1 : -1) * (int64_t)(hours * 60 + minutes) *
	    INSTANT_MINUTE_MS;
	return true;
}

int
instant_parse(struct span s, struct instant *ret)
{
	struct instant at = {.vague_ms = INSTANT_DAY_MS};
	int64_t days;
	bool extended;

	if (!take_date(&s, &days, &extended))
		return -1;
	at.ms = days * INSTANT_DAY_MS;
	if (s.n > 0) {
		if (!take_char(&s, 'T') && !take_char(&s, 't') &&
		    !take_char(&s, ' '))
			return -1;
		if (!take_time(&s, extended, &at) || !take_zone(&s, &at))
			return -1;
	}
	if (s.n > 0)
		return -1;
	*ret = at;
	return 0;
}

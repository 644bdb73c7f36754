/* SPDX-License-Identifier: MIT */
/*
 * httpdate.c: reads and writes HTTP dates with calendar arithmetic of its own.
 *
 * Decides what moment a date means. It refuses to know locales, zones and what
 * time it is now (a parameter). The C library's strptime and timegm depend on
 * the locale and take more than the grammar; they are not used.
 *
 *     Sun, 06 Nov 1994 08:49:37 GMT      IMF-fixdate
 *     Sunday, 06-Nov-94 08:49:37 GMT     RFC 850
 *     Sun Nov  6 08:49:37 1994           asctime
 */
#include "proto/httpdate.h"

#include <stdio.h>

#include "proto/octet.h"

#define DAY_S 86400
/* A two-digit year is never further ahead (RFC 9110 5.6.7). */
#define YEARS_AHEAD 50

struct date {
	int64_t year;
	unsigned month, day; /* 1..12, 1..31 */
	unsigned hour, minute, second;
};

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May",
    "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char day_names[7][10] = {"Sunday", "Monday", "Tuesday",
    "Wednesday", "Thursday", "Friday", "Saturday"};

/* Rounds down, also below zero. */
static int64_t
div_floor(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/*
 * Years are counted from March, so that the leap day is the last of its year
 * and the lengths of the months before it follow one straight line:
 * 31, 30, 31, 30, 31 days, again and again, 153 in five months.
 */
int64_t
httpdate_days(int64_t year, unsigned month, unsigned day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t m = month <= 2 ? month + 9 : month - 3;
	int64_t leap_days =
	    div_floor(y, 4) - div_floor(y, 100) + div_floor(y, 400);

	/* 719468 days lie between 0000-03-01 and 1970-01-01. */
	return y * 365 + leap_days + (m * 153 + 2) / 5 + (int64_t)day - 1 -
	    719468;
}

static bool
is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned
month_days(int64_t year, unsigned month)
{
	static const unsigned char days[12] = {31, 28, 31, 30, 31, 30, 31, 31,
	    30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap(year) ? 1U : 0U);
}

/* Keeps times inside the years that have four digits. */
static int64_t
clamp_s(int64_t t_s)
{
	const int64_t first = httpdate_days(0, 1, 1) * DAY_S;
	const int64_t last = httpdate_days(10000, 1, 1) * DAY_S - 1;

	if (t_s < first)
		return first;
	return t_s > last ? last : t_s;
}

/* The inverse of date_seconds. */
static struct date
date_of(int64_t t_s)
{
	int64_t days = div_floor(t_s, DAY_S);
	unsigned of_day = (unsigned)(t_s - days * DAY_S);
	/* By the mean length of a year: near, and with the 1 never too late. */
	int64_t year = div_floor((days + 719468) * 400, 146097) - 1;
	struct date d = {.month = 1};

	while (days >= httpdate_days(year + 1, 1, 1))
		year++;
	d.year = year;
	while (d.month < 12 && days >= httpdate_days(year, d.month + 1, 1))
		d.month++;
	d.day = (unsigned)(days - httpdate_days(year, d.month, 1)) + 1;
	d.hour = of_day / 3600;
	d.minute = of_day / 60 % 60;
	d.second = of_day % 60;
	return d;
}

static int64_t
date_seconds(const struct date *d)
{
	return httpdate_days(d->year, d->month, d->day) * DAY_S +
	    (int64_t)d->hour * 3600 + (int64_t)d->minute * 60 + d->second;
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

/* The run of digits that s begins with, `least` to `most` of them. */
static bool
take_number(struct span *s, size_t least, size_t most, unsigned *ret)
{
	unsigned v = 0;
	size_t n = 0;

	while (n < s->n && n < most && octet_is_digit(s->p[n]))
		v = v * 10 + (unsigned)(s->p[n++] - '0');
	if (n < least)
		return false;
	s->p += n;
	s->n -= n;
	*ret = v;
	return true;
}

/* The run of letters that s begins with; may be empty. */
static struct span
take_word(struct span *s)
{
	struct span word = {s->p, 0};

	while (word.n < s->n && (s->p[word.n] | 0x20) >= 'a' &&
	    (s->p[word.n] | 0x20) <= 'z')
		word.n++;
	s->p += word.n;
	s->n -= word.n;
	return word;
}

static bool
take_month(struct span *s, unsigned *ret)
{
	struct span word = take_word(s);

	for (unsigned i = 0; i < 12; i++) {
		if (span_ieq(word, span_of(month_names[i]))) {
			*ret = i + 1;
			return true;
		}
	}
	return false;
}

/* A day name in full or by its first three letters. */
static bool
is_day_name(struct span word)
{
	for (size_t i = 0; i < 7; i++) {
		if (span_ieq(word, span_of(day_names[i])) ||
		    span_ieq(word, (struct span){day_names[i], 3}))
			return true;
	}
	return false;
}

static bool
take_time(struct span *s, struct date *d)
{
	return take_number(s, 2, 2, &d->hour) && take_char(s, ':') &&
	    take_number(s, 2, 2, &d->minute) && take_char(s, ':') &&
	    take_number(s, 2, 2, &d->second);
}

static bool
is_zone(struct span s)
{
	if (s.n == 0)
		return true;
	return take_char(&s, ' ') &&
	    (span_ieq(s, SPAN("GMT")) || span_ieq(s, SPAN("UTC")) ||
		span_eq(s, SPAN("+0000")));
}

static bool
is_real(const struct date *d)
{
	/* Second 60 is a leap second: it counts as the next second 0. */
	return d->day >= 1 && d->day <= month_days(d->year, d->month) &&
	    d->hour <= 23 && d->minute <= 59 && d->second <= 60;
}

/* `yy` is the year within some century: finds which, from what is now. */
static int64_t
full_year(const struct date *of, unsigned yy, int64_t now_s)
{
	struct date d = *of, limit = date_of(clamp_s(now_s));

	limit.year += YEARS_AHEAD;
	d.year = limit.year - limit.year % 100 + yy;
	if (date_seconds(&d) > date_seconds(&limit))
		d.year -= 100;
	return d.year;
}

/* After the comma: day, month, year, time, zone. */
static bool
parse_day_first(struct span s, int64_t now_s, struct date *d)
{
	unsigned year;
	char separator;
	size_t digits;

	if (!take_char(&s, ' ') || !take_number(&s, 1, 2, &d->day) || s.n == 0)
		return false;
	separator = s.p[0];
	if ((separator != ' ' && separator != '-') ||
	    !take_char(&s, separator) || !take_month(&s, &d->month) ||
	    !take_char(&s, separator))
		return false;
	digits = s.n;
	if (!take_number(&s, 2, 4, &year))
		return false;
	digits -= s.n;
	if (digits == 3 || !take_char(&s, ' ') || !take_time(&s, d) ||
	    !is_zone(s))
		return false;
	d->year = digits == 2 ? full_year(d, year, now_s) : year;
	return true;
}

/* After the day name: month, day, time, year. */
static bool
parse_asctime(struct span s, struct date *d)
{
	unsigned year;

	if (!take_char(&s, ' ') || !take_month(&s, &d->month) ||
	    !take_char(&s, ' '))
		return false;
	(void)take_char(&s, ' '); /* a day of one digit is padded */
	if (!take_number(&s, 1, 2, &d->day) || !take_char(&s, ' ') ||
	    !take_time(&s, d) || !take_char(&s, ' ') ||
	    !take_number(&s, 4, 4, &year))
		return false;
	d->year = year;
	return is_zone(s);
}

int
httpdate_parse(struct span s, int64_t now_s, int64_t *ret_s)
{
	struct date d = {0};

	if (!is_day_name(take_word(&s)))
		return -1;
	if (take_char(&s, ',')) {
		if (!parse_day_first(s, now_s, &d))
			return -1;
	} else if (!parse_asctime(s, &d)) {
		return -1;
	}
	if (!is_real(&d))
		return -1;
	*ret_s = date_seconds(&d);
	return 0;
}

void
httpdate_format(int64_t t_s, char out[HTTPDATE_LEN + 1])
{
	struct date d;
	int64_t weekday;

	t_s = clamp_s(t_s);
	d = date_of(t_s);
	/* 1970-01-01 was a Thursday. */
	weekday = (div_floor(t_s, DAY_S) + 4) % 7;
	weekday = weekday < 0 ? weekday + 7 : weekday;
	(void)snprintf(out, HTTPDATE_LEN + 1,
	    "%.3s, %02u %s %04u %02u:%02u:%02u GMT", day_names[weekday], d.day,
	    month_names[d.month - 1], (unsigned)d.year, d.hour, d.minute,
	    d.second);
}

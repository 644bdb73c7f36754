/* SPDX-License-Identifier: MIT */
/*
 * hint_text.c: waits inside words for people.
 *
 *	Please retry after | 37 seconds.
 *	Please retry in    | 34.07s
 *	Try again in       | 1 hour and 30 minutes
 *	Try again on       | 2026-08-10 12:00:00 UTC
 *	access again on    | 2026-09-01 at 00:00 UTC
 *
 * Who asks has found the words before the bar. What stands behind what is read
 * here is not looked at, but nothing is read in part that could mean more than
 * the part does: an unknown unit, zone, or tail of a number is no hint at all.
 */
#include "policy/hint_form.h"
#include "policy/instant.h"
#include "proto/octet.h"

#define MS_NS UINT64_C(1000000)
#define S_NS (1000 * MS_NS)
#define DATE_N 10 /* 2026-09-01 */
#define TIME_N_MAX 32
#define ZONE_N_MAX 6 /* +02:00 */

static void
skip(struct span *s, size_t n)
{
	*s = (struct span){s->p + n, s->n - n};
}

static bool
is_blank(char c)
{
	return octet_is_blank(c) || c == '\n' || c == '\r';
}

static void
skip_blanks(struct span *s)
{
	while (s->n > 0 && is_blank(s->p[0]))
		skip(s, 1);
}

static bool
is_one_of(char c, struct span set)
{
	return memchr(set.p, c, set.n) != NULL;
}

static bool
is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* Letters, and what is no ASCII: the micro sign. */
static struct span
take_word(struct span *s)
{
	struct span word = {s->p, 0};

	while (word.n < s->n &&
	    (is_letter(s->p[word.n]) || (unsigned char)s->p[word.n] >= 0x80))
		word.n++;
	skip(s, word.n);
	return word;
}

/* --- a point in time ----------------------------------------------------- */

static bool
take_clock(struct span *s, char *to, size_t *n)
{
	size_t i = 0;

	while (i < s->n &&
	    (octet_is_digit(s->p[i]) || s->p[i] == ':' ||
		(s->p[i] == '.' && i + 1 < s->n &&
		    octet_is_digit(s->p[i + 1]))))
		i++;
	if (i == 0 || i > TIME_N_MAX)
		return false;
	memcpy(to + *n, s->p, i);
	*n += i;
	skip(s, i);
	return true;
}

/* A word in capitals behind a time is a zone, or AM or PM. */
static bool
is_capitals(struct span word)
{
	for (size_t i = 0; i < word.n; i++) {
		if (word.p[i] < 'A' || word.p[i] > 'Z')
			return false;
	}
	return word.n > 1 && word.n <= 5;
}

/* "UTC", "+02:00", "GMT+0200". False: the zone, or half of the day, is one that
 * we do not know. */
static bool
take_zone(struct span *s, char *to, size_t *n)
{
	struct span word;
	size_t i = 1;

	skip_blanks(s);
	word = take_word(s);
	if (span_ieq(word, SPAN("am")) || span_ieq(word, SPAN("pm")))
		return false;
	if (is_capitals(word) && !span_eq(word, SPAN("UTC")) &&
	    !span_eq(word, SPAN("GMT")))
		return false;
	if (s->n == 0 || (s->p[0] != '+' && s->p[0] != '-'))
		return true;
	while (i < s->n && i < ZONE_N_MAX &&
	    (octet_is_digit(s->p[i]) || s->p[i] == ':'))
		i++;
	memcpy(to + *n, s->p, i);
	*n += i;
	return true;
}

static int64_t
read_instant(struct span s, const struct hint_clock *clk)
{
	char text[DATE_N + 1 + TIME_N_MAX + ZONE_N_MAX];
	struct instant at;
	size_t n = DATE_N;

	if (s.n <= DATE_N)
		return 0;
	memcpy(text, s.p, DATE_N);
	skip(&s, DATE_N);
	text[n++] = 'T';
	if (s.p[0] == 'T') {
		skip(&s, 1);
	} else {
		skip_blanks(&s);
		if (span_istarts(s, SPAN("at ")))
			skip(&s, 3);
		skip_blanks(&s);
	}
	if (!take_clock(&s, text, &n) || !take_zone(&s, text, &n) ||
	    instant_parse((struct span){text, n}, &at))
		return 0;
	return hint_until(clk, at.ms + at.vague_ms);
}

/* --- an amount ----------------------------------------------------------- */

/* clang-format off */
static const struct unit {
	const char *names[6];
	uint64_t ns;
} units[] = {
	{{"s", "sec", "secs", "second", "seconds"}, S_NS},
	{{"ms", "msec", "msecs", "millisecond", "milliseconds", "millis"}, MS_NS},
	{{"m", "min", "mins", "minute", "minutes"}, 60 * S_NS},
	{{"h", "hr", "hrs", "hour", "hours"}, 3600 * S_NS},
	{{"d", "day", "days"}, 86400 * S_NS},
	{{"week", "weeks"}, 7 * 86400 * S_NS},
	{{"us", "\xc2\xb5s", "\xce\xbcs", "microsecond", "microseconds"}, 1000},
	{{"ns", "nanosecond", "nanoseconds"}, 1},
};
/* clang-format on */

/* The ns of one, or 0. */
static uint64_t
unit_ns(struct span word)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		for (size_t k = 0; k < 6 && units[i].names[k] != NULL; k++) {
			if (span_ieq(word, span_of(units[i].names[k])))
				return units[i].ns;
		}
	}
	return 0;
}

/* "1,200": takes the next group of three digits. */
static bool
take_thousands(struct span *s, uint64_t *whole)
{
	struct span rest;
	uint64_t group;

	if (s->n < 4 || s->p[0] != ',')
		return false;
	rest = (struct span){s->p + 1, s->n - 1};
	if (decimal_digits(rest) != 3 ||
	    span_u64((struct span){rest.p, 3}, &group))
		return false;
	*whole =
	    *whole > UINT64_MAX / 1000 - 1 ? UINT64_MAX : *whole * 1000 + group;
	skip(s, 4);
	return true;
}

/* The dot that ends a sentence is none of the number. */
static bool
take_number(struct span *s, struct decimal *ret)
{
	size_t n = decimal_digits(*s);
	struct span number = {s->p, n};

	if (n == 0)
		return false;
	if (n + 1 < s->n && s->p[n] == '.' && octet_is_digit(s->p[n + 1])) {
		number.n += 1;
		number.n += decimal_digits(
		    (struct span){s->p + number.n, s->n - number.n});
	}
	if (!decimal_is(number, ret))
		return false;
	skip(s, number.n);
	while (n <= 3 && number.n == n && take_thousands(s, &ret->whole))
		continue;
	return true;
}

/* A number with its unit. ret_ns: in all. */
static bool
take_term(struct span *s, decimal_wide *ret_ns)
{
	struct span rest = *s;
	struct decimal d;
	uint64_t ns;

	if (!take_number(&rest, &d))
		return false;
	skip_blanks(&rest);
	ns = unit_ns(take_word(&rest));
	if (ns == 0)
		return false;
	*ret_ns = decimal_times(&d, ns);
	*s = rest;
	return true;
}

/* Between two terms: blanks, a comma, "and". */
static void
skip_between(struct span *s)
{
	skip_blanks(s);
	if (s->n > 0 && s->p[0] == ',')
		skip(s, 1);
	skip_blanks(s);
	if (span_istarts(*s, SPAN("and ")))
		skip(s, 4);
	skip_blanks(s);
}

static int64_t
read_terms(struct span s)
{
	const decimal_wide forever_ns = (decimal_wide)HINT_FOREVER_MS * MS_NS;
	decimal_wide term_ns, sum_ns = 0;

	while (take_term(&s, &term_ns)) {
		sum_ns += term_ns;
		if (sum_ns > forever_ns)
			sum_ns = forever_ns;
		/* "1m30": of what? */
		if (s.n > 0 && octet_is_digit(s.p[0]) &&
		    !take_term(&(struct span){s.p, s.n}, &term_ns))
			return 0;
		skip_between(&s);
	}
	return hint_saturated((sum_ns + MS_NS - 1) / MS_NS);
}

/* Is that the end of a number, with no unit to follow? */
static bool
ends_number(struct span s)
{
	if (s.n > 1 && (s.p[0] == '.' || s.p[0] == ',') && !is_blank(s.p[1]) &&
	    s.p[1] != '"' && s.p[1] != '<')
		return false;
	if (s.n > 0 && !is_blank(s.p[0]))
		return is_one_of(s.p[0], SPAN(".,;!?)]}\"'`<\\"));
	skip_blanks(&s);
	return s.n == 0 ||
	    !(is_letter(s.p[0]) || octet_is_digit(s.p[0]) ||
		(unsigned char)s.p[0] >= 0x80 || s.p[0] == '-');
}

static int64_t
read_number(struct span s, const struct hint_clock *clk)
{
	struct decimal d;

	if (!take_number(&s, &d) || !ends_number(s))
		return 0;
	return hint_auto_number(&d, clk);
}

int
hint_text(struct span text, const struct hint_clock *clk, int64_t *ret_ms)
{
	int64_t wait_ms;

	while (text.n > 0 &&
	    (is_blank(text.p[0]) || is_one_of(text.p[0], SPAN("\"'`:="))))
		skip(&text, 1);
	wait_ms = read_instant(text, clk);
	if (wait_ms == 0)
		wait_ms = read_terms(text);
	if (wait_ms == 0)
		wait_ms = read_number(text, clk);
	if (wait_ms == 0)
		return -1;
	*ret_ms = wait_ms;
	return 0;
}

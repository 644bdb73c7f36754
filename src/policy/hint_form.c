/* SPDX-License-Identifier: MIT */
/*
 * hint_form.c: what one value means.
 *
 *	value --> items between commas --> format --> ms from now
 *	                                      |
 *	        relative: s, ms, duration ----+
 *	        absolute: dates and epochs, less Date and Age
 *
 * It refuses to know the field that the value stood in, and how long is too
 * long: a wait of a thousand years is a valid hint, and it is for others to
 * relay the answer instead of waiting.
 *
 * A value is read whole or not at all. Numbers are exact integers from end to
 * end and rounded up once, at the end: a hint read short means to knock early,
 * which many services answer with a longer ban.
 */
#include "policy/hint_form.h"
#include "policy/hint_limit.h"
#include "policy/instant.h"
#include "proto/httpdate.h"
#include "proto/octet.h"

#define AHEAD_MS_MAX (INT64_C(35) * INSTANT_DAY_MS)
#define CENTURY_MS (INT64_C(36525) * INSTANT_DAY_MS)

/* auto: numbers from here on are epochs. */
#define AUTO_EPOCH UINT64_C(1000000000)
#define AUTO_EPOCH_MS UINT64_C(1000000000000)

int64_t
hint_saturated(decimal_wide ms)
{
	return ms > HINT_FOREVER_MS ? HINT_FOREVER_MS : (int64_t)ms;
}

/* --- formats ------------------------------------------------------------- */
/* A reader gives the wait in ms; 0: the value is none in its format. */

/* From the moment of the answer, by the clock of who sent it, until at_ms. */
static int64_t
ahead(const struct hint_clock *clk, int64_t at_ms)
{
	if (clk->date_ms < 0)
		return at_ms - clk->wall_ms;
	return at_ms - clk->date_ms - clk->age_ms;
}

int64_t
hint_until(const struct hint_clock *clk, int64_t at_ms)
{
	int64_t wait_ms = ahead(clk, at_ms);

	return wait_ms > 0 && wait_ms <= AHEAD_MS_MAX ? wait_ms : 0;
}

static int64_t
read_s(struct span s, const struct hint_clock *clk)
{
	struct decimal d;

	(void)clk;
	return decimal_is(s, &d) ? hint_saturated(decimal_times(&d, 1000)) : 0;
}

static int64_t
read_ms(struct span s, const struct hint_clock *clk)
{
	struct decimal d;

	(void)clk;
	return decimal_is(s, &d) ? hint_saturated(decimal_times(&d, 1)) : 0;
}

/* Takes "+0130" or "-0700" off the end of *s: how far it is ahead of UTC. */
static bool
drop_zone(struct span *s, int64_t *ret_ms)
{
	struct span zone = {s->p + s->n - 5, 5};
	uint64_t n;

	if (s->n < 5 || (zone.p[0] != '+' && zone.p[0] != '-') ||
	    span_u64((struct span){zone.p + 1, 4}, &n))
		return false;
	if (n > 2359 || n % 100 > 59)
		return false;
	*ret_ms = (int64_t)(n / 100 * 60 + n % 100) * INSTANT_MINUTE_MS;
	if (zone.p[0] == '-')
		*ret_ms = -*ret_ms;
	s->n -= zone.n;
	return true;
}

/* zone_ms: of a date that names none itself. */
static int64_t
read_date(struct span s, int64_t zone_ms, const struct hint_clock *clk)
{
	int64_t now_ms = clk->date_ms < 0 ? clk->wall_ms : clk->date_ms;
	int64_t at_s;

	if (httpdate_parse(s, now_ms / 1000, &at_s))
		return 0;
	return hint_until(clk, at_s * 1000 - zone_ms);
}

/* The date of a mail is one with a number for its zone (RFC 2822 3.3). */
static int64_t
read_http_date(struct span s, const struct hint_clock *clk)
{
	struct span date = s;
	int64_t zone_ms;

	if (!drop_zone(&date, &zone_ms) || !span_ends(date, SPAN(" ")))
		return read_date(s, 0, clk);
	date.n--;
	/* A zone of its own before that one is none too many. */
	if (date.n == 0 || !octet_is_digit(date.p[date.n - 1]))
		return 0;
	return read_date(date, zone_ms, clk);
}

/*
 * What Date.toString() of JavaScript gives (ECMA-262, 21.4.4.41):
 *
 *	Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)
 *
 * Its first 24 bytes are those of an asctime date with the year moved.
 */
static int64_t
read_js_date(struct span s, const struct hint_clock *clk)
{
	enum { DAY_N = 11, YEAR_N = 5, TIME_N = 8, ALL_N = 24 };
	const char *paren = s.n > 0 ? memchr(s.p, '(', s.n) : NULL;
	char date[ALL_N];
	int64_t zone_ms;

	if (paren != NULL) {
		if (s.p[s.n - 1] != ')')
			return 0;
		s = span_trim((struct span){s.p, (size_t)(paren - s.p)});
	}
	if (!drop_zone(&s, &zone_ms) || s.n != ALL_N + 4 ||
	    !span_ends(s, SPAN(" GMT")) || s.p[DAY_N + YEAR_N - 1] != ' ')
		return 0;
	memcpy(date, s.p, DAY_N);
	memcpy(date + DAY_N, s.p + DAY_N + YEAR_N, TIME_N);
	memcpy(date + DAY_N + TIME_N, s.p + DAY_N - 1, YEAR_N);
	return read_date((struct span){date, ALL_N}, zone_ms, clk);
}

/* So many units of so many ms since 1970. */
static int64_t
read_since_1970(struct span s, const struct hint_clock *clk, uint64_t unit_ms)
{
	struct decimal d;

	return decimal_is(s, &d)
	    ? hint_until(clk, hint_saturated(decimal_times(&d, unit_ms)))
	    : 0;
}

static int64_t
read_epoch(struct span s, const struct hint_clock *clk)
{
	return read_since_1970(s, clk, 1000);
}

static int64_t
read_epoch_ms(struct span s, const struct hint_clock *clk)
{
	return read_since_1970(s, clk, 1);
}

/* Jira cuts the seconds off its resets; a day alone tells nothing useful. */
static int64_t
read_iso8601(struct span s, const struct hint_clock *clk)
{
	struct instant at;

	if (instant_parse(s, &at) || at.vague_ms > INSTANT_MINUTE_MS)
		return 0;
	return hint_until(clk, at.ms + at.vague_ms);
}

#define NS_PER_MS 1000000

/* The longer of two that begin alike comes first. */
static const struct unit {
	struct span name;
	uint64_t ns;
} units[] = {
    {{"ms", 2}, NS_PER_MS},
    {{"us", 2}, 1000},
    {{"\xc2\xb5s", 3}, 1000}, /* micro sign, U+00B5 */
    {{"\xce\xbcs", 3}, 1000}, /* Greek mu, U+03BC */
    {{"ns", 2}, 1},
    {{"h", 1}, UINT64_C(3600000) * NS_PER_MS},
    {{"m", 1}, UINT64_C(60000) * NS_PER_MS},
    {{"s", 1}, UINT64_C(1000) * NS_PER_MS},
};

/* The ns of one, or 0. */
static uint64_t
take_unit(struct span *s)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (span_starts(*s, units[i].name)) {
			*s = (struct span){s->p + units[i].name.n,
			    s->n - units[i].name.n};
			return units[i].ns;
		}
	}
	return 0;
}

static int64_t
read_duration(struct span s, const struct hint_clock *clk)
{
	const decimal_wide forever_ns =
	    (decimal_wide)HINT_FOREVER_MS * NS_PER_MS;
	decimal_wide sum_ns = 0;

	(void)clk;
	while (s.n > 0) {
		struct decimal d;
		uint64_t unit_ns;

		if (!decimal_take(&s, &d))
			return 0;
		unit_ns = take_unit(&s);
		if (unit_ns == 0)
			return 0;
		sum_ns += decimal_times(&d, unit_ns);
		if (sum_ns > forever_ns)
			sum_ns = forever_ns;
	}
	return hint_saturated((sum_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/*
 * What is large enough for an epoch is one, unless that lies more than a
 * century ahead: no limit is ever reset then. `Retry-After: 9999999999` means
 * its seconds, as RFC 9110 10.2.3 says.
 */
int64_t
hint_auto_number(const struct decimal *d, const struct hint_clock *clk)
{
	int64_t at_ms;

	if (d->whole < AUTO_EPOCH)
		return hint_saturated(decimal_times(d, 1000));
	at_ms = hint_saturated(
	    decimal_times(d, d->whole < AUTO_EPOCH_MS ? 1000 : 1));
	if (ahead(clk, at_ms) > CENTURY_MS)
		return hint_saturated(decimal_times(d, 1000));
	return hint_until(clk, at_ms);
}

int64_t
hint_auto(struct span s, const struct hint_clock *clk)
{
	struct decimal d;
	int64_t wait_ms;

	if (decimal_is(s, &d))
		return hint_auto_number(&d, clk);
	wait_ms = read_iso8601(s, clk);
	if (wait_ms == 0)
		wait_ms = read_duration(s, clk);
	if (wait_ms == 0)
		wait_ms = read_http_date(s, clk);
	if (wait_ms == 0)
		wait_ms = read_js_date(s, clk);
	return wait_ms;
}

static int64_t
read_text(struct span s, const struct hint_clock *clk)
{
	int64_t wait_ms;

	return hint_text(s, clk, &wait_ms) ? 0 : wait_ms;
}

static int64_t
read_limits(struct span s, enum hint_format f, const struct hint_clock *clk)
{
	struct hint_limits all = {.any_ms = 0};

	hint_limits_read(&all, s, f, clk);
	return all.spent_ms;
}

static int64_t
read_sf(struct span s, const struct hint_clock *clk)
{
	return read_limits(s, HINT_SF, clk);
}

static int64_t
read_pairs(struct span s, const struct hint_clock *clk)
{
	return read_limits(s, HINT_PAIRS, clk);
}

static const struct format {
	const char *name;
	int64_t (*read)(struct span s, const struct hint_clock *clk);
	bool whole; /* commas are its own affair */
} formats[HINT_FORMAT_COUNT] = {
    [HINT_AUTO] = {"auto", hint_auto, false},
    [HINT_S] = {"s", read_s, false},
    [HINT_MS] = {"ms", read_ms, false},
    [HINT_HTTP_DATE] = {"http-date", read_http_date, false},
    [HINT_EPOCH] = {"epoch", read_epoch, false},
    [HINT_EPOCH_MS] = {"epoch-ms", read_epoch_ms, false},
    [HINT_ISO8601] = {"iso8601", read_iso8601, false},
    [HINT_DURATION] = {"duration", read_duration, false},
    [HINT_JS_DATE] = {"js-date", read_js_date, false},
    [HINT_TEXT] = {"text", read_text, true},
    [HINT_SF] = {"sf", read_sf, true},
    [HINT_PAIRS] = {"pairs", read_pairs, true},
};

/* --- values -------------------------------------------------------------- */

static bool
is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* "Sun", "Sunday": an HTTP-date goes on after the comma that follows. */
static bool
is_day_name(struct span s)
{
	static const char names[] = "MonTueWedThuFriSatSun";
	bool known = false;

	if (s.n < 3)
		return false;
	for (size_t i = 0; i + 3 < sizeof(names); i += 3)
		known = known || span_istarts(s, (struct span){names + i, 3});
	for (size_t i = 3; i < s.n; i++)
		known = known && is_letter(s.p[i]);
	return known;
}

static bool
next_item(struct span *rest, struct span *ret_item)
{
	struct span item, date;

	if (!span_cut(rest, ',', &item))
		return false;
	if (is_day_name(span_trim(item)) && span_cut(rest, ',', &date))
		item.n = (size_t)(date.p + date.n - item.p);
	*ret_item = span_trim(item);
	return true;
}

static int64_t
longest_item(struct span value, enum hint_format f,
    const struct hint_clock *clk)
{
	struct span item;
	int64_t longest_ms = 0;

	while (next_item(&value, &item)) {
		int64_t wait_ms = formats[f].read(item, clk);

		if (wait_ms > longest_ms)
			longest_ms = wait_ms;
	}
	return longest_ms;
}

int
hint_value(struct span value, enum hint_format f, const struct hint_clock *clk,
    int64_t *ret_ms)
{
	int64_t wait_ms = formats[f].whole ? formats[f].read(value, clk)
					   : longest_item(value, f, clk);

	if (wait_ms == 0)
		return -1;
	*ret_ms = wait_ms;
	return 0;
}

struct hint_clock
hint_clock_of(const struct head *h, int64_t wall_ms)
{
	struct hint_clock clk = {.wall_ms = wall_ms, .date_ms = -1};
	int64_t date_s;
	uint64_t age_s;

	if (head_has(h, FIELD_DATE) &&
	    !httpdate_parse(head_get(h, FIELD_DATE), wall_ms / 1000, &date_s))
		clk.date_ms = date_s * 1000;
	if (!span_u64(head_get(h, FIELD_AGE), &age_s))
		clk.age_ms = hint_saturated((decimal_wide)age_s * 1000);
	return clk;
}

int
hint_format_parse(struct span name, enum hint_format *ret)
{
	for (unsigned i = 0; i < HINT_FORMAT_COUNT; i++) {
		if (span_eq(name, span_of(formats[i].name))) {
			*ret = (enum hint_format)i;
			return 0;
		}
	}
	return -1;
}

const char *
hint_format_name(enum hint_format f)
{
	return formats[f].name;
}

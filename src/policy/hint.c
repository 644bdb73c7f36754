/* SPDX-License-Identifier: MIT */
/*
 * hint.c: how long a response tells us to wait.
 *
 *	field line --> items between commas --> format --> ms from now
 *	                                          |
 *	            relative: s, ms, duration ----+
 *	            absolute: dates and epochs, less Date and Age
 *
 * Decides what a value means, and which of several holds. It refuses to know
 * the status of the response, what becomes of the hint, and how long is too
 * long: a wait of a thousand years is a valid hint, and it is for others to
 * relay the answer instead of waiting.
 *
 * A value is read whole or not at all. Numbers are exact integers from end to
 * end and rounded up once, at the end: a hint read short means to knock early,
 * which many services answer with a longer ban.
 */
#include "policy/hint.h"
#include "policy/instant.h"
#include "proto/httpdate.h"
#include "proto/octet.h"

#define FOREVER_MS (INT64_MAX / 4)
#define AHEAD_MS_MAX (INT64_C(35) * INSTANT_DAY_MS)
#define CENTURY_MS (INT64_C(36525) * INSTANT_DAY_MS)

/* auto: numbers from here on are epochs. */
#define AUTO_EPOCH UINT64_C(1000000000)
#define AUTO_EPOCH_MS UINT64_C(1000000000000)

typedef unsigned __int128 wide;

/* --- numbers ------------------------------------------------------------- */

#define PARTS UINT64_C(1000000000000000000) /* of one: 18 decimal places */

struct decimal {
	uint64_t whole; /* saturates */
	uint64_t parts; /* rounded up where there are more places */
};

static size_t
digits(struct span s)
{
	size_t n = 0;

	while (n < s.n && octet_is_digit(s.p[n]))
		n++;
	return n;
}

static void
skip(struct span *s, size_t n)
{
	*s = (struct span){s->p + n, s->n - n};
}

static uint64_t
read_parts(struct span places)
{
	uint64_t parts = 0, scale = PARTS / 10;
	bool more = false;

	for (size_t i = 0; i < places.n; i++) {
		parts += (uint64_t)(places.p[i] - '0') * scale;
		more = more || (scale == 0 && places.p[i] != '0');
		scale /= 10;
	}
	return more ? parts + 1 : parts;
}

/* Takes 1*DIGIT [ "." 1*DIGIT ] off *s. */
static bool
take_decimal(struct span *s, struct decimal *ret)
{
	size_t n = digits(*s);

	*ret = (struct decimal){.parts = 0};
	if (span_u64((struct span){s->p, n}, &ret->whole))
		return false;
	skip(s, n);
	if (s->n == 0 || s->p[0] != '.')
		return true;
	skip(s, 1);
	n = digits(*s);
	ret->parts = read_parts((struct span){s->p, n});
	skip(s, n);
	return n > 0;
}

static bool
is_decimal(struct span s, struct decimal *ret)
{
	return take_decimal(&s, ret) && s.n == 0;
}

/* Rounded up. unit: at most an hour in ns, so the product stays in range. */
static wide
times(const struct decimal *d, uint64_t unit)
{
	wide parts = (wide)d->parts * unit;

	return (wide)d->whole * unit + (parts + PARTS - 1) / PARTS;
}

static int64_t
saturated(wide ms)
{
	return ms > FOREVER_MS ? FOREVER_MS : (int64_t)ms;
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

static int64_t
until(const struct hint_clock *clk, int64_t at_ms)
{
	int64_t wait_ms = ahead(clk, at_ms);

	return wait_ms > 0 && wait_ms <= AHEAD_MS_MAX ? wait_ms : 0;
}

static int64_t
read_s(struct span s, const struct hint_clock *clk)
{
	struct decimal d;

	(void)clk;
	return is_decimal(s, &d) ? saturated(times(&d, 1000)) : 0;
}

static int64_t
read_ms(struct span s, const struct hint_clock *clk)
{
	struct decimal d;

	(void)clk;
	return is_decimal(s, &d) ? saturated(times(&d, 1)) : 0;
}

static int64_t
read_http_date(struct span s, const struct hint_clock *clk)
{
	int64_t now_ms = clk->date_ms < 0 ? clk->wall_ms : clk->date_ms;
	int64_t at_s;

	if (httpdate_parse(s, now_ms / 1000, &at_s))
		return 0;
	return until(clk, at_s * 1000);
}

static int64_t
read_epoch(struct span s, const struct hint_clock *clk)
{
	struct decimal d;

	return is_decimal(s, &d) ? until(clk, saturated(times(&d, 1000))) : 0;
}

static int64_t
read_epoch_ms(struct span s, const struct hint_clock *clk)
{
	struct decimal d;

	return is_decimal(s, &d) ? until(clk, saturated(times(&d, 1))) : 0;
}

/* Jira cuts the seconds off its resets; a day alone tells nothing useful. */
static int64_t
read_iso8601(struct span s, const struct hint_clock *clk)
{
	struct instant at;

	if (instant_parse(s, &at) || at.vague_ms > INSTANT_MINUTE_MS)
		return 0;
	return until(clk, at.ms + at.vague_ms);
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
			skip(s, units[i].name.n);
			return units[i].ns;
		}
	}
	return 0;
}

static int64_t
read_duration(struct span s, const struct hint_clock *clk)
{
	const wide forever_ns = (wide)FOREVER_MS * NS_PER_MS;
	wide sum_ns = 0;

	(void)clk;
	while (s.n > 0) {
		struct decimal d;
		uint64_t unit_ns;

		if (!take_decimal(&s, &d))
			return 0;
		unit_ns = take_unit(&s);
		if (unit_ns == 0)
			return 0;
		sum_ns += times(&d, unit_ns);
		if (sum_ns > forever_ns)
			sum_ns = forever_ns;
	}
	return saturated((sum_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/*
 * What is large enough for an epoch is one, unless that lies more than a
 * century ahead: no limit is ever reset then. `Retry-After: 9999999999` means
 * its seconds, as RFC 9110 10.2.3 says.
 */
static int64_t
read_auto_number(const struct decimal *d, const struct hint_clock *clk)
{
	int64_t at_ms;

	if (d->whole < AUTO_EPOCH)
		return saturated(times(d, 1000));
	at_ms = saturated(times(d, d->whole < AUTO_EPOCH_MS ? 1000 : 1));
	if (ahead(clk, at_ms) > CENTURY_MS)
		return saturated(times(d, 1000));
	return until(clk, at_ms);
}

static int64_t
read_auto(struct span s, const struct hint_clock *clk)
{
	struct decimal d;
	int64_t wait_ms;

	if (is_decimal(s, &d))
		return read_auto_number(&d, clk);
	wait_ms = read_iso8601(s, clk);
	if (wait_ms == 0)
		wait_ms = read_duration(s, clk);
	if (wait_ms == 0)
		wait_ms = read_http_date(s, clk);
	return wait_ms;
}

static const struct format {
	const char *name;
	int64_t (*read)(struct span s, const struct hint_clock *clk);
} formats[HINT_FORMAT_COUNT] = {
    [HINT_AUTO] = {"auto", read_auto},
    [HINT_S] = {"s", read_s},
    [HINT_MS] = {"ms", read_ms},
    [HINT_HTTP_DATE] = {"http-date", read_http_date},
    [HINT_EPOCH] = {"epoch", read_epoch},
    [HINT_EPOCH_MS] = {"epoch-ms", read_epoch_ms},
    [HINT_ISO8601] = {"iso8601", read_iso8601},
    [HINT_DURATION] = {"duration", read_duration},
};

/* --- values and fields --------------------------------------------------- */

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

int
hint_value(struct span value, enum hint_format f, const struct hint_clock *clk,
    int64_t *ret_ms)
{
	struct span item;
	int64_t longest_ms = 0;

	while (next_item(&value, &item)) {
		int64_t wait_ms = formats[f].read(item, clk);

		if (wait_ms > longest_ms)
			longest_ms = wait_ms;
	}
	if (longest_ms == 0)
		return -1;
	*ret_ms = longest_ms;
	return 0;
}

static int64_t
longest_of_fields(const struct hint_source *source, const struct head *h,
    const struct hint_clock *clk)
{
	int64_t wait_ms, longest_ms = 0;

	for (unsigned i = 0; i < h->nfields; i++) {
		const struct field *field = &h->fields[i];

		if (!span_ieq(field->name, source->name))
			continue;
		if (hint_value(field->value, source->format, clk, &wait_ms))
			continue;
		if (wait_ms > longest_ms)
			longest_ms = wait_ms;
	}
	return longest_ms;
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
		clk.age_ms = saturated((wide)age_s * 1000);
	return clk;
}

struct hint
hint_find(const struct hint_cfg *cfg, const struct head *h, int64_t wall_ms)
{
	struct hint_clock clk = hint_clock_of(h, wall_ms);

	for (size_t i = 0; i < cfg->n; i++) {
		const struct hint_source *source = &cfg->v[i];
		int64_t wait_ms = longest_of_fields(source, h, &clk);

		if (wait_ms > 0)
			return (struct hint){true, wait_ms, source->name};
	}
	return (struct hint){.valid = false};
}

/* --- configuration ------------------------------------------------------- */

/* clang-format off */
#define NAME(text) {text, sizeof(text) - 1}

static const struct hint_source defaults[] = {
	{NAME("retry-after-ms"),      HINT_MS},
	{NAME("x-ms-retry-after-ms"), HINT_MS},
	{NAME("x-amz-retry-after"),   HINT_MS},
	{NAME("retry-after"),         HINT_AUTO},
};
/* clang-format on */

const struct hint_cfg hint_default = {defaults,
    sizeof(defaults) / sizeof(defaults[0])};

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

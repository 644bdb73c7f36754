/* SPDX-License-Identifier: MIT */
/*
 * conf_value.c: words of the configuration and what they mean.
 *
 * Decides the syntax of each kind of value and nothing about its bounds: those
 * belong to the option. A number without its unit is refused rather than
 * guessed at, and so is one that can't be kept exactly.
 */
#include "edge/conf_value.h"

#include "proto/octet.h"

#define NUMBER_MAX 1000000000u /* before the unit; keeps products in 64 bits */
#define FRACTION_DIGITS 9
#define YEAR_MS (INT64_C(366) * 24 * 3600 * 1000)

struct unit {
	const char *name;
	uint64_t times;
};

static const struct unit duration_units[] = {
    {"ms", 1},
    {"s", 1000},
    {"min", 60 * 1000},
    {"h", 3600 * 1000},
    {"d", 24 * 3600 * 1000},
    {NULL, 0},
};
static const struct unit size_units[] = {
    {"B", 1},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {NULL, 0},
};
static const struct unit rate_units[] = {
    {"ms", 1},
    {"s", 1000},
    {"min", 60 * 1000},
    {"h", 3600 * 1000},
    {"day", 24 * 3600 * 1000},
    {NULL, 0},
};

/* whole + fraction / scale */
struct decimal {
	uint64_t whole, fraction, scale;
};

static struct span
skip(struct span s, size_t n)
{
	return (struct span){s.p + n, s.n - n};
}

/* Takes "12" or "1.5" off the front of *s. */
static int
take_decimal(struct span *s, struct decimal *ret, const char **ret_why)
{
	size_t n = octet_digits(*s);

	*ret = (struct decimal){.scale = 1};
	if (span_u64((struct span){s->p, n}, &ret->whole) != 0) {
		*ret_why = "it does not begin with a digit";
		return -1;
	}
	*s = skip(*s, n);
	if (s->n > 0 && s->p[0] == '.') {
		*s = skip(*s, 1);
		n = octet_digits(*s);
		if (n == 0 || n > FRACTION_DIGITS) {
			*ret_why = "1 to 9 digits follow a decimal point";
			return -1;
		}
		for (size_t i = 0; i < n; i++) {
			ret->fraction =
			    10 * ret->fraction + (uint64_t)(s->p[i] - '0');
			ret->scale *= 10;
		}
		*s = skip(*s, n);
	}
	if (ret->whole > NUMBER_MAX) {
		*ret_why = "the number is too large; use a larger unit";
		return -1;
	}
	return 0;
}

static const struct unit *
find_unit(const struct unit *units, struct span name)
{
	for (; units->name != NULL; units++) {
		if (span_eq(span_of(units->name), name))
			return units;
	}
	return NULL;
}

static int
with_unit(struct span s, const struct unit *units, uint64_t *ret,
    const char **ret_why)
{
	struct decimal d;

	if (take_decimal(&s, &d, ret_why) != 0)
		return -1;
	if (s.n == 0 && d.whole == 0 && d.fraction == 0) {
		*ret = 0;
		return 0;
	}
	const struct unit *u = find_unit(units, s);
	if (u == NULL) {
		*ret_why = s.n == 0 ? "the unit is missing"
		    : s.p[0] == ' ' ? "a space stands before the unit"
		    : s.p[0] == '.' ? "two decimal points"
				    : "no such unit";
		return -1;
	}
	if (d.fraction * u->times % d.scale != 0) {
		*ret_why = "the fraction is too fine";
		return -1;
	}
	*ret = d.whole * u->times + d.fraction * u->times / d.scale;
	return 0;
}

int
value_count(struct span s, uint64_t *ret, const char **ret_why)
{
	if (span_u64(s, ret) != 0) {
		*ret_why = "it is no whole number";
		return -1;
	}
	return 0;
}

int
value_duration(struct span s, int64_t *ret_ms, const char **ret_why)
{
	uint64_t ms;

	if (with_unit(s, duration_units, &ms, ret_why) != 0)
		return -1;
	*ret_ms = (int64_t)ms; /* at most 10^9 days and one: fits */
	return 0;
}

/* KB is 1000 bytes to some and 1024 to others, so neither is taken. */
static bool
is_loose_size_unit(struct span s)
{
	static const char *const loose[] = {"k", "kb", "m", "mb", "g", "gb",
	    "kib", "mib", "gib", "b"};
	size_t n = octet_digits(s);

	for (size_t i = 0; i < sizeof(loose) / sizeof(loose[0]); i++) {
		if (n > 0 && span_ieq(skip(s, n), span_of(loose[i])))
			return true;
	}
	return false;
}

int
value_size(struct span s, uint64_t *ret_bytes, const char **ret_why)
{
	if (with_unit(s, size_units, ret_bytes, ret_why) == 0)
		return 0;
	if (is_loose_size_unit(s))
		*ret_why = "units are spelled B, KiB, MiB, GiB, powers of 1024";
	return -1;
}

int
value_flag(struct span s, bool *ret, const char **ret_why)
{
	static const char *const words[] = {"no", "yes", "off", "on", "false",
	    "true"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (span_eq(s, span_of(words[i]))) {
			*ret = i % 2 == 1;
			return 0;
		}
	}
	*ret_why = "it is neither yes nor no";
	return -1;
}

static uint64_t
gcd(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* "90/min" or "1.5/s" in lowest terms: 1.5/s is 3 per 2 s. */
static int
rate_proper(struct span s, struct bucket_rate *ret, const char **ret_why)
{
	struct decimal d;

	if (take_decimal(&s, &d, ret_why) != 0)
		return -1;
	if (s.n == 0 || s.p[0] != '/') {
		*ret_why = "a rate is NUMBER/UNIT";
		return -1;
	}
	const struct unit *u = find_unit(rate_units, skip(s, 1));
	if (u == NULL) {
		*ret_why = "no such unit";
		return -1;
	}
	uint64_t count = d.whole * d.scale + d.fraction;
	uint64_t per_ms = u->times * d.scale;
	if (count == 0) {
		*ret_why = "a rate of 0 would let nothing through";
		return -1;
	}
	uint64_t common = gcd(count, per_ms);
	count /= common;
	per_ms /= common;
	if (count > NUMBER_MAX || per_ms > YEAR_MS) {
		*ret_why = "the rate is too large, too small or too fine";
		return -1;
	}
	*ret = (struct bucket_rate){.count = count, .per_ms = (int64_t)per_ms};
	return 0;
}

int
value_rate(struct span s, struct bucket_rate *ret, const char **ret_why)
{
	struct bucket_rate r;
	struct span rest = s, word, number;

	if (!span_cut(&rest, ' ', &word) || rate_proper(word, &r, ret_why) != 0)
		return -1;
	if (rest.p == NULL) {
		*ret = r;
		return 0;
	}
	rest = span_trim(rest);
	if (!span_cut(&rest, ' ', &word) || !span_eq(word, SPAN("burst"))) {
		*ret_why = "only \"burst NUMBER\" may follow the rate";
		return -1;
	}
	number = rest.p ? span_trim(rest) : (struct span){.p = NULL};
	if (value_count(number, &r.burst, ret_why) != 0 || r.burst == 0 ||
	    r.burst > NUMBER_MAX) {
		*ret_why = "the burst is no whole number from 1 to 1000000000";
		return -1;
	}
	*ret = r;
	return 0;
}

bool
value_next_item(struct span *rest, struct span *ret_item)
{
	struct span item;

	while (span_cut(rest, ',', &item)) {
		item = span_trim(item);
		if (item.n > 0) {
			*ret_item = item;
			return true;
		}
	}
	return false;
}

bool
value_is_token(struct span s)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!octet_is_digit(c) && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') && (!c || !strchr(others, c)))
			return false;
	}
	return s.n > 0;
}

/* The largest unit that says it without a fraction. */
static void
put_with_unit(struct strbuf *b, uint64_t v, const struct unit *units)
{
	const struct unit *best = units;

	if (v == 0) {
		strbuf_char(b, '0');
		return;
	}
	for (const struct unit *u = units; u->name != NULL; u++) {
		if (v % u->times == 0)
			best = u;
	}
	strbuf_u64(b, v / best->times);
	strbuf_span(b, span_of(best->name));
}

void
value_put_duration(struct strbuf *b, int64_t ms)
{
	put_with_unit(b, (uint64_t)ms, duration_units);
}

void
value_put_size(struct strbuf *b, uint64_t bytes)
{
	put_with_unit(b, bytes, size_units);
}

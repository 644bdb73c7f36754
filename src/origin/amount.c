/* SPDX-License-Identifier: MIT */
/*
 * Numbers with units. This file decides which words stand for which unit, and
 * how fractions are kept exact: a decimal is a whole part and billionths, never
 * a double. It knows nothing of what a number is for.
 */
#include "amount.h"

#define BILLION UINT64_C(1000000000)

struct unit {
	const char *name;
	int64_t ns;
};

static const struct unit time_units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", AMOUNT_MS_NS},
    {"s", AMOUNT_SECOND_NS},
    {"sec", AMOUNT_SECOND_NS},
    {"min", 60 * AMOUNT_SECOND_NS},
    {"h", 3600 * AMOUNT_SECOND_NS},
    {"hour", 3600 * AMOUNT_SECOND_NS},
    {"d", 86400 * AMOUNT_SECOND_NS},
    {"day", 86400 * AMOUNT_SECOND_NS},
};

/* 0 where there is no such unit. */
static int64_t
unit_ns(struct span name)
{
	for (size_t i = 0; i < sizeof time_units / sizeof *time_units; i++) {
		if (span_eq(name, span_of(time_units[i].name)))
			return time_units[i].ns;
	}
	return 0;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Takes 1*DIGIT [ "." 1*9DIGIT ] off *rest: the whole part (at most 10^12) and
 * the rest in billionths.
 */
static int
take_decimal(struct span *rest, uint64_t *ret_whole, uint64_t *ret_billionths)
{
	uint64_t whole = 0, part = 0, scale = BILLION;
	size_t i = 0, dot;

	for (; i < rest->n && is_digit(rest->p[i]); i++) {
		whole = whole * 10 + (uint64_t)(rest->p[i] - '0');
		if (whole > 1000 * BILLION)
			return -1;
	}
	if (i == 0)
		return -1;
	if (i < rest->n && rest->p[i] == '.') {
		dot = i++;
		for (; i < rest->n && is_digit(rest->p[i]); i++) {
			if (i - dot > 9)
				return -1;
			scale /= 10;
			part += scale * (uint64_t)(rest->p[i] - '0');
		}
		if (i == dot + 1)
			return -1;
	}
	*rest = (struct span){rest->p + i, rest->n - i};
	*ret_whole = whole;
	*ret_billionths = part;
	return 0;
}

int
amount_time(struct span s, int64_t *ret_ns)
{
	uint64_t whole, part, unit, ns;
	int64_t u;

	if (take_decimal(&s, &whole, &part) < 0)
		return -1;
	u = s.n == 0 ? AMOUNT_SECOND_NS : unit_ns(s);
	if (u == 0)
		return -1;
	unit = (uint64_t)u;
	if (whole > (uint64_t)AMOUNT_TIME_MAX_NS / unit)
		return -1;
	/* part < 10^9; the unit is split so that the product stays small */
	ns = unit >= BILLION ? part * (unit / BILLION)
			     : (part * unit + BILLION - 1) / BILLION;
	ns += whole * unit;
	if (ns > (uint64_t)AMOUNT_TIME_MAX_NS)
		return -1;
	*ret_ns = (int64_t)ns;
	return 0;
}

int
amount_bytes(struct span s, uint64_t *ret)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
	const uint64_t max = UINT64_C(1) << 40;
	uint64_t v;
	size_t n = 0;

	while (n < s.n && is_digit(s.p[n]))
		n++;
	if (span_u64((struct span){s.p, n}, &v) < 0)
		return -1;
	s = (struct span){s.p + n, s.n - n};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (!span_eq(s, span_of(units[i].name)))
			continue;
		if (v > max >> units[i].shift)
			return -1;
		*ret = v << units[i].shift;
		return 0;
	}
	return -1;
}

int
amount_count(struct span s, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (span_u64(s, &v) < 0 || v > max)
		return -1;
	*ret = v;
	return 0;
}

int
amount_rate(struct span s, uint32_t *ret_count, int64_t *ret_period_ns)
{
	uint64_t whole, part, ten;
	int64_t period;

	if (take_decimal(&s, &whole, &part) < 0 || s.n < 2 || s.p[0] != '/')
		return -1;
	s = (struct span){s.p + 1, s.n - 1};
	period = unit_ns(s);
	if (period == 0 && amount_time(s, &period) < 0)
		return -1;
	while (part != 0) {
		ten = part * 10;
		whole = whole * 10 + ten / BILLION;
		part = ten % BILLION;
		if (period > AMOUNT_TIME_MAX_NS / 10 ||
		    whole > AMOUNT_COUNT_MAX)
			return -1;
		period *= 10;
	}
	if (whole == 0 || whole > AMOUNT_COUNT_MAX || period == 0)
		return -1;
	*ret_count = (uint32_t)whole;
	*ret_period_ns = period;
	return 0;
}

int
amount_bool(struct span s, bool *ret)
{
	static const char *const yes[] = {"", "1", "yes", "true", "on"};
	static const char *const no[] = {"0", "no", "false", "off"};

	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
		if (span_eq(s, span_of(yes[i]))) {
			*ret = true;
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
		if (span_eq(s, span_of(no[i]))) {
			*ret = false;
			return 0;
		}
	}
	return -1;
}

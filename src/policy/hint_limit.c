/* SPDX-License-Identifier: MIT */
/*
 * hint_limit.c: remaining counts, and values that hold whole limits.
 *
 *	sf     "api";r=0;t=55, "day";r=7;t=3600      RateLimit, drafts -08 to -11
 *	sf     limit=10, remaining=0, reset=10       ... draft -07
 *	pairs  total=100; remaining=0; resets=41     Zendesk
 *	pairs  b=per_hour;q=10;r=0;t=3540,b=per_day  Auth0
 *
 * Pairs look like structured fields, but follow no grammar that is written down
 * anywhere; so they are read as freely as these are read strictly.
 */
#include "policy/hint_limit.h"
#include "policy/hint_form.h"
#include "proto/sfield.h"

/* --- numbers ------------------------------------------------------------- */

/* Does what s begins with end where a number may end? */
static bool
ends(struct span s)
{
	s = span_trim(s);
	return s.n == 0 || s.p[0] == ';';
}

static void
left_of(struct hint_limit *l, bool negative, const struct decimal *d)
{
	enum hint_left left = HINT_LEFT_SOME;

	if (d->whole == 0 && d->parts == 0)
		left = HINT_LEFT_NONE;
	else if (negative)
		left = HINT_LEFT_OVERDRAWN;
	if (l->left != HINT_LEFT_UNKNOWN && left > l->left)
		return;
	if (left == l->left && d->whole > l->remaining)
		return;
	l->left = left;
	l->remaining = left == HINT_LEFT_SOME ? d->whole : 0;
}

void
hint_limit_left(struct hint_limit *l, struct span value)
{
	struct span item;

	while (span_next_item(&value, &item)) {
		struct decimal d;
		bool negative = item.p[0] == '-';

		if (negative)
			item = (struct span){item.p + 1, item.n - 1};
		if (decimal_take(&item, &d) && ends(item))
			left_of(l, negative, &d);
	}
}

uint64_t
hint_limit_total(struct span value)
{
	struct span item;
	struct decimal d;

	if (!span_next_item(&value, &item) || !decimal_take(&item, &d))
		return 0;
	return ends(item) ? d.whole : 0;
}

/* --- several ------------------------------------------------------------- */

/* Fewer for the time; of two that are as tight the one that lasts. */
static bool
is_tighter(const struct hint_quota *a, const struct hint_quota *b)
{
	decimal_wide of_a = (decimal_wide)a->remaining * (uint64_t)b->reset_ms;
	decimal_wide of_b = (decimal_wide)b->remaining * (uint64_t)a->reset_ms;

	return of_a < of_b || (of_a == of_b && a->reset_ms > b->reset_ms);
}

void
hint_limits_add(struct hint_limits *all, const struct hint_limit *l)
{
	struct hint_quota quota = {true, l->remaining, l->limit, l->reset_ms};

	if (l->reset_ms <= 0)
		return;
	if (l->reset_ms > all->any_ms)
		all->any_ms = l->reset_ms;
	if (l->left != HINT_LEFT_SOME && l->reset_ms > all->spent_ms)
		all->spent_ms = l->reset_ms;
	if (l->left != HINT_LEFT_NONE && l->left != HINT_LEFT_SOME)
		return;
	if (!all->tightest.valid || is_tighter(&quota, &all->tightest))
		all->tightest = quota;
}

/* --- values -------------------------------------------------------------- */

/* The names that a part of a limit goes by. */
static const struct part {
	const char *names[3];
} part_left = {{"remaining", "r", NULL}},
  part_reset = {{"reset", "resets", "t"}},
  part_total = {{"limit", "total", "q"}};

static bool
is_part(const struct part *part, struct span name)
{
	for (size_t i = 0; i < 3 && part->names[i] != NULL; i++) {
		if (span_ieq(name, span_of(part->names[i])))
			return true;
	}
	return false;
}

static void
put_part(struct hint_limit *l, struct span name, struct span value,
    const struct hint_clock *clk)
{
	if (value.p == NULL)
		return;
	if (is_part(&part_left, name)) {
		/* Of a part that comes twice the last one counts. */
		l->left = HINT_LEFT_UNKNOWN;
		hint_limit_left(l, value);
	} else if (is_part(&part_reset, name)) {
		l->reset_ms = hint_auto(value, clk);
	} else if (is_part(&part_total, name)) {
		l->limit = hint_limit_total(value);
	}
}

/* Without a remaining count an item tells of no limit that is in force. */
static void
add_counted(struct hint_limits *all, const struct hint_limit *l)
{
	if (l->left != HINT_LEFT_UNKNOWN)
		hint_limits_add(all, l);
}

static int
read_params(struct span *s, struct hint_limit *l, const struct hint_clock *clk)
{
	struct span key, value;
	int rc;

	while ((rc = sfield_param(s, &key, &value)) == 1) {
		if (l != NULL)
			put_part(l, key, value, clk);
	}
	return rc;
}

/* Drafts -08 and later: a member is a limit. */
static int
read_list(struct hint_limits *all, struct span s, const struct hint_clock *clk)
{
	int more;

	do {
		struct hint_limit l = {.reset_ms = 0};
		struct span name;

		if (sfield_bare(&s, &name) || read_params(&s, &l, clk))
			return -1;
		add_counted(all, &l);
		more = sfield_comma(&s);
	} while (more == 1);
	return more;
}

/* Draft -07: the members are the parts of one limit. */
static int
read_dictionary(struct hint_limits *all, struct span s,
    const struct hint_clock *clk)
{
	struct hint_limit l = {.reset_ms = 0};
	int more;

	do {
		struct span key, value;

		if (sfield_key(&s, &key) || sfield_value(&s, &value) ||
		    read_params(&s, NULL, clk))
			return -1;
		put_part(&l, key, value, clk);
		more = sfield_comma(&s);
	} while (more == 1);
	add_counted(all, &l);
	return more;
}

static int
read_sf(struct hint_limits *all, struct span s, const struct hint_clock *clk)
{
	struct span key, rest = s;
	bool named = !sfield_key(&rest, &key) && rest.n > 0 && rest.p[0] == '=';

	return named ? read_dictionary(all, s, clk) : read_list(all, s, clk);
}

static struct span
unquoted(struct span s)
{
	if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"')
		return s;
	return (struct span){s.p + 1, s.n - 2};
}

static void
read_pairs(struct hint_limits *all, struct span s, const struct hint_clock *clk)
{
	struct span item, value, name;

	while (span_next_item(&s, &item)) {
		struct hint_limit l = {.reset_ms = 0};

		while (span_cut(&item, ';', &value)) {
			if (!span_cut(&value, '=', &name) || value.p == NULL)
				continue;
			put_part(&l, span_trim(name),
			    unquoted(span_trim(value)), clk);
		}
		add_counted(all, &l);
	}
}

void
hint_limits_read(struct hint_limits *all, struct span value, enum hint_format f,
    const struct hint_clock *clk)
{
	struct hint_limits read = *all;

	value = span_trim(value);
	if (f == HINT_PAIRS)
		read_pairs(&read, value, clk);
	else if (read_sf(&read, value, clk))
		return;
	*all = read;
}

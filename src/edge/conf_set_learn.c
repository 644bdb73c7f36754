/* SPDX-License-Identifier: MIT */
/*
 * conf_set_learn.c: values about what is learned from answers and how much is
 * retried, from text to field.
 *
 * Decides what a share and a budget look like.
 */
#include "edge/conf_set.h"
#include "edge/conf_value.h"

#define BUDGET_PERCENT_MAX 1000

/* "20%"; from 1 to most. */
static int
percent_of(struct conf_setter *to, struct span item, uint64_t most,
    unsigned *ret)
{
	uint64_t v;

	if (item.n < 2 || item.p[item.n - 1] != '%')
		return conf_set_bad(to, "the % is missing");
	item.n--;
	if (value_count(item, &v, &to->why) != 0)
		return CONF_SET_BAD;
	if (v < 1 || v > most)
		return conf_set_bad(to, "out of range");
	*ret = (unsigned)v;
	return CONF_SET_OK;
}

/* A floor without a burst of its own has what it gives in a second. */
static int
floor_of(struct conf_setter *to, struct span item, struct bucket_rate *ret)
{
	struct bucket_rate r;

	if (value_rate(item, &r, &to->why) != 0)
		return CONF_SET_BAD;
	if (r.burst == 0)
		r.burst = (r.count * 1000 + (uint64_t)r.per_ms - 1) /
		    (uint64_t)r.per_ms;
	*ret = r;
	return CONF_SET_OK;
}

int
conf_set_budget(struct conf_setter *to, struct span item)
{
	struct budget_cfg *budget = conf_field(to), b = {.on = true};
	struct span rest = item, part;
	int rc = CONF_SET_OK;

	if (span_eq(item, SPAN("off"))) {
		*budget = (struct budget_cfg){.on = false};
		return CONF_SET_OK;
	}
	while (rc == CONF_SET_OK && span_cut(&rest, '+', &part)) {
		part = span_trim(part);
		if (part.n && part.p[part.n - 1] == '%' && b.percent == 0)
			rc = percent_of(to, part, BUDGET_PERCENT_MAX,
			    &b.percent);
		else if (b.floor.count == 0)
			rc = floor_of(to, part, &b.floor);
		else
			rc = conf_set_bad(to, "more than a share and a rate");
	}
	if (rc == CONF_SET_OK)
		*budget = b;
	return rc;
}

int
conf_set_share(struct conf_setter *to, struct span item)
{
	unsigned *share = conf_field(to);

	if (!span_eq(item, SPAN("off")))
		return percent_of(to, item, 100, share);
	*share = 0;
	return CONF_SET_OK;
}

int
conf_set_field(struct conf_setter *to, struct span item)
{
	struct span *name = conf_field(to);
	const char *text;
	int rc;

	if (span_eq(item, SPAN("none"))) {
		*name = (struct span){.p = NULL};
		return CONF_SET_OK;
	}
	if (!value_is_token(item))
		return conf_set_bad(to, "that is no field name");
	rc = conf_set_text(to, item, &text);
	if (rc == CONF_SET_OK)
		*name = span_of(text);
	return rc;
}

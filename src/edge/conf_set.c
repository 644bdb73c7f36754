/* SPDX-License-Identifier: MIT */
/*
 * conf_set.c: values of the common kinds, from text to field.
 *
 * Decides how a number, a switch or a choice gets into its field and that it
 * keeps to the bounds of its row. Where the text came from is not known here.
 */
#include "edge/conf_set.h"

#include <stdarg.h>

#include "edge/conf_value.h"

_Static_assert(sizeof(enum strategy) == sizeof(unsigned), "choices");

void *
conf_field(const struct conf_setter *to)
{
	char *base = (to->opt->in & CONF_IN_POLICY) ? (char *)to->service
						    : (char *)to->conf;

	return base + to->opt->at;
}

int
conf_set_bad(struct conf_setter *to, const char *why)
{
	to->why = why;
	return CONF_SET_BAD;
}

int
conf_set_told(struct conf_setter *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(to->buf, sizeof(to->buf), fmt, ap);
	va_end(ap);
	to->why = to->buf;
	return CONF_SET_TOLD;
}

int
conf_set_text(struct conf_setter *to, struct span s, const char **ret)
{
	const char *copy = conf_pool_dup(&to->conf->pool, s);

	if (copy == NULL)
		return CONF_SET_NO_MEMORY;
	*ret = copy;
	return CONF_SET_OK;
}

static bool
is_word(const struct conf_option *opt, struct span item)
{
	return opt->word != NULL && span_eq(item, span_of(opt->word));
}

int
conf_set_duration(struct conf_setter *to, struct span item)
{
	const struct conf_option *opt = to->opt;
	int64_t ms;

	if (is_word(opt, item))
		ms = opt->word_value;
	else if (value_duration(item, &ms, &to->why) != 0)
		return CONF_SET_BAD;
	else if (ms < opt->min || ms > opt->max)
		return conf_set_bad(to, "out of range");
	memcpy(conf_field(to), &ms, sizeof(ms));
	return CONF_SET_OK;
}

int
conf_set_size(struct conf_setter *to, struct span item)
{
	uint64_t bytes;

	if (value_size(item, &bytes, &to->why) != 0)
		return CONF_SET_BAD;
	if (bytes < (uint64_t)to->opt->min || bytes > (uint64_t)to->opt->max)
		return conf_set_bad(to, "out of range");
	memcpy(conf_field(to), &bytes, sizeof(bytes));
	return CONF_SET_OK;
}

int
conf_set_count(struct conf_setter *to, struct span item)
{
	const struct conf_option *opt = to->opt;
	uint64_t v;

	if (is_word(opt, item))
		v = (uint64_t)opt->word_value;
	else if (value_count(item, &v, &to->why) != 0)
		return CONF_SET_BAD;
	else if (v < (uint64_t)opt->min || v > (uint64_t)opt->max)
		return conf_set_bad(to, "out of range");

	unsigned narrow = (unsigned)v; /* no row allows more than 10^9 */
	memcpy(conf_field(to), &narrow, sizeof(narrow));
	return CONF_SET_OK;
}

int
conf_set_flag(struct conf_setter *to, struct span item)
{
	bool v;

	if (value_flag(item, &v, &to->why) != 0)
		return CONF_SET_BAD;
	memcpy(conf_field(to), &v, sizeof(v));
	return CONF_SET_OK;
}

int
conf_set_choice(struct conf_setter *to, struct span item)
{
	for (unsigned i = 0; to->opt->choices[i] != NULL; i++) {
		if (span_eq(item, span_of(to->opt->choices[i]))) {
			memcpy(conf_field(to), &i, sizeof(i));
			return CONF_SET_OK;
		}
	}
	return conf_set_bad(to, "no such choice");
}

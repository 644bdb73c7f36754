/* SPDX-License-Identifier: MIT */
/*
 * conf_set_when.c: rules about answers, from text to field. policy/when.h says
 * what one looks like.
 *
 * Decides how a rule joins its list and how a bad one is told: by the word that
 * is wrong and where it begins. A refused rule is not kept; the start fails for
 * it anyway.
 */
#include "edge/conf_set.h"

/* How much of a wrong word is shown. */
#define WORD_SHOWN 40

static int
tell(struct conf_setter *to, struct span rule, const struct when_fault *f)
{
	struct span word = {rule.p + f->at, f->n};

	if (word.n == 0)
		return conf_set_told(to,
		    "at its byte %zu: %s; docs/RULES.md has the grammar",
		    f->at + 1, f->why);
	if (word.n > WORD_SHOWN)
		word.n = WORD_SHOWN;
	return conf_set_told(to,
	    "'%.*s' at its byte %zu: %s; docs/RULES.md has the grammar",
	    SPAN_ARG(word), f->at + 1, f->why);
}

static int
add_rule(struct conf_setter *to, struct span item, enum when_kind kind)
{
	struct when_list *list = conf_field(to);
	struct when_fault f;
	struct when_rule rule;

	if (item.p == NULL) {
		*list = (struct when_list){.v = NULL};
		return CONF_SET_OK;
	}
	if (when_parse(item, kind, &rule, &f) != 0)
		return tell(to, item, &f);
	if (list->n == WHEN_RULES_MAX)
		return conf_set_told(to, "more than 64 rules in this list");
	/* The array came from this function, so it is ours to write to. */
	struct when_rule *v = conf_pool_grow(&to->conf->pool,
	    (struct when_rule *)(uintptr_t)list->v, list->n, sizeof(*v));
	if (v == NULL)
		return CONF_SET_NO_MEMORY;
	v[list->n++] = rule;
	list->v = v;
	return CONF_SET_OK;
}

int
conf_set_rules(struct conf_setter *to, struct span item)
{
	return add_rule(to, item, WHEN_RULE);
}

int
conf_set_wait_body(struct conf_setter *to, struct span item)
{
	return add_rule(to, item, WHEN_WAIT_BODY);
}

int
conf_set_wait_when(struct conf_setter *to, struct span item)
{
	return add_rule(to, item, WHEN_WAIT);
}

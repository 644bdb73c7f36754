/* SPDX-License-Identifier: MIT */
/*
 * conf_override.c: settings from the command line and the environment.
 *
 * Decides how SECTION.KEY=VALUE is taken apart; whether there is such an option
 * is asked when the file is read, for the text must be kept for reloads anyway.
 */
#include "base/mem.h"
#include "edge/conf_problem.h"

#define NO_MEMORY "out of memory"

/* The parts as they are kept; NULL, or what is wrong. */
static const char *
split(struct span text, struct span *ret_section, struct span *ret_key,
    struct span *ret_value)
{
	const char *eq = text.n ? memchr(text.p, '=', text.n) : NULL;

	if (eq == NULL)
		return "there is no '='; give SECTION.KEY=VALUE";
	const char *dot = memrchr(text.p, '.', (size_t)(eq - text.p));
	if (dot == NULL)
		return "there is no '.' before the '='; give SECTION.KEY=VALUE";
	*ret_section = span_trim((struct span){text.p, (size_t)(dot - text.p)});
	*ret_key = span_trim((struct span){dot + 1, (size_t)(eq - dot - 1)});
	*ret_value = span_trim(
	    (struct span){eq + 1, (size_t)(text.p + text.n - eq - 1)});
	if (ret_section->n == 0)
		return "the section is missing; give SECTION.KEY=VALUE";
	if (ret_key->n == 0)
		return "the key is missing; give SECTION.KEY=VALUE";
	return conf_text_flaw(text);
}

static int
parse(struct span text, const char *from, struct conf_override *ret,
    const char **ret_why)
{
	struct span section, key, value;
	const char *why = split(text, &section, &key, &value);

	if (why != NULL) {
		*ret_why = why;
		return -1;
	}
	struct conf_override o = {.section = mem_dup(section),
	    .key = mem_dup(key),
	    .value = mem_dup(value),
	    .from = from};
	if (o.section == NULL || o.key == NULL || o.value == NULL) {
		conf_override_free(&o);
		*ret_why = NO_MEMORY;
		return -1;
	}
	*ret = o;
	return 0;
}

int
conf_override_parse(const char *text, const char *from,
    struct conf_override *ret, const char **ret_why)
{
	return parse(span_of(text), from, ret, ret_why);
}

void
conf_override_free(struct conf_override *o)
{
	mem_free(o->section);
	mem_free(o->key);
	mem_free(o->value);
	*o = (struct conf_override){.section = NULL};
}

/*
 * `whole` is what the text is a part of: a ';' in a password makes several
 * settings of one, and none of them may be shown.
 */
static int
add(struct conf_overrides *o, struct span text, struct span whole,
    const char *from, struct conf_problems *problems)
{
	struct conf_override *v = mem_realloc(o->v, (o->n + 1) * sizeof(*o->v));
	const char *why = NO_MEMORY;

	if (v != NULL)
		o->v = v;
	if (v != NULL && parse(text, from, &v[o->n], &why) == 0) {
		o->n++;
		return 0;
	}
	if (strcmp(why, NO_MEMORY) == 0) {
		conf_problem_no_memory(problems);
		return -1;
	}
	/* What can't be shown as it is, is not shown. */
	if (conf_text_flaw(text) != NULL)
		conf_problem(problems, (struct conf_where){.file = from}, "%s",
		    conf_text_flaw(text));
	else if (memchr(whole.p, '@', whole.n))
		conf_problem(problems, (struct conf_where){.file = from},
		    "a setting (not shown, a password may be in it): %s", why);
	else
		conf_problem(problems, (struct conf_where){.file = from},
		    "'%.*s': %s", SPAN_ARG(text), why);
	return -1;
}

int
conf_overrides_add(struct conf_overrides *o, const char *text, const char *from,
    struct conf_problems *problems)
{
	return add(o, span_of(text), span_of(text), from, problems);
}

/* Where the quote that opens at `at` is closed; `at`: nowhere. */
static size_t
closing_quote(struct span s, size_t at)
{
	for (size_t i = at + 1; i < s.n; i++) {
		if (s.p[i] == '"')
			return i;
		if (s.p[i] == '\\')
			i++;
	}
	return at;
}

/* Up to a ';' that stands in no quotes: rules have texts in them. A quote that
 * is never closed is a character like any other. */
static bool
next_setting(struct span *rest, struct span *ret_item)
{
	size_t n = 0;

	if (rest->p == NULL)
		return false;
	while (n < rest->n && rest->p[n] != ';') {
		if (rest->p[n] == '"')
			n = closing_quote(*rest, n);
		n++;
	}
	*ret_item = (struct span){rest->p, n};
	*rest = n < rest->n ? (struct span){rest->p + n + 1, rest->n - n - 1}
			    : (struct span){.p = NULL};
	return true;
}

int
conf_overrides_add_env(struct conf_overrides *o, const char *text,
    struct conf_problems *problems)
{
	struct span whole = span_of(text ? text : "");
	struct span rest = whole, item;
	int rc = 0;

	while (next_setting(&rest, &item)) {
		item = span_trim(item);
		if (item.n > 0 &&
		    add(o, item, whole, "ABIDED_SET", problems) != 0)
			rc = -1;
	}
	return rc;
}

void
conf_overrides_free(struct conf_overrides *o)
{
	for (size_t i = 0; i < o->n; i++)
		conf_override_free(&o->v[i]);
	mem_free(o->v);
	*o = (struct conf_overrides){.v = NULL};
}

/* SPDX-License-Identifier: MIT */
/*
 * when.c: does a rule hold for an answer, and what does it say?
 *
 * Decides when a term holds and which rule of several counts. It refuses to
 * know what becomes of the answer, and how a body came to be text (when_view).
 * Terms are looked at from the left, so a field that rules a rule out saves the
 * look at the body.
 */
#include "policy/when_view.h"

/* Of the text of a body term that tells a wait, and bytes read behind each. */
#define OCCURRENCES_MAX 16
#define WORDS_MAX 128

static struct span
text_of(const struct when_rule *r, struct when_text t)
{
	return (struct span){r->bytes + t.at, t.n};
}

static bool
status_holds(const struct when_rule *r, int status)
{
	unsigned bit = (unsigned)status - 100;

	if (r->any_status)
		return true;
	return bit < 500 && (r->status[bit / 64] >> bit % 64 & 1);
}

/* --- values --------------------------------------------------------------- */

static bool
compare_numbers(enum when_test test, struct span value, struct span text)
{
	struct number a, b;

	if (number_parse(value, &a) != 0 || number_parse(text, &b) != 0)
		return false;
	int order = number_compare(&a, &b);
	return test == WHEN_LESS   ? order < 0
	    : test == WHEN_GREATER ? order > 0
				   : order == 0;
}

static bool
field_is(enum when_test test, struct span value, struct span text)
{
	switch (test) {
	case WHEN_PRESENT:
	case WHEN_ABSENT:
		return true;
	case WHEN_EQUAL:
	case WHEN_UNEQUAL:
		return span_ieq(value, text);
	case WHEN_LESS:
	case WHEN_GREATER:
		return compare_numbers(test, value, text);
	case WHEN_CONTAINS:
		break;
	}
	return find_text(value, 0, text, true) < value.n;
}

static bool
json_is(enum when_test test, const struct json_value *v, struct span text)
{
	if (test == WHEN_PRESENT || test == WHEN_ABSENT)
		return true;
	if (v->kind == JSON_VALUE_TREE)
		return false;
	switch (test) {
	case WHEN_LESS:
	case WHEN_GREATER:
		return compare_numbers(test, v->text, text);
	case WHEN_CONTAINS:
		return find_text(v->text, 0, text, false) < v->text.n;
	default:
		break;
	}
	return span_eq(v->text, text) ||
	    (v->kind == JSON_VALUE_NUMBER &&
		compare_numbers(WHEN_EQUAL, v->text, text));
}

/* --- terms ---------------------------------------------------------------- */

/* absent and != hold where no value is there, or equal. */
static bool
is_denied(enum when_test test)
{
	return test == WHEN_ABSENT || test == WHEN_UNEQUAL;
}

static bool
header_holds(const struct when_rule *r, const struct when_term *t,
    const struct head *h)
{
	struct span name = text_of(r, t->name), text = text_of(r, t->text);
	bool found = false;

	for (unsigned i = 0; i < h->nfields && !found; i++) {
		const struct field *f = &h->fields[i];

		found = span_ieq(f->name, name) &&
		    field_is(t->test, f->value, text);
	}
	return found != is_denied(t->test);
}

struct json_match {
	enum when_test test;
	struct span text;
};

static bool
json_matches(void *arg, const struct json_value *v)
{
	const struct json_match *m = arg;

	return json_is(m->test, v, m->text);
}

static bool
json_holds(const struct when_rule *r, const struct when_term *t,
    struct when_view *v)
{
	const struct json_doc *doc = when_json_of(v);
	struct json_match m = {t->test, text_of(r, t->text)};
	struct json_path path = {text_of(r, t->name)};

	return doc != NULL &&
	    json_path_each(doc, path, json_matches, &m) != is_denied(t->test);
}

static bool
body_holds(const struct when_rule *r, const struct when_term *t,
    struct when_view *v)
{
	struct span text;

	return when_text_of(v, &text) &&
	    find_text(text, 0, text_of(r, t->text), true) < text.n;
}

static bool
term_holds(const struct when_rule *r, const struct when_term *t,
    struct when_view *v)
{
	switch (t->where) {
	case WHEN_HEADER:
		return header_holds(r, t, v->head);
	case WHEN_JSON:
		return json_holds(r, t, v);
	case WHEN_BODY:
		break;
	}
	return body_holds(r, t, v);
}

/* The status and the first n terms. */
static bool
rule_holds(const struct when_rule *r, unsigned n, struct when_view *v)
{
	if (!status_holds(r, v->head->status))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (!term_holds(r, &r->term[i], v))
			return false;
	}
	return true;
}

/* --- lists ---------------------------------------------------------------- */

static bool
any_holds(const struct when_list *list, struct when_view *v)
{
	for (size_t i = 0; i < list->n; i++) {
		if (rule_holds(&list->v[i], list->v[i].nterms, v))
			return true;
	}
	return false;
}

enum when_verdict
when_judge(const struct when_cfg *cfg, struct when_view *v)
{
	if (any_holds(&cfg->permanent, v))
		return WHEN_PERMANENT;
	return any_holds(&cfg->throttled, v) ? WHEN_THROTTLED : WHEN_NONE;
}

/* By the head alone: could the body make this rule hold? */
static bool
rule_wants_body(const struct when_rule *r, const struct head *h)
{
	bool wants = false;

	if (!status_holds(r, h->status))
		return false;
	for (unsigned i = 0; i < r->nterms; i++) {
		const struct when_term *t = &r->term[i];

		if (t->where == WHEN_HEADER && !header_holds(r, t, h))
			return false;
		if (t->where == WHEN_JSON && !when_may_hold_json(h))
			return false;
		wants = wants || t->where != WHEN_HEADER;
	}
	return wants;
}

bool
when_wants_body(const struct when_cfg *cfg, const struct head *h)
{
	const struct when_list *lists[] = {&cfg->permanent, &cfg->throttled,
	    &cfg->wait_body, &cfg->wait};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (size_t j = 0; j < lists[i]->n; j++) {
			if (rule_wants_body(&lists[i]->v[j], h))
				return when_can_undo(h);
		}
	}
	return false;
}

/* --- waits ---------------------------------------------------------------- */

struct longest {
	const struct when_rule *rule;
	const struct hint_clock *clk;
	int64_t ms; /* 0: none yet */
};

static bool
add_value(struct longest *l, struct span value)
{
	int64_t ms;

	if (hint_value(value, l->rule->format, l->clk, &ms) != 0)
		return false;
	if (ms > l->ms)
		l->ms = ms;
	return true;
}

static bool
add_json(void *arg, const struct json_value *v)
{
	if (v->kind != JSON_VALUE_TREE && v->kind != JSON_VALUE_WORD)
		(void)add_value(arg, v->text);
	return false; /* look at all of them */
}

/* Up to the first of the bytes in `ends`. */
static struct span
until_any(struct span s, const char *ends)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != '\0' && !strchr(ends, s.p[n]))
		n++;
	return (struct span){s.p, n};
}

/*
 * What stands behind the text: one word, or all up to a quote, a tag or the end
 * of the line (dates have blanks and commas in them). Words for people are read
 * from their start, however they go on.
 */
static void
add_behind(struct longest *l, struct span rest)
{
	struct span word;

	if (rest.n > WORDS_MAX)
		rest.n = WORDS_MAX;
	if (l->rule->format == HINT_TEXT) {
		(void)add_value(l, rest);
		return;
	}
	while (rest.n > 0 && strchr(" \t\":=", rest.p[0]) && rest.p[0] != '\0')
		rest = (struct span){rest.p + 1, rest.n - 1};
	word = until_any(rest, " \t\r\n\"'<>&,;)]}");
	if (word.n > 0 && word.p[word.n - 1] == '.')
		word.n--;
	if (!add_value(l, word))
		(void)add_value(l, until_any(rest, "\r\n\"<"));
}

static void
add_body(struct longest *l, const struct when_term *t, struct when_view *v)
{
	struct span text, part = text_of(l->rule, t->text);
	size_t at = 0;

	if (!when_text_of(v, &text))
		return;
	for (unsigned i = 0; i < OCCURRENCES_MAX; i++) {
		at = find_text(text, at, part, true);
		if (at == text.n)
			return;
		at += part.n;
		add_behind(l, (struct span){text.p + at, text.n - at});
	}
}

static void
add_rule(struct longest *l, struct when_view *v)
{
	const struct when_rule *r = l->rule;
	const struct when_term *tells = &r->term[r->nterms - 1];
	struct json_path path = {text_of(r, tells->name)};

	if (!rule_holds(r, r->nterms - 1, v))
		return;
	if (tells->where == WHEN_BODY)
		add_body(l, tells, v);
	else if (when_json_of(v) != NULL)
		(void)json_path_each(when_json_of(v), path, add_json, l);
}

struct hint
when_hint(const struct when_cfg *cfg, struct when_view *v,
    const struct hint_clock *clk)
{
	struct longest l = {.clk = clk};

	for (size_t i = 0; i < cfg->wait_body.n; i++) {
		l.rule = &cfg->wait_body.v[i];
		add_rule(&l, v);
	}
	if (l.ms == 0)
		return (struct hint){.valid = false};
	return (struct hint){true, l.ms, SPAN("wait_body")};
}

struct hint
when_penalty(const struct when_cfg *cfg, struct when_view *v)
{
	int64_t ms = 0;

	for (size_t i = 0; i < cfg->wait.n; i++) {
		const struct when_rule *r = &cfg->wait.v[i];

		if (r->wait_ms > ms && rule_holds(r, r->nterms, v))
			ms = r->wait_ms;
	}
	if (ms == 0)
		return (struct hint){.valid = false};
	return (struct hint){true, ms, SPAN("wait_when")};
}

/* SPDX-License-Identifier: MIT */
/*
 * when_parse.c: from the text of a rule to a rule.
 *
 *	429|503 json error.code = "a b" and body slow : 60s
 *	------- ----------------------- --- --------- - ---
 *	statuses     term                     term      tail, by kind
 *
 * Decides what a rule looks like and what is said about one that is none. A
 * word ends at a blank outside quotes; operators are words too, so that names
 * and values may hold any of their characters.
 */
#include "policy/when.h"

#include "proto/octet.h"

#define STATUS_MIN 200
#define STATUS_MAX 599

struct parse {
	struct span text;
	size_t at; /* the next word begins here, or behind blanks */
	struct when_rule *rule;
	size_t used; /* of rule->bytes */
	struct when_fault *fault;
};

/* --- words ---------------------------------------------------------------- */

static int
fault_at(struct parse *p, size_t at, size_t n, const char *why)
{
	*p->fault = (struct when_fault){.why = why, .at = at, .n = n};
	return -1;
}

/* What is wrong is this word, which lies in the text. */
static int
fault(struct parse *p, struct span word, const char *why)
{
	return fault_at(p, (size_t)(word.p - p->text.p), word.n, why);
}

/* The word to come; n 0: there is none. */
static struct span
peek(const struct parse *p)
{
	size_t from = p->at, to;
	bool quoted = false;

	while (from < p->text.n && octet_is_blank(p->text.p[from]))
		from++;
	for (to = from; to < p->text.n; to++) {
		char c = p->text.p[to];

		if (!quoted && octet_is_blank(c))
			break;
		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\' && to + 1 < p->text.n)
			to++;
	}
	return (struct span){p->text.p + from, to - from};
}

static void
pass(struct parse *p, struct span word)
{
	p->at = (size_t)(word.p + word.n - p->text.p);
}

static bool
take(struct parse *p, struct span word)
{
	struct span next = peek(p);

	if (!span_eq(next, word))
		return false;
	pass(p, next);
	return true;
}

static struct when_text
keep(struct parse *p, const char *from, size_t n)
{
	struct when_text t = {(uint16_t)p->used, (uint16_t)n};

	memcpy(p->rule->bytes + p->used, from, n);
	p->used += n;
	return t;
}

/* Quotes closed, nothing but what may be escaped behind a backslash. */
static int
check_quotes(struct parse *p, struct span word)
{
	const char *open = NULL;

	for (size_t i = 0; i < word.n; i++) {
		const char *c = word.p + i;

		if (*c == '"') {
			open = open ? NULL : c;
		} else if (open && *c == '\\') {
			i++;
			if (i == word.n || !strchr("\"\\;#", word.p[i]) ||
			    word.p[i] == '\0')
				return fault(p, (struct span){c, 1},
				    "in quotes a '\\' may stand before '\"', "
				    "'\\', ';' and '#' only; write \\\\ for "
				    "one of them");
		}
	}
	if (open)
		return fault(p, (struct span){open, 1},
		    "the closing quote is missing (in a file \" ;\" begins a "
		    "comment even in quotes; write \\; there)");
	return 0;
}

/* --- texts ---------------------------------------------------------------- */

/* A word, or what is in quotes. */
static int
take_text(struct parse *p, const char *missing, struct when_text *ret)
{
	struct span word = peek(p);
	size_t from = p->used;

	if (word.n == 0 || span_eq(word, SPAN("\"\"")))
		return fault(p, word, missing);
	if (check_quotes(p, word) != 0)
		return -1;
	pass(p, word);
	if (!memchr(word.p, '"', word.n)) {
		*ret = keep(p, word.p, word.n);
		return 0;
	}
	if (word.p[0] != '"')
		return fault(p, word,
		    "a quote inside a word; put the whole text in quotes");
	size_t i = 1;
	for (; word.p[i] != '"'; i++) {
		if (word.p[i] == '\\')
			i++;
		(void)keep(p, word.p + i, 1);
	}
	if (i + 1 < word.n)
		return fault(p, (struct span){word.p + i + 1, word.n - i - 1},
		    "text follows the closing quote; a blank must stand "
		    "between");
	*ret = (struct when_text){(uint16_t)from, (uint16_t)(p->used - from)};
	return 0;
}

static int
take_path(struct parse *p, struct when_text *ret)
{
	struct span word = peek(p);
	const char *why;
	size_t n, at;

	if (check_quotes(p, word) != 0)
		return -1;
	if (json_path_parse(word, p->rule->bytes + p->used, &n, &why, &at)) {
		size_t left = word.n - at;

		return fault(p, (struct span){word.p + at, left}, why);
	}
	*ret = (struct when_text){(uint16_t)p->used, (uint16_t)n};
	p->used += n;
	pass(p, word);
	return 0;
}

static int
take_field_name(struct parse *p, struct when_text *ret)
{
	struct span word = peek(p);

	if (!head_is_token(word))
		return fault(p, word,
		    word.n ? "that is no name of a header field"
			   : "the name of a header field is missing");
	*ret = keep(p, word.p, word.n);
	pass(p, word);
	return 0;
}

/* --- statuses ------------------------------------------------------------- */

static void
add_statuses(struct when_rule *r, unsigned from, unsigned to)
{
	for (unsigned s = from - 100; s <= to - 100; s++)
		r->status[s / 64] |= UINT64_C(1) << s % 64;
}

static int
add_status(struct parse *p, struct span item)
{
	uint64_t v;

	if (span_eq(item, SPAN("*"))) {
		p->rule->any_status = true;
		return 0;
	}
	if (item.n == 3 && item.p[0] >= '2' && item.p[0] <= '5' &&
	    item.p[1] == 'x' && item.p[2] == 'x') {
		unsigned hundred = (unsigned)(item.p[0] - '0') * 100;

		add_statuses(p->rule, hundred, hundred + 99);
		return 0;
	}
	if (item.n != 3 || span_u64(item, &v) != 0 || v < STATUS_MIN ||
	    v > STATUS_MAX)
		return fault(p, item,
		    "a rule begins with statuses: 200 to 599, 2xx to 5xx, or "
		    "*, joined by '|' without blanks");
	add_statuses(p->rule, (unsigned)v, (unsigned)v);
	return 0;
}

static int
take_statuses(struct parse *p)
{
	struct span word = peek(p), rest = word, item;

	if (word.n == 0)
		return fault(p, word, "the rule is empty");
	while (span_cut(&rest, '|', &item)) {
		if (add_status(p, item) != 0)
			return -1;
	}
	pass(p, word);
	return 0;
}

/* --- terms ---------------------------------------------------------------- */

/* [ "-" ] 1*DIGIT [ "." 1*DIGIT ] */
static bool
is_number(struct span s)
{
	struct span whole;
	uint64_t v;

	if (s.n > 0 && s.p[0] == '-')
		s = (struct span){s.p + 1, s.n - 1};
	if (!span_cut(&s, '.', &whole) || span_u64(whole, &v) != 0)
		return false;
	return s.p == NULL || span_u64(s, &v) == 0;
}

static bool
take_test_word(struct parse *p, enum when_test *ret)
{
	static const struct {
		struct span word;
		enum when_test test;
	} words[] = {
	    {{"present", 7}, WHEN_PRESENT},
	    {{"absent", 6}, WHEN_ABSENT},
	    {{"=", 1}, WHEN_EQUAL},
	    {{"!=", 2}, WHEN_UNEQUAL},
	    {{"<", 1}, WHEN_LESS},
	    {{">", 1}, WHEN_GREATER},
	    {{"contains", 8}, WHEN_CONTAINS},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (take(p, words[i].word)) {
			*ret = words[i].test;
			return true;
		}
	}
	return false;
}

/* What may follow a whole term. */
static bool
term_ends(const struct parse *p)
{
	struct span word = peek(p);

	return word.n == 0 || span_eq(word, SPAN("and")) ||
	    span_eq(word, SPAN(":"));
}

static int
take_test(struct parse *p, struct when_term *term)
{
	term->test = WHEN_PRESENT;
	if (!take_test_word(p, &term->test) && !term_ends(p))
		return fault(p, peek(p),
		    "here may stand =, !=, <, >, contains, present, absent, "
		    "\"and\" or \":\", with blanks around it");
	if (term->test < WHEN_EQUAL)
		return 0;
	struct span word = peek(p);
	if (take_text(p, "the text to compare with is missing", &term->text))
		return -1;
	if ((term->test == WHEN_LESS || term->test == WHEN_GREATER) &&
	    !is_number(
		(struct span){p->rule->bytes + term->text.at, term->text.n}))
		return fault(p, word, "a number must follow < and >");
	return 0;
}

static int
take_term(struct parse *p)
{
	if (p->rule->nterms == WHEN_TERMS_MAX)
		return fault(p, peek(p), "more than 4 terms in a rule");
	struct when_term *term = &p->rule->term[p->rule->nterms++];

	if (take(p, SPAN("header"))) {
		term->where = WHEN_HEADER;
		return take_field_name(p, &term->name) || take_test(p, term)
		    ? -1
		    : 0;
	}
	if (take(p, SPAN("json"))) {
		term->where = WHEN_JSON;
		return take_path(p, &term->name) || take_test(p, term) ? -1 : 0;
	}
	if (take(p, SPAN("body"))) {
		term->where = WHEN_BODY;
		return take_text(p, "the text to look for is missing",
		    &term->text);
	}
	return fault(p, peek(p),
	    "a term begins with header, json or body, and is followed by the "
	    "next one after \"and\"");
}

static int
take_terms(struct parse *p)
{
	if (peek(p).n == 0 || span_eq(peek(p), SPAN(":")))
		return 0;
	do {
		if (take_term(p) != 0)
			return -1;
	} while (take(p, SPAN("and")));
	if (!term_ends(p))
		return fault(p, peek(p),
		    "only \"and\" may follow a whole term; a text with blanks "
		    "in it stands in quotes");
	return 0;
}

/* --- what follows the rule ------------------------------------------------ */

static int
duration(struct span s, int64_t *ret_ms)
{
	static const struct {
		struct span name;
		int64_t ms;
	} units[] = {{{"ms", 2}, 1}, {{"s", 1}, 1000}, {{"min", 3}, 60000},
	    {{"h", 1}, 3600000}, {{"d", 1}, 86400000}};
	uint64_t count;
	size_t n = 0;

	while (n < s.n && octet_is_digit(s.p[n]))
		n++;
	if (span_u64((struct span){s.p, n}, &count) != 0 || count == 0 ||
	    count > WHEN_WAIT_MS_MAX)
		return -1;
	s = (struct span){s.p + n, s.n - n};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!span_eq(s, units[i].name))
			continue;
		if (count > (uint64_t)(WHEN_WAIT_MS_MAX / units[i].ms))
			return -1;
		*ret_ms = (int64_t)count * units[i].ms;
		return 0;
	}
	return -1;
}

static int
take_wait(struct parse *p)
{
	struct span word;

	if (!take(p, SPAN(":")))
		return fault(p, peek(p),
		    "\": DURATION\" is missing behind the rule (: 60s)");
	word = peek(p);
	pass(p, word);
	if (duration(word, &p->rule->wait_ms) != 0)
		return fault(p, word,
		    "that is no duration: a whole number with ms, s, min, h "
		    "or d, from 1ms to 35d");
	return 0;
}

/* Does the last term lead to something, and compare it with nothing? */
static bool
tells_wait(const struct when_rule *r)
{
	const struct when_term *last;

	if (r->nterms == 0)
		return false;
	last = &r->term[r->nterms - 1];
	return last->where != WHEN_HEADER && last->test == WHEN_PRESENT;
}

static int
take_format(struct parse *p)
{
	struct span word;

	if (!tells_wait(p->rule))
		return fault(p, peek(p),
		    "what tells the wait stands last: json PATH : FORMAT, or "
		    "body TEXT : FORMAT (fields tell it by wait_headers)");
	if (!take(p, SPAN(":")))
		return fault(p, peek(p),
		    "\": FORMAT\" is missing behind the rule (: s)");
	word = peek(p);
	pass(p, word);
	if (hint_format_parse(word, &p->rule->format) != 0)
		return fault(p, word,
		    "no such format; those of wait_headers may stand here");
	return 0;
}

static int
take_tail(struct parse *p, enum when_kind kind)
{
	int rc = kind == WHEN_WAIT   ? take_wait(p)
	    : kind == WHEN_WAIT_BODY ? take_format(p)
				     : 0;

	if (rc == 0 && peek(p).n > 0)
		return fault(p, peek(p), "nothing may follow here");
	return rc;
}

int
when_parse(struct span text, enum when_kind kind, struct when_rule *ret,
    struct when_fault *ret_fault)
{
	struct when_rule rule = {.nterms = 0};
	struct parse p = {.text = text, .rule = &rule, .fault = ret_fault};

	if (text.n > WHEN_RULE_BYTES_MAX)
		return fault_at(&p, WHEN_RULE_BYTES_MAX, 0,
		    "the rule is longer than 512 bytes");
	if (take_statuses(&p) != 0 || take_terms(&p) != 0 ||
	    take_tail(&p, kind) != 0)
		return -1;
	*ret = rule;
	return 0;
}

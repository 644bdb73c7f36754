/* SPDX-License-Identifier: MIT */
/*
 * script_pattern decides whether a text matches. A pattern is compiled to a row
 * of items first, each single character of it to a set, so that matching is one
 * look per character and what is wrong is known before it begins.
 *
 *   "(%d+)%s*$"  ->  OPEN  ONE{0-9}+  CLOSE  ONE{blank}*  END
 *
 * match_rest calls itself once for each item that can match in several ways, so
 * it is never deeper than a pattern is long.
 */
#include "script_pattern.h"

#include <ctype.h>

enum kind {
	ONE,      /* a character of a set, perhaps repeated */
	OPEN,     /* "(" */
	CLOSE,    /* ")" */
	POSITION, /* "()" */
	BACK,     /* "%1": what a capture holds */
	BALANCE,  /* "%bxy" */
	FRONTIER, /* "%f[set]" */
	END,      /* "$" at the end */
};

/* --- compiling ----------------------------------------------------------- */

static void
set_add(uint8_t set[32], unsigned char c)
{
	set[c / 8] |= (uint8_t)(1u << c % 8);
}

static bool
set_has(const uint8_t set[32], unsigned char c)
{
	return set[c / 8] >> c % 8 & 1;
}

static int
class_has(int lower, int c)
{
	switch (lower) {
	case 'a':
		return isalpha(c);
	case 'c':
		return iscntrl(c);
	case 'd':
		return isdigit(c);
	case 'g':
		return isgraph(c);
	case 'l':
		return islower(c);
	case 'p':
		return ispunct(c);
	case 's':
		return isspace(c);
	case 'u':
		return isupper(c);
	case 'w':
		return isalnum(c);
	case 'x':
		return isxdigit(c);
	default:
		return -1;
	}
}

/* "%c": a class, all but one (upper case), or the character itself. */
static void
set_add_escaped(uint8_t set[32], unsigned char name)
{
	int lower = tolower(name);

	if (class_has(lower, 0) < 0) {
		set_add(set, name);
		return;
	}
	for (int c = 0; c < 256; c++) {
		bool in = class_has(lower, c) != 0;

		if (in == (lower == name))
			set_add(set, (unsigned char)c);
	}
}

static void
set_complement(uint8_t set[32])
{
	for (int i = 0; i < 32; i++)
		set[i] = (uint8_t)~set[i];
}

/* What is left of a pattern. */
struct source {
	const unsigned char *p, *end;
};

/* "[...]", p behind its '['. NULL or what is wrong. */
static const char *
compile_set(struct source *s, uint8_t set[32])
{
	bool all_but = s->p < s->end && *s->p == '^';
	bool first = true;

	s->p += all_but;
	for (; s->p < s->end && (*s->p != ']' || first); first = false) {
		unsigned char c = *s->p++;

		if (c == '%') {
			if (s->p == s->end)
				break;
			set_add_escaped(set, *s->p++);
		} else if (s->end - s->p > 1 && s->p[0] == '-' &&
		    s->p[1] != ']') {
			for (unsigned x = c; x <= s->p[1]; x++)
				set_add(set, (unsigned char)x);
			s->p += 2;
		} else {
			set_add(set, c);
		}
	}
	if (s->p == s->end)
		return "malformed pattern (missing ']')";
	s->p++;
	if (all_but)
		set_complement(set);
	return NULL;
}

/* "%f[set]", p behind the 'f'. */
static const char *
compile_frontier(struct source *s, struct script_item *it)
{
	it->kind = FRONTIER;
	if (s->p == s->end || *s->p++ != '[')
		return "malformed pattern (missing '[' after '%f')";
	return compile_set(s, it->set);
}

/* What begins with '%', p behind it. closed: bits of captures that are. */
static const char *
compile_escape(struct source *s, struct script_item *it, uint32_t closed)
{
	if (s->p == s->end)
		return "malformed pattern (ends with '%')";
	unsigned char c = *s->p++;

	if (c == 'f')
		return compile_frontier(s, it);
	if (c == 'b') {
		if (s->end - s->p < 2)
			return "malformed pattern (missing arguments to '%b')";
		*it = (struct script_item){.kind = BALANCE,
		    .a = (char)s->p[0],
		    .b = (char)s->p[1]};
		s->p += 2;
		return NULL;
	}
	if (!isdigit(c)) {
		set_add_escaped(it->set, c);
		return NULL;
	}
	it->kind = BACK;
	it->a = (char)(c - '1');
	return c == '0' || !(closed >> (c - '1') & 1)
	    ? "malformed pattern (no such capture)"
	    : NULL;
}

/* How far a compilation has come. */
struct compiler {
	struct source s;
	struct script_pattern *out;
	unsigned open[SCRIPT_PATTERN_CAPTURES]; /* captures not yet closed */
	unsigned nopen;
	uint32_t closed;
};

static const char *
compile_open(struct compiler *c, struct script_item *it)
{
	if (c->out->ncaptures == SCRIPT_PATTERN_CAPTURES)
		return "malformed pattern (too many captures)";
	it->a = (char)c->out->ncaptures++;
	if (c->s.p < c->s.end && *c->s.p == ')') {
		c->s.p++;
		it->kind = POSITION;
		return NULL;
	}
	it->kind = OPEN;
	c->open[c->nopen++] = (unsigned)it->a;
	return NULL;
}

static const char *
compile_close(struct compiler *c, struct script_item *it)
{
	if (c->nopen == 0)
		return "malformed pattern (unexpected ')')";
	it->kind = CLOSE;
	it->a = (char)c->open[--c->nopen];
	c->closed |= UINT32_C(1) << it->a;
	return NULL;
}

static bool
is_repeat(unsigned char c)
{
	return c == '*' || c == '+' || c == '-' || c == '?';
}

static const char *
compile_item(struct compiler *c, struct script_item *it)
{
	const char *flaw = NULL;
	unsigned char ch = *c->s.p++;

	*it = (struct script_item){.kind = ONE};
	if (ch == '(')
		return compile_open(c, it);
	if (ch == ')')
		return compile_close(c, it);
	if (ch == '$' && c->s.p == c->s.end) {
		it->kind = END;
		return NULL;
	}
	if (ch == '%')
		flaw = compile_escape(&c->s, it, c->closed);
	else if (ch == '[')
		flaw = compile_set(&c->s, it->set);
	else if (ch == '.')
		set_complement(it->set);
	else
		set_add(it->set, ch);
	if (flaw == NULL && it->kind == ONE && c->s.p < c->s.end &&
	    is_repeat(*c->s.p))
		it->repeat = (char)*c->s.p++;
	return flaw;
}

const char *
script_pattern_compile(struct span text, bool anchors,
    struct script_pattern *ret)
{
	const unsigned char *p = (const unsigned char *)text.p;
	struct compiler c = {.s = {p, p + text.n}, .out = ret};

	ret->n = ret->ncaptures = 0;
	ret->anchored = anchors && text.n > 0 && text.p[0] == '^';
	c.s.p += ret->anchored;
	while (c.s.p < c.s.end) {
		if (ret->n == SCRIPT_PATTERN_ITEMS)
			return "pattern too long";
		const char *flaw = compile_item(&c, &ret->v[ret->n++]);
		if (flaw != NULL)
			return flaw;
	}
	return c.nopen ? "malformed pattern (unfinished capture)" : NULL;
}

bool
script_pattern_is_plain(struct span text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '\0' && strchr("^$*+?.([%-", text.p[i]))
			return false;
	}
	return true;
}

/* --- matching ------------------------------------------------------------ */

/* Lives as long as one call of script_pattern_match. */
struct matcher {
	const struct script_pattern *pattern;
	const char *begin, *end; /* of the text */
	uint64_t *steps;
	struct script_match *out;
};

/* False: the budget is used up, and nothing matches any more. */
static bool
spend(struct matcher *m, uint64_t n)
{
	if (*m->steps <= n) {
		*m->steps = 0;
		return false;
	}
	*m->steps -= n;
	return true;
}

static struct script_capture *
capture_of(struct matcher *m, const struct script_item *it)
{
	return &m->out->v[(unsigned char)it->a];
}

static bool
one_fits(struct matcher *m, const struct script_item *it, const char *s)
{
	return s < m->end && spend(m, 1) && set_has(it->set, (unsigned char)*s);
}

/* "%bxy": behind the y that belongs to the x at s; NULL: there is none. */
static const char *
balance(struct matcher *m, const struct script_item *it, const char *s)
{
	size_t depth = 0;

	if (s == m->end || *s != it->a)
		return NULL;
	for (; s < m->end && spend(m, 1); s++) {
		if (*s == it->b && depth > 0) {
			if (--depth == 0)
				return s + 1;
		} else if (*s == it->a) {
			depth++;
		}
	}
	return NULL;
}

static const char *
frontier(struct matcher *m, const struct script_item *it, const char *s)
{
	unsigned char before = s == m->begin ? 0 : (unsigned char)s[-1];
	unsigned char at = s == m->end ? 0 : (unsigned char)*s;

	return spend(m, 1) && !set_has(it->set, before) && set_has(it->set, at)
	    ? s
	    : NULL;
}

static const char *
back(struct matcher *m, const struct script_item *it, const char *s)
{
	const struct script_capture *c = capture_of(m, it);

	if ((size_t)(m->end - s) < c->n || !spend(m, 1 + c->n / 8) ||
	    memcmp(c->p, s, c->n) != 0)
		return NULL;
	return s + c->n;
}

static const char *match_rest(struct matcher *m, unsigned i, const char *s);

/* As many as fit, then fewer and fewer. */
static const char *
repeat_most(struct matcher *m, unsigned i, const char *s, size_t least)
{
	const struct script_item *it = &m->pattern->v[i];
	size_t n = 0;

	while (one_fits(m, it, s + n))
		n++;
	for (; n >= least && *m->steps > 0; n--) {
		const char *end = match_rest(m, i + 1, s + n);

		if (end != NULL || n == 0)
			return end;
	}
	return NULL;
}

/* As few as will do. */
static const char *
repeat_least(struct matcher *m, unsigned i, const char *s)
{
	const char *end;

	while ((end = match_rest(m, i + 1, s)) == NULL) {
		if (!one_fits(m, &m->pattern->v[i], s))
			return NULL;
		s++;
	}
	return end;
}

static const char *
repeat(struct matcher *m, unsigned i, const char *s)
{
	const struct script_item *it = &m->pattern->v[i];
	const char *end;

	switch (it->repeat) {
	case '-':
		return repeat_least(m, i, s);
	case '?':
		if (one_fits(m, it, s) &&
		    (end = match_rest(m, i + 1, s + 1)) != NULL)
			return end;
		return match_rest(m, i + 1, s);
	default:
		return repeat_most(m, i, s, it->repeat == '+');
	}
}

/* What one item that can match in one way only takes; NULL: it does not. */
static const char *
match_one(struct matcher *m, const struct script_item *it, const char *s)
{
	switch ((enum kind)it->kind) {
	case ONE:
		return one_fits(m, it, s) ? s + 1 : NULL;
	case OPEN:
	case POSITION:
		*capture_of(m, it) =
		    (struct script_capture){s, 0, it->kind == POSITION};
		return s;
	case CLOSE:
		capture_of(m, it)->n = (size_t)(s - capture_of(m, it)->p);
		return s;
	case BACK:
		return back(m, it, s);
	case BALANCE:
		return balance(m, it, s);
	case FRONTIER:
		return frontier(m, it, s);
	case END:
		return s == m->end ? s : NULL;
	}
	return NULL;
}

/* Where the items from i on end when they begin at s; NULL: they don't match.
 * A capture is written anew on each way that is tried. */
static const char *
match_rest(struct matcher *m, unsigned i, const char *s)
{
	if (!spend(m, 1))
		return NULL;
	for (; s != NULL && i < m->pattern->n; i++) {
		if (m->pattern->v[i].repeat)
			return repeat(m, i, s);
		s = match_one(m, &m->pattern->v[i], s);
	}
	return s;
}

enum script_matched
script_pattern_match(const struct script_pattern *p, struct span text,
    size_t from, uint64_t *steps, struct script_match *ret)
{
	struct matcher m = {.pattern = p,
	    .begin = text.p,
	    .end = text.p + text.n,
	    .steps = steps,
	    .out = ret};

	for (const char *s = text.p + from; s <= m.end; s++) {
		const char *end = match_rest(&m, 0, s);

		if (*steps == 0)
			return SCRIPT_TOO_LONG;
		if (end != NULL) {
			ret->p = s;
			ret->n = (size_t)(end - s);
			ret->ncaptures = p->ncaptures;
			return SCRIPT_MATCHED;
		}
		if (p->anchored)
			break;
	}
	return SCRIPT_NO_MATCH;
}

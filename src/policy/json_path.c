/* SPDX-License-Identifier: MIT */
/*
 * json_path.c: values of a JSON text, by path.
 *
 * Decides which texts are read at all (an object or array, not too deep) and
 * what a path finds. It refuses to know what a value is compared with.
 *
 * Steps are kept as bytes, each with a NUL behind it, so that a rule can keep
 * them beside its other text and the library gets the names as it wants them:
 *
 *	error.details.*."@type"   ->   .error\0.details\0*\0.@type\0
 *
 * '.': a name; '#': a number, or a name where it meets an object; '*': all.
 *
 * Numbers are given back as decimals. The library keeps integers as 64 bits and
 * the rest as doubles; the shortest decimal that is the same double is what was
 * written, up to 15 digits. A text with an integer of more than 64 bits is read
 * again with all of them as doubles: one long id must not hide an error code.
 */
#include "policy/json_path.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "proto/octet.h"

#define NUMBER_BYTES 400 /* of a double without exponent: 309 digits and sign */

/* --- texts ---------------------------------------------------------------- */

static void *
take_memory(size_t bytes)
{
	return mem_alloc(bytes);
}

void
json_setup(void)
{
	json_set_alloc_funcs(take_memory, mem_free);
	json_object_seed(0);
}

/* Brackets outside strings. Of what is no JSON it may say anything. */
static bool
too_deep(struct span text)
{
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			i++;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']') && depth > 0)
			depth--;
		if (depth > JSON_DEPTH_MAX)
			return true;
	}
	return false;
}

int
json_doc_read(struct span text, struct json_doc *ret)
{
	const size_t flags = JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL;
	json_error_t error;
	json_t *root;

	if (span_starts(text, SPAN("\xef\xbb\xbf")))
		text = (struct span){text.p + 3, text.n - 3};
	if (text.n == 0 || too_deep(text))
		return -1;
	root = json_loadb(text.p, text.n, flags, &error);
	if (root == NULL &&
	    json_error_code(&error) == json_error_numeric_overflow)
		root = json_loadb(text.p, text.n,
		    flags | JSON_DECODE_INT_AS_REAL, &error);
	if (root == NULL)
		return -1;
	ret->root = root;
	return 0;
}

void
json_doc_clear(struct json_doc *d)
{
	json_decref(d->root);
	d->root = NULL;
}

/* --- paths ---------------------------------------------------------------- */

struct parse {
	struct span text;
	size_t at;
	char *buf;
	size_t n;
	const char *why;
};

static int
fault(struct parse *p, const char *why)
{
	p->why = why;
	return -1;
}

static bool
at_end(const struct parse *p)
{
	return p->at == p->text.n;
}

static int
quoted_step(struct parse *p)
{
	size_t open = p->at++;

	p->buf[p->n++] = '.';
	for (; !at_end(p) && p->text.p[p->at] != '"'; p->at++) {
		if (p->text.p[p->at] == '\\' && p->at + 1 < p->text.n)
			p->at++;
		p->buf[p->n++] = p->text.p[p->at];
	}
	if (at_end(p)) {
		p->at = open;
		return fault(p, "the closing quote is missing");
	}
	p->at++;
	return 0;
}

static int
plain_step(struct parse *p)
{
	const char *from = p->text.p + p->at;
	size_t n = 0, digits = 0;

	while (p->at + n < p->text.n && from[n] != '.') {
		if (from[n] == '"') {
			p->at += n;
			return fault(p,
			    "a quote inside a name; put the whole name in "
			    "quotes");
		}
		digits += octet_is_digit(from[n]);
		n++;
	}
	if (n == 0)
		return fault(p, "a name is missing in the path");
	if (n == 1 && from[0] == '*') {
		p->buf[p->n++] = '*';
		p->at++;
		return 0;
	}
	p->buf[p->n++] = digits == n ? '#' : '.';
	memcpy(p->buf + p->n, from, n);
	p->n += n;
	p->at += n;
	return 0;
}

static int
parse_step(struct parse *p)
{
	bool is_quoted = !at_end(p) && p->text.p[p->at] == '"';

	if ((is_quoted ? quoted_step(p) : plain_step(p)) != 0)
		return -1;
	p->buf[p->n++] = '\0';
	if (!at_end(p) && p->text.p[p->at] != '.')
		return fault(p, "a '.' must follow the closing quote");
	return 0;
}

static int
parse_path(struct parse *p)
{
	unsigned steps = 0;

	if (memchr(p->text.p, '\0', p->text.n))
		return fault(p, "a NUL in the path");
	for (;;) {
		if (steps++ == JSON_PATH_STEPS_MAX)
			return fault(p, "more than 16 steps in the path");
		if (parse_step(p) != 0)
			return -1;
		if (at_end(p))
			return 0;
		p->at++; /* the '.' */
	}
}

int
json_path_parse(struct span text, char *buf, size_t *ret_n,
    const char **ret_why, size_t *ret_at)
{
	struct parse p = {.text = text, .buf = buf};

	if (text.n == 0 || parse_path(&p) != 0) {
		*ret_why = text.n ? p.why : "a path is missing";
		*ret_at = p.at;
		return -1;
	}
	*ret_n = p.n;
	return 0;
}

/* --- values --------------------------------------------------------------- */

struct walk {
	bool (*fn)(void *arg, const struct json_value *v);
	void *arg;
	unsigned left; /* of JSON_PATH_ALL_MAX */
};

/* The same without an exponent: 17 digits, then zeros. All digits that such a
 * double has take a hundred times as long, and nobody wrote them. */
static size_t
put_huge(char buf[NUMBER_BYTES], double v)
{
	enum { DIGITS = 17 };
	size_t sign = v < 0, zeros;
	int n = snprintf(buf, NUMBER_BYTES, "%.*e", DIGITS - 1, v);
	const char *e = memchr(buf, 'e', (size_t)n);

	zeros = strtoul(e + 1, NULL, 10) + 1 - DIGITS;
	/* The point behind the first digit goes. */
	memmove(buf + sign + 1, buf + sign + 2, DIGITS - 1);
	memset(buf + sign + DIGITS, '0', zeros);
	return sign + DIGITS + zeros;
}

/* A double as the shortest decimal that is the same double. */
static size_t
put_real(char buf[NUMBER_BYTES], double v)
{
	int n = 0;

	if (fabs(v) >= 1e17)
		return put_huge(buf, v);
	if (fabs(v) >= 1e15)
		return (size_t)snprintf(buf, NUMBER_BYTES, "%.0f", v);
	if (v != 0 && fabs(v) < 1e-4)
		return (size_t)snprintf(buf, NUMBER_BYTES, "%.18f", v);
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(buf, NUMBER_BYTES, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	return (size_t)n;
}

static bool
give(const struct walk *w, json_t *json)
{
	struct json_value v = {.kind = JSON_VALUE_TREE};
	char number[NUMBER_BYTES];

	switch (json_typeof(json)) {
	case JSON_NULL:
		return false;
	case JSON_OBJECT:
	case JSON_ARRAY:
		break;
	case JSON_STRING:
		v.kind = JSON_VALUE_TEXT;
		v.text = (struct span){json_string_value(json),
		    json_string_length(json)};
		break;
	case JSON_INTEGER:
		v.kind = JSON_VALUE_NUMBER;
		v.text = (struct span){number,
		    (size_t)snprintf(number, sizeof(number),
			"%" JSON_INTEGER_FORMAT, json_integer_value(json))};
		break;
	case JSON_REAL:
		v.kind = JSON_VALUE_NUMBER;
		v.text = (struct span){number,
		    put_real(number, json_real_value(json))};
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		v.kind = JSON_VALUE_WORD;
		v.text = json_is_true(json) ? SPAN("true") : SPAN("false");
		break;
	}
	return w->fn(w->arg, &v);
}

static bool visit(struct walk *w, json_t *json, struct span steps);

static bool
visit_all(struct walk *w, json_t *json, struct span rest)
{
	size_t n = json_array_size(json); /* 0 where it is none */
	void *iter = json_object_iter(json);

	for (size_t i = 0; i < n && w->left > 0; i++) {
		w->left--;
		if (visit(w, json_array_get(json, i), rest))
			return true;
	}
	for (; iter != NULL && w->left > 0;
	     iter = json_object_iter_next(json, iter)) {
		w->left--;
		if (visit(w, json_object_iter_value(iter), rest))
			return true;
	}
	return false;
}

/* Not deeper than the path is long. */
static bool
visit(struct walk *w, json_t *json, struct span steps)
{
	struct span rest = steps, step;
	json_t *next = NULL;
	uint64_t i;

	if (steps.n == 0)
		return give(w, json);
	if (!span_cut(&rest, '\0', &step))
		return false;
	if (step.p[0] == '*')
		return visit_all(w, json, rest);
	if (json_is_object(json))
		next = json_object_get(json, step.p + 1);
	else if (step.p[0] == '#' &&
	    span_u64((struct span){step.p + 1, step.n - 1}, &i) == 0)
		next = json_array_get(json, i);
	return next != NULL && visit(w, next, rest);
}

bool
json_path_each(const struct json_doc *d, struct json_path path,
    bool (*fn)(void *arg, const struct json_value *v), void *arg)
{
	struct walk w = {.fn = fn, .arg = arg, .left = JSON_PATH_ALL_MAX};

	return d->root != NULL && visit(&w, d->root, path.steps);
}

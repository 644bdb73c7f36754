/* SPDX-License-Identifier: MIT */
/*
 * words decides where a word ends and which number it is. It knows no
 * statement of the language.
 */
#include "words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
words_bad(const struct words *w, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: ", w->file, w->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

/* Writes one word behind *to. */
static void
put_word(struct words *w, char **to, const char *p, size_t n, bool quoted)
{
	if (w->n == WORDS_MAX)
		words_bad(w, "more than %d words", WORDS_MAX);
	w->v[w->n] = *to;
	w->quoted[w->n++] = quoted;
	memcpy(*to, p, n);
	(*to)[n] = '\0';
	*to += n + 1;
}

static const char *
put_quoted(struct words *w, char **to, const char *p)
{
	char text[LINE_MAX_BYTES];
	size_t n = 0;

	for (; *p != '"'; p++) {
		char c = *p;

		if (c == '\0')
			words_bad(w, "a closing quote is missing");
		if (c == '\\' && (p[1] == 'r' || p[1] == 'n'))
			c = *++p == 'r' ? '\r' : '\n';
		else if (c == '\\' && p[1] == '"')
			c = *++p;
		text[n++] = c;
	}
	put_word(w, to, text, n, true);
	return p + 1;
}

/* The length of a sign that stands for itself, or 0. */
static size_t
sign_length(const char *p)
{
	if (*p == '|' || *p == ',' || *p == '=')
		return 1;
	if ((p[0] == '<' || p[0] == '>') && p[1] == '=')
		return 2;
	return p[0] == '.' && p[1] == '.' ? 2 : 0;
}

static const char *
put_plain(struct words *w, char **to, const char *p)
{
	size_t n = sign_length(p);

	if (n == 0) {
		while (p[n] && !isspace((unsigned char)p[n]) && p[n] != '"' &&
		    sign_length(p + n) == 0)
			n++;
		if (n > 1 && p[n - 1] == ':')
			n--;
	}
	put_word(w, to, p, n, false);
	return p + n;
}

void
words_split(struct words *w, const char *file, int line, const char *text)
{
	char *to = w->text;

	w->file = file;
	w->line = line;
	w->n = w->at = 0;
	if (strlen(text) >= LINE_MAX_BYTES)
		words_bad(w, "the line is too long");
	for (const char *p = text; *p;) {
		if (isspace((unsigned char)*p))
			p++;
		else if (*p == '#')
			break;
		else if (*p == '"')
			p = put_quoted(w, &to, p + 1);
		else
			p = put_plain(w, &to, p);
	}
}

bool
words_take(struct words *w, const char *word)
{
	if (words_end(w) || w->quoted[w->at] || strcmp(w->v[w->at], word) != 0)
		return false;
	w->at++;
	return true;
}

bool
words_is_quoted(const struct words *w)
{
	return !words_end(w) && w->quoted[w->at];
}

bool
words_is_number(const struct words *w)
{
	return !words_end(w) && !w->quoted[w->at] &&
	    isdigit((unsigned char)w->v[w->at][0]);
}

const char *
words_next(struct words *w, const char *what)
{
	if (words_end(w))
		words_bad(w, "%s is missing", what);
	return w->v[w->at++];
}

void
words_need(struct words *w, const char *word)
{
	if (!words_take(w, word))
		words_bad(w, "'%s' expected%s%s", word,
		    words_end(w) ? "" : " before ",
		    words_end(w) ? "" : w->v[w->at]);
}

void
words_done(const struct words *w)
{
	if (!words_end(w))
		words_bad(w, "'%s' is not understood", w->v[w->at]);
}

struct unit {
	const char *name;
	int64_t times;
};

static const struct unit times[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000},
    {"min", 60000000}, {"h", 3600000000}, {"d", 86400000000}, {NULL, 0}};
static const struct unit sizes[] = {{"B", 1}, {"KiB", 1 << 10},
    {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
static const struct unit pers[] = {{"ms", 1}, {"s", 1000}, {"min", 60000},
    {"h", 3600000}, {"day", 86400000}, {NULL, 0}};

static int64_t
unit_times(const struct words *w, const struct unit *u, const char *name)
{
	for (; u->name; u++)
		if (strcmp(u->name, name) == 0)
			return u->times;
	words_bad(w, "'%s' is no unit of this kind", name);
}

/* DIGITS[.DIGITS] as a whole number over a power of ten. */
static const char *
number(const struct words *w, const char *p, int64_t *ret, int64_t *ret_scale)
{
	*ret = 0;
	*ret_scale = 1;
	if (!isdigit((unsigned char)*p))
		words_bad(w, "'%s' does not begin with a number", p);
	for (; isdigit((unsigned char)*p); p++)
		*ret = *ret * 10 + (*p - '0');
	if (*p != '.')
		return p;
	for (p++; isdigit((unsigned char)*p); p++) {
		*ret = *ret * 10 + (*p - '0');
		*ret_scale *= 10;
	}
	return p;
}

static int64_t
quantity(struct words *w, const struct unit *units, const char *what)
{
	int64_t v, scale;
	const char *unit = number(w, words_next(w, what), &v, &scale);

	if (*unit == '\0' && v == 0)
		return 0;
	return v * unit_times(w, units, unit) / scale;
}

int64_t
words_time_us(struct words *w)
{
	return quantity(w, times, "a time");
}

int64_t
words_size(struct words *w)
{
	return quantity(w, sizes, "a size");
}

int64_t
words_count(struct words *w)
{
	int64_t v, scale;
	const char *end = number(w, words_next(w, "a number"), &v, &scale);

	if (*end || scale != 1)
		words_bad(w, "a whole number is needed");
	return v;
}

bool
words_take_percent(struct words *w, unsigned *ret)
{
	const char *end;
	int64_t v, scale;

	if (words_end(w) || !strchr(w->v[w->at], '%'))
		return false;
	end = number(w, words_next(w, "a percentage"), &v, &scale);
	if (strcmp(end, "%") != 0 || scale != 1)
		words_bad(w, "a percentage is a whole number and %%");
	*ret = (unsigned)v;
	return true;
}

bool
words_flag(struct words *w)
{
	if (words_take(w, "yes"))
		return true;
	words_need(w, "no");
	return false;
}

struct bucket_rate
words_rate(struct words *w)
{
	struct bucket_rate r = {0};
	int64_t v, scale;
	const char *p = number(w, words_next(w, "a rate"), &v, &scale);

	if (*p != '/' || v == 0)
		words_bad(w, "a rate is NUMBER/UNIT, as 90/min");
	r.count = (uint64_t)v;
	r.per_ms = unit_times(w, pers, p + 1) * scale;
	if (words_take(w, "burst"))
		r.burst = (uint64_t)words_count(w);
	return r;
}

struct range
words_range(struct words *w, int64_t (*value)(struct words *w))
{
	struct range r = {0, INT64_MAX};

	if (words_take(w, ">=")) {
		r.lo = value(w);
	} else if (words_take(w, "<=")) {
		r.hi = value(w);
	} else {
		r.lo = r.hi = value(w);
		if (words_take(w, ".."))
			r.hi = value(w);
	}
	return r;
}

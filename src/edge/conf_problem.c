/* SPDX-License-Identifier: MIT */
/*
 * conf_problem.c: the list of what is wrong.
 *
 * Decides how a problem reads and in what order problems are shown. It must
 * work when there is no memory left: the list keeps room for one more line
 * than it holds, and the line that says "out of memory" is no allocation.
 */
#include "edge/conf_problem.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"

static char no_memory_text[] = "out of memory";
static char *no_memory_only[] = {no_memory_text};

const char *
conf_where_text(struct conf_where w, char buf[CONF_WHERE_MAX])
{
	if (w.line > 0)
		(void)snprintf(buf, CONF_WHERE_MAX, "%s:%u",
		    w.file ? w.file : "", w.line);
	else
		(void)snprintf(buf, CONF_WHERE_MAX, "%s", w.file ? w.file : "");
	return buf;
}

static bool
has_no_memory(const struct conf_problems *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i] == no_memory_text)
			return true;
	}
	return false;
}

void
conf_problem_no_memory(struct conf_problems *p)
{
	if (has_no_memory(p))
		return;
	if (p->v == NULL) {
		*p = (struct conf_problems){.v = no_memory_only, .n = 1};
		return;
	}
	p->v[p->n++] = no_memory_text;
}

/* Makes room for one line and, beyond it, for "out of memory". */
static int
reserve(struct conf_problems *p)
{
	if (p->n + 2 <= p->cap)
		return 0;

	size_t cap = p->cap ? 2 * p->cap : 8;
	char **v = mem_realloc(p->v, cap * sizeof(*v));
	if (v == NULL)
		return -1;
	p->v = v;
	p->cap = cap;
	return 0;
}

void
conf_problem(struct conf_problems *p, struct conf_where w, const char *fmt, ...)
{
	va_list ap;

	if (has_no_memory(p)) /* what follows from that is no news */
		return;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);

	char place[CONF_WHERE_MAX];
	conf_where_text(w, place);
	size_t at = strlen(place) + 2, size = at + (size_t)(n < 0 ? 0 : n) + 1;
	char *text = reserve(p) == 0 ? mem_alloc(size) : NULL;
	if (text == NULL) {
		conf_problem_no_memory(p);
		return;
	}
	(void)snprintf(text, size, "%s: ", place);
	va_start(ap, fmt);
	(void)vsnprintf(text + at, size - at, fmt, ap);
	va_end(ap);
	p->v[p->n++] = text;
}

/* "f:9: ..." comes before "f:10: ...". */
static int
compare(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void
conf_problems_sort(struct conf_problems *p, size_t from)
{
	if (p->n > from + 1)
		qsort(p->v + from, p->n - from, sizeof(*p->v), compare);
}

void
conf_problems_free(struct conf_problems *p)
{
	if (p->v != no_memory_only) {
		for (size_t i = 0; i < p->n; i++) {
			if (p->v[i] != no_memory_text)
				mem_free(p->v[i]);
		}
		mem_free(p->v);
	}
	*p = (struct conf_problems){.v = NULL};
}

void
conf_problems_print(const struct conf_problems *p, FILE *to)
{
	for (size_t i = 0; i < p->n; i++)
		(void)fprintf(to, "%s\n", p->v[i]);
}

/*
 * The bytes of the UTF-8 character at p, 0 where there is none (RFC 3629:
 * shortest form, no surrogates, at most U+10FFFF).
 */
static size_t
utf8_len(const unsigned char *p, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		len = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (len > n || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	}
	return len;
}

const char *
conf_text_flaw(struct span s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	for (size_t i = 0; i < s.n;) {
		size_t len = utf8_len(p + i, s.n - i);

		if (len == 0)
			return "bytes that are no UTF-8; save the file as UTF-8";
		if (p[i] == '\0')
			return "a NUL byte; take it out";
		if ((p[i] < 0x20 && p[i] != '\t') || p[i] == 0x7f)
			return "a control character; take it out";
		i += len;
	}
	return NULL;
}

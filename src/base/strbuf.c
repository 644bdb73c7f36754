/* SPDX-License-Identifier: MIT */
/*
 * strbuf.c: growing text, and the two escapes for what a peer sent.
 *
 * Decides how memory grows and which bytes are safe inside a JSON string or a
 * log line. It refuses to know what the text is for. One spare byte beyond
 * `max` is kept for the NUL that vsnprintf insists on.
 */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

#define STRBUF_FIRST_CAP 64

static const char hex_digits[] = "0123456789abcdef";

void
strbuf_init(struct strbuf *b, size_t max)
{
	*b = (struct strbuf){.max = max < SIZE_MAX ? max : SIZE_MAX - 1};
}

void
strbuf_clear(struct strbuf *b)
{
	b->n = 0;
	b->failed = false;
}

void
strbuf_free(struct strbuf *b)
{
	mem_free(b->p);
	strbuf_init(b, b->max);
}

/* Room for `more` bytes and a NUL; false marks the buffer failed. */
static bool
room(struct strbuf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : STRBUF_FIRST_CAP;
	size_t need;
	char *p;

	if (b->failed || more > b->max - b->n) {
		b->failed = true;
		return false;
	}
	need = b->n + more + 1;
	if (need <= b->cap)
		return true;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	p = mem_realloc(b->p, cap);
	if (p == NULL) {
		b->failed = true;
		return false;
	}
	b->p = p;
	b->cap = cap;
	return true;
}

void
strbuf_put(struct strbuf *b, const void *p, size_t n)
{
	if (n == 0 || !room(b, n))
		return;
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void
strbuf_span(struct strbuf *b, struct span s)
{
	strbuf_put(b, s.p, s.n);
}

void
strbuf_char(struct strbuf *b, char c)
{
	strbuf_put(b, &c, 1);
}

void
strbuf_u64(struct strbuf *b, uint64_t v)
{
	char digits[20]; /* UINT64_MAX has 20 */
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	strbuf_put(b, digits + at, sizeof(digits) - at);
}

void
strbuf_fmt(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;
	int len;

	if (b->failed)
		return;
	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0) {
		b->failed = true;
		return;
	}
	if (!room(b, (size_t)len))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(b->p + b->n, (size_t)len + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)len;
}

/*
 * The range of a second byte after lead byte `c` (Unicode 15, table 3-7): it
 * is what shuts out overlong forms, surrogates and what lies past U+10FFFF.
 * Returns the length of the sequence, 0 where `c` can't lead one.
 */
static size_t
utf8_lead(unsigned char c, unsigned char *ret_low, unsigned char *ret_high)
{
	*ret_low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	*ret_high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	if (c >= 0xf0 && c <= 0xf4)
		return 4;
	return 0;
}

/*
 * Looks at the non-ASCII byte that `s` begins with. Returns how many bytes
 * belong together and whether they are a whole character; if not, they are
 * the longest beginning of one, and one U+FFFD stands for them.
 */
static size_t
utf8_take(struct span s, bool *ret_valid)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned char low, high;
	size_t len = utf8_lead(p[0], &low, &high);
	size_t i;

	for (i = 1; i < len && i < s.n; i++) {
		if (p[i] < low || p[i] > high)
			break;
		low = 0x80;
		high = 0xbf;
	}
	*ret_valid = len > 0 && i == len;
	return i;
}

/* `c` is one that JSON wants escaped (RFC 8259 7). */
static void
json_escape(struct strbuf *b, unsigned char c)
{
	static const char plain[] = "\"\\\b\f\n\r\t", named[] = "\"\\bfnrt";
	const char *at = c ? strchr(plain, c) : NULL;

	if (at != NULL) {
		strbuf_char(b, '\\');
		strbuf_char(b, named[at - plain]);
		return;
	}
	strbuf_lit(b, "\\u00");
	strbuf_char(b, hex_digits[c >> 4]);
	strbuf_char(b, hex_digits[c & 15]);
}

static bool
json_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

void
strbuf_json(struct strbuf *b, struct span s)
{
	size_t i = 0;

	strbuf_char(b, '"');
	while (i < s.n && !b->failed) {
		unsigned char c = (unsigned char)s.p[i];
		bool valid = true;
		size_t len = 0;

		while (i + len < s.n && json_plain((unsigned char)s.p[i + len]))
			len++;
		if (len == 0 && c < 0x80) {
			json_escape(b, c);
			i++;
			continue;
		}
		if (len == 0)
			len =
			    utf8_take((struct span){s.p + i, s.n - i}, &valid);
		if (valid)
			strbuf_put(b, s.p + i, len);
		else
			strbuf_lit(b, "\xef\xbf\xbd");
		i += len;
	}
	strbuf_char(b, '"');
}

void
strbuf_escaped(struct strbuf *b, struct span s)
{
	for (size_t i = 0; i < s.n && !b->failed; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (json_plain(c) && c != 0x7f) {
			strbuf_char(b, s.p[i]);
			continue;
		}
		strbuf_lit(b, "\\x");
		strbuf_char(b, hex_digits[c >> 4]);
		strbuf_char(b, hex_digits[c & 15]);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * octet: which bytes may stand where in HTTP text, and how to run over them
 * fast. Everything on this floor that looks at single bytes asks here, so that
 * a token is the same thing everywhere.
 */
#ifndef AB_OCTET_H
#define AB_OCTET_H

#include "base/span.h"

enum octet_class {
	OCTET_TOKEN = 1,   /* tchar, RFC 9110 5.6.2 */
	OCTET_VISIBLE = 2, /* %x21-7E */
	OCTET_TEXT = 4,    /* field-vchar, SP, HTAB: RFC 9110 5.5 */
	OCTET_HOST = 8,    /* reg-name without "%": RFC 3986 3.2.2 */
};

extern const uint8_t octet_classes[256];

static inline bool
octet_is(char c, enum octet_class class)
{
	return octet_classes[(unsigned char)c] & class;
}

static inline bool
octet_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* How many digits s begins with. */
static inline size_t
octet_digits(struct span s)
{
	size_t n = 0;

	while (n < s.n && octet_is_digit(s.p[n]))
		n++;
	return n;
}

static inline bool
octet_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* 0..15, or -1. */
static inline int
octet_hex(char c)
{
	if (octet_is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Eight bytes at a time. The marks are the top bits of the bytes that are below
 * `low` (<= 128) or DEL; above the first true one in the order of significance
 * there may be false ones. Source: the zero-in-word test of H. Warren,
 * "Hacker's Delight", 6-1.
 */
#define OCTET_WORD  sizeof(uint64_t)
#define OCTET_ONES  (UINT64_MAX / 255) /* 0x01 in each byte of a word */
#define OCTET_HIGHS (OCTET_ONES * 128) /* 0x80 in each */

static inline uint64_t
octet_marks(uint64_t w, uint64_t low)
{
	uint64_t del = w ^ OCTET_ONES * 0x7f;

	return (((w - OCTET_ONES * low) & ~w) | ((del - OCTET_ONES) & ~del)) &
	       OCTET_HIGHS;
}

static inline uint64_t
octet_load(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* How many bytes of the word come before the first mark (not 0). */
static inline size_t
octet_before(uint64_t marks)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (size_t)__builtin_ctzll(marks) / 8;
#else
	(void)marks;
	return 0; /* false marks come first here: look at each byte */
#endif
}

/* The first byte in [p, end) that is not of the class, or end. */
static inline const char *
octet_skip_token(const char *p, const char *end)
{
	while (p < end && octet_is(*p, OCTET_TOKEN))
		p++;
	return p;
}

static inline const char *
octet_skip_text(const char *p, const char *end)
{
	while (end - p >= (ptrdiff_t)OCTET_WORD) {
		uint64_t marks = octet_marks(octet_load(p), 0x20);

		if (marks == 0) {
			p += OCTET_WORD;
			continue;
		}
		p += octet_before(marks);
		if (!octet_is(*p, OCTET_TEXT))
			return p;
		p++; /* HTAB */
	}
	while (p < end && octet_is(*p, OCTET_TEXT))
		p++;
	return p;
}

static inline const char *
octet_skip_visible(const char *p, const char *end)
{
	while (end - p >= (ptrdiff_t)OCTET_WORD) {
		uint64_t w = octet_load(p);
		uint64_t marks = octet_marks(w, 0x21) | (w & OCTET_HIGHS);

		if (marks == 0) {
			p += OCTET_WORD;
			continue;
		}
		p += octet_before(marks);
		if (!octet_is(*p, OCTET_VISIBLE))
			return p;
		p++;
	}
	while (p < end && octet_is(*p, OCTET_VISIBLE))
		p++;
	return p;
}

#endif

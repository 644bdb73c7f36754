/* SPDX-License-Identifier: MIT */
/*
 * basic.c: decides what a pair of user and password is, byte for byte. It
 * refuses to know whose it is, and what character set it is in.
 */
#include "proto/basic.h"

#include "proto/octet.h"

/* 0..63, or -1. */
static int
sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (octet_is_digit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters with `pad` of '=' at their end, as 3 - pad bytes. */
static int
quantum(const char *p, unsigned pad, char ret[3])
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < 4; i++) {
		int v = i < 4 - pad ? sextet(p[i]) : 0;

		if (v < 0)
			return -1;
		bits = bits << 6 | (uint32_t)v;
	}
	if (bits & ((1u << 8 * pad) - 1)) /* what the padding leaves over */
		return -1;
	ret[0] = (char)(bits >> 16);
	ret[1] = (char)(bits >> 8);
	ret[2] = (char)bits;
	return 0;
}

/* The number of bytes, or -1. */
static int
decode(struct span in, char buf[BASIC_PAIR_MAX])
{
	size_t n = 0;
	char three[3];

	if (in.n % 4 != 0)
		return -1;
	for (size_t i = 0; i < in.n; i += 4) {
		unsigned pad = 0, got;

		if (i + 4 == in.n)
			pad = in.p[i + 3] != '=' ? 0
			    : in.p[i + 2] != '=' ? 1
						 : 2;
		got = 3 - pad;
		if (quantum(in.p + i, pad, three) < 0 ||
		    n + got > BASIC_PAIR_MAX)
			return -1;
		memcpy(buf + n, three, got);
		n += got;
	}
	return (int)n;
}

static bool
has_control(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	return false;
}

enum basic_result
basic_parse(struct span value, char buf[BASIC_PAIR_MAX], struct basic *ret)
{
	struct span scheme, rest = value, user;
	int n;

	if (!span_cut(&rest, ' ', &scheme) || !span_ieq(scheme, SPAN("Basic")))
		return BASIC_OTHER;
	while (rest.n && rest.p[0] == ' ') /* 1*SP, RFC 9110 11.4 */
		rest = (struct span){rest.p + 1, rest.n - 1};
	n = rest.p ? decode(rest, buf) : -1;
	if (n < 0)
		return BASIC_BAD;
	rest = (struct span){buf, (size_t)n};
	if (has_control(rest) || !memchr(buf, ':', rest.n))
		return BASIC_BAD;
	(void)span_cut(&rest, ':', &user);
	if (user.n > BASIC_USER_MAX || rest.n > BASIC_PASSWORD_MAX)
		return BASIC_BAD;
	*ret = (struct basic){.user = user, .password = rest};
	return BASIC_OK;
}

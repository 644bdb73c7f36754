/* SPDX-License-Identifier: MIT */
/*
 * sfield.c: taking structured fields apart, as strictly as RFC 9651 4.2 asks:
 * what is malformed is to be ignored as a whole, and never guessed at.
 */
#include "proto/sfield.h"
#include "proto/octet.h"

#define INTEGER_DIGITS 15
#define DECIMAL_DIGITS 12
#define DECIMAL_PLACES 3

static void
skip(struct span *s, size_t n)
{
	*s = (struct span){s->p + n, s->n - n};
}

static bool
is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool
is_letter(char c)
{
	return is_lower((char)(c | 0x20));
}

/* The readers give the length of what s begins with, or 0. */

/* 4.2.4 */
static size_t
number(struct span s)
{
	size_t sign = s.n > 0 && s.p[0] == '-', whole, places;

	skip(&s, sign);
	whole = octet_digits(s);
	if (whole == 0 || whole > INTEGER_DIGITS)
		return 0;
	skip(&s, whole);
	if (s.n == 0 || s.p[0] != '.')
		return sign + whole;
	skip(&s, 1);
	places = octet_digits(s);
	if (whole > DECIMAL_DIGITS || places == 0 || places > DECIMAL_PLACES)
		return 0;
	return sign + whole + 1 + places;
}

/* 4.2.5 */
static size_t
string(struct span s)
{
	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] == '"')
			return i + 1;
		if (s.p[i] == '\\') {
			i++;
			if (i == s.n || (s.p[i] != '"' && s.p[i] != '\\'))
				return 0;
		} else if (s.p[i] < 0x20 || s.p[i] > 0x7e) {
			return 0;
		}
	}
	return 0;
}

/* 4.2.6 */
static size_t
token(struct span s)
{
	size_t n = 1;

	while (n < s.n &&
	    (octet_is(s.p[n], OCTET_TOKEN) || s.p[n] == ':' || s.p[n] == '/'))
		n++;
	return n;
}

/* 4.2.7 */
static size_t
bytes(struct span s)
{
	size_t n = 1;

	while (n < s.n &&
	    (is_letter(s.p[n]) || octet_is_digit(s.p[n]) || s.p[n] == '+' ||
		s.p[n] == '/' || s.p[n] == '='))
		n++;
	return n < s.n && s.p[n] == ':' ? n + 1 : 0;
}

/* 4.2.9: an integer behind "@" */
static size_t
date(struct span s)
{
	skip(&s, 1);
	size_t n = number(s);

	return n > 0 && !memchr(s.p, '.', n) ? n + 1 : 0;
}

static size_t
bare(struct span s)
{
	if (s.n == 0)
		return 0;
	if (s.p[0] == '"')
		return string(s);
	if (s.p[0] == '-' || octet_is_digit(s.p[0]))
		return number(s);
	if (s.p[0] == '*' || is_letter(s.p[0]))
		return token(s);
	if (s.p[0] == ':')
		return bytes(s);
	if (s.p[0] == '@')
		return date(s);
	return s.n > 1 && s.p[0] == '?' && (s.p[1] == '0' || s.p[1] == '1') ? 2
									    : 0;
}

static int
take(struct span *s, size_t n, struct span *ret)
{
	if (n == 0)
		return -1;
	*ret = (struct span){s->p, n};
	skip(s, n);
	return 0;
}

int
sfield_bare(struct span *s, struct span *ret)
{
	return take(s, bare(*s), ret);
}

int
sfield_key(struct span *s, struct span *ret)
{
	size_t n = 0;

	while (n < s->n &&
	    (is_lower(s->p[n]) || s->p[n] == '*' ||
		(n > 0 &&
		    (octet_is_digit(s->p[n]) || s->p[n] == '_' ||
			s->p[n] == '-' || s->p[n] == '.'))))
		n++;
	return take(s, n, ret);
}

int
sfield_value(struct span *s, struct span *ret)
{
	*ret = (struct span){NULL, 0};
	if (s->n == 0 || s->p[0] != '=')
		return 0;
	skip(s, 1);
	return sfield_bare(s, ret);
}

int
sfield_param(struct span *s, struct span *ret_key, struct span *ret_value)
{
	if (s->n == 0 || s->p[0] != ';')
		return 0;
	skip(s, 1);
	while (s->n > 0 && s->p[0] == ' ')
		skip(s, 1);
	if (sfield_key(s, ret_key) || sfield_value(s, ret_value))
		return -1;
	return 1;
}

static void
skip_blanks(struct span *s)
{
	while (s->n > 0 && octet_is_blank(s->p[0]))
		skip(s, 1);
}

int
sfield_comma(struct span *s)
{
	skip_blanks(s);
	if (s->n == 0)
		return 0;
	if (s->p[0] != ',')
		return -1;
	skip(s, 1);
	skip_blanks(s);
	return s->n > 0 ? 1 : -1;
}

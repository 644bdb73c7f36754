/* SPDX-License-Identifier: MIT */
/*
 * span.c: comparing and taking apart borrowed text.
 *
 * Decides what counts as white space, as a list element and as a number where
 * HTTP and our own configuration agree on it. It knows no field by name, keeps
 * nothing and never writes to what it reads. No locale is ever asked.
 */
#include "base/span.h"

static unsigned char
lower(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 'A' && u <= 'Z' ? (unsigned char)(u | 0x20) : u;
}

static bool
is_ows(char c)
{
	return c == ' ' || c == '\t';
}

bool
span_ieq(struct span a, struct span b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	}
	return true;
}

bool
span_starts(struct span s, struct span prefix)
{
	return s.n >= prefix.n && span_eq((struct span){s.p, prefix.n}, prefix);
}

bool
span_istarts(struct span s, struct span prefix)
{
	return s.n >= prefix.n &&
	    span_ieq((struct span){s.p, prefix.n}, prefix);
}

bool
span_ends(struct span s, struct span suffix)
{
	if (suffix.n == 0)
		return true;
	return s.n >= suffix.n &&
	    memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0;
}

struct span
span_trim(struct span s)
{
	while (s.n > 0 && is_ows(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n > 0 && is_ows(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Takes the first `n` bytes off *rest, and the separator that follows. */
static struct span
take(struct span *rest, size_t n)
{
	struct span part = {rest->p, n};

	if (n == rest->n)
		*rest = (struct span){.p = NULL};
	else
		*rest = (struct span){rest->p + n + 1, rest->n - n - 1};
	return part;
}

bool
span_cut(struct span *rest, char sep, struct span *ret_part)
{
	const char *at = NULL;

	if (rest->p == NULL)
		return false;
	if (rest->n > 0)
		at = memchr(rest->p, sep, rest->n);
	*ret_part = take(rest, at ? (size_t)(at - rest->p) : rest->n);
	return true;
}

/*
 * Bytes before the first comma outside quotes. A quoted string that is never
 * closed runs to the end: its commas were meant as text.
 */
static size_t
item_len(struct span s)
{
	bool quoted = false;
	size_t i;

	for (i = 0; i < s.n; i++) {
		if (quoted && s.p[i] == '\\' && i + 1 < s.n)
			i++;
		else if (s.p[i] == '"')
			quoted = !quoted;
		else if (s.p[i] == ',' && !quoted)
			break;
	}
	return i;
}

bool
span_next_item(struct span *rest, struct span *ret_item)
{
	while (rest->p != NULL) {
		struct span item = span_trim(take(rest, item_len(*rest)));

		if (item.n > 0) {
			*ret_item = item;
			return true;
		}
	}
	return false;
}

int
span_u64(struct span s, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0)
		return -1;
	for (size_t i = 0; i < s.n; i++) {
		uint64_t digit = (uint64_t)(unsigned char)s.p[i] - '0';

		if (digit > 9)
			return -1;
		if (v > (UINT64_MAX - digit) / 10)
			v = UINT64_MAX;
		else
			v = v * 10 + digit;
	}
	*ret = v;
	return 0;
}

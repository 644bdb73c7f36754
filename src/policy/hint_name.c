/* SPDX-License-Identifier: MIT */
/*
 * hint_name.c: comparing names of fields.
 *
 *	x-ratelimit-reset-tokens      x-ratelimit- | reset | -tokens
 *	x-ratelimit-remaining-tokens  x-ratelimit- | remaining | -tokens
 *	x-ratelimit-reset-after       x-ratelimit- | reset -after |
 */
#include "policy/hint_name.h"

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Of several stars only the last one passed is ever moved on. */
static bool
globs(struct span pattern, struct span name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = n;
		} else if (p < pattern.n &&
		    lower(pattern.p[p]) == lower(name.p[n])) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

bool
hint_name_matches(struct span pattern, struct span name)
{
	if (memchr(pattern.p, '*', pattern.n) == NULL)
		return span_ieq(pattern, name);
	return name.n <= HINT_NAME_MAX && globs(pattern, name);
}

/* What may stand behind "reset" in the name of a field, and not in that of
 * its siblings. */
static bool
is_suffix(struct span s)
{
	static const char *const words[] = {"-after", "-at", "-in", "-ms",
	    "-time", "time"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (span_ieq(s, span_of(words[i])))
			return true;
	}
	return false;
}

bool
hint_name_of_reset(struct span name, struct hint_name *ret)
{
	const struct span word = SPAN("reset");

	for (size_t i = 0; i + word.n <= name.n; i++) {
		struct span rest = {name.p + i, name.n - i};

		if (!span_istarts(rest, word))
			continue;
		ret->before = (struct span){name.p, i};
		ret->after = (struct span){rest.p + word.n, rest.n - word.n};
		if (is_suffix(ret->after))
			ret->after.n = 0;
		return true;
	}
	return false;
}

bool
hint_name_same(const struct hint_name *a, const struct hint_name *b)
{
	return span_ieq(a->before, b->before) && span_ieq(a->after, b->after);
}

bool
hint_name_is(const struct hint_name *of, struct span word, struct span name)
{
	if (name.n != of->before.n + word.n + of->after.n ||
	    !span_istarts(name, of->before))
		return false;
	name = (struct span){name.p + of->before.n, name.n - of->before.n};
	return span_istarts(name, word) &&
	    span_ieq((struct span){name.p + word.n, of->after.n}, of->after);
}

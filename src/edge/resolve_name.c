/* SPDX-License-Identifier: MIT */
/*
 * resolve_name.c: how a host name is asked for.
 *
 * Decides what is a host name at all, and which names are not for name servers.
 */
#include "edge/resolve_name.h"

#define LABEL_MAX 63

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	    c == '_';
}

static bool
is_below(struct span name, struct span top)
{
	size_t at = name.n - top.n;

	if (name.n < top.n || !span_ends(name, top))
		return false;
	return at == 0 || name.p[at - 1] == '.';
}

bool
resolve_name(const char *host, char ret[RESOLVE_NAME_SIZE])
{
	struct span name = {ret, 0}, rest, label;

	for (; host[name.n] != '\0'; name.n++) {
		if (name.n == RESOLVE_NAME_SIZE - 1)
			return false;
		ret[name.n] = lower(host[name.n]);
	}
	ret[name.n] = '\0';
	if (name.n > 0 && ret[name.n - 1] == '.')
		name.n--;
	if (name.n == 0 || name.n > PATTERN_HOST_MAX)
		return false;
	rest = name;
	while (span_cut(&rest, '.', &label)) {
		if (label.n == 0 || label.n > LABEL_MAX)
			return false;
		for (size_t i = 0; i < label.n; i++) {
			if (!is_label_char(label.p[i]))
				return false;
		}
	}
	if (is_below(name, SPAN("localhost")))
		memcpy(ret, "localhost", sizeof("localhost"));
	return !is_below(name, SPAN("onion"));
}

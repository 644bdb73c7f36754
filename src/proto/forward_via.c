/* SPDX-License-Identifier: MIT */
/*
 * forward_via.c: reads Via (RFC 9110 7.6.3).
 *
 * Decides whether a pseudonym is among those that a message has passed. It
 * refuses to know what follows from a loop.
 */
#include "proto/forward.h"

#include "proto/octet.h"

/*
 * Takes the next element off a Via value. Commas inside a comment, which may
 * nest, do not separate (RFC 9110 7.6.3, 5.6.5).
 */
static bool
next_hop(struct span *rest, struct span *ret_hop)
{
	unsigned depth = 0;
	size_t i;

	if (rest->n == 0)
		return false;
	for (i = 0; i < rest->n; i++) {
		char c = rest->p[i];

		if (c == ',' && depth == 0)
			break;
		if (c == '\\' && depth > 0 && i + 1 < rest->n)
			i++;
		else if (c == '(')
			depth++;
		else if (c == ')' && depth > 0)
			depth--;
	}
	*ret_hop = span_trim((struct span){rest->p, i});
	i += i < rest->n;
	*rest = (struct span){rest->p + i, rest->n - i};
	return true;
}

/* The second word of: received-protocol RWS received-by [ RWS comment ] */
static struct span
received_by(struct span hop)
{
	size_t at = 0, end;

	while (at < hop.n && !octet_is_blank(hop.p[at]))
		at++;
	while (at < hop.n && octet_is_blank(hop.p[at]))
		at++;
	for (end = at; end < hop.n; end++) {
		if (octet_is_blank(hop.p[end]) || hop.p[end] == '(')
			break;
	}
	return (struct span){hop.p + at, end - at};
}

bool
forward_via_has(const struct head *h, struct span pseudonym)
{
	struct span rest, hop;

	if (!head_has(h, FIELD_VIA) || pseudonym.n == 0)
		return false;
	for (unsigned i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_VIA)
			continue;
		rest = h->fields[i].value;
		while (next_hop(&rest, &hop)) {
			if (span_ieq(received_by(hop), pseudonym))
				return true;
		}
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * resolve_addrs.c: the addresses of one host, in the order they are tried.
 *
 * Decides the order: IPv6, IPv4, IPv6 ... (RFC 8305 4), inside a family as the
 * server gave them, so that its rotation spreads load. No RFC 6724 sorting: an
 * address that has no route fails at once when it is tried.
 */
#include "edge/resolve_addrs.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/mem.h"

bool
resolve_addrs_literal(const char *host, struct dns_found *ret_v6,
    struct dns_found *ret_v4)
{
	*ret_v6 = *ret_v4 = (struct dns_found){.n = 0};
	if (inet_pton(AF_INET, host, ret_v4->v[0]) == 1)
		ret_v4->n = 1;
	else if (inet_pton(AF_INET6, host, ret_v6->v[0]) == 1)
		ret_v6->n = 1;
	return ret_v6->n + ret_v4->n == 1;
}

static void
put_v6(struct resolve_addr *to, const unsigned char v[16])
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	memcpy(&in6.sin6_addr, v, 16);
	*to = (struct resolve_addr){.len = sizeof(in6)};
	memcpy(&to->sa, &in6, sizeof(in6));
}

static void
put_v4(struct resolve_addr *to, const unsigned char v[16])
{
	struct sockaddr_in in = {.sin_family = AF_INET};

	memcpy(&in.sin_addr, v, 4);
	*to = (struct resolve_addr){.len = sizeof(in)};
	memcpy(&to->sa, &in, sizeof(in));
}

struct resolve_addrs *
resolve_addrs_new(const struct dns_found *v6, const struct dns_found *v4)
{
	unsigned n = v6->n + v4->n, i6 = 0, i4 = 0;
	struct resolve_addrs *a;

	if (n > RESOLVE_ADDRS_MAX)
		n = RESOLVE_ADDRS_MAX;
	a = mem_alloc(sizeof(*a) + n * sizeof(a->v[0]));
	if (a == NULL)
		return NULL;
	a->refs = 1;
	a->n = n;
	for (unsigned i = 0; i < n; i++) {
		bool turn_of_v6 = i6 <= i4;

		if (i6 < v6->n && (turn_of_v6 || i4 == v4->n))
			put_v6(&a->v[i], v6->v[i6++]);
		else
			put_v4(&a->v[i], v4->v[i4++]);
	}
	return a;
}

struct resolve_addrs *
resolve_addrs_ref(struct resolve_addrs *a)
{
	a->refs++;
	return a;
}

void
resolve_addrs_put(struct resolve_addrs *a)
{
	if (a != NULL && --a->refs == 0)
		mem_free(a);
}

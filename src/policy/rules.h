/* SPDX-License-Identifier: MIT */
/*
 * rules: which service a request belongs to. Host patterns and routes, the
 * most specific one wins: host:port, host, then wildcards by the length of
 * their suffix (of two with the same suffix the one with a port), then "*".
 * A wildcard stands for one label or more, never for none: "*.api.test" is not
 * api.test itself. Built once, then only read: lookups need no lock.
 */
#ifndef AB_RULES_H
#define AB_RULES_H

#include "base/map.h"

struct rules {
	struct map exact;  /* owns its entries */
	struct map suffix; /* owns */
	struct map routes; /* owns */
	void *any;         /* the service of "*", or NULL */
	size_t routes_longest; /* bytes */
};

#define RULES_PREFIX_MAX 255 /* bytes */

AB_MUST int rules_init(struct rules *r); /* 0, or -1 no memory */
void rules_free(struct rules *r); /* the services are left alone */

enum rules_result { RULES_OK, RULES_BAD, RULES_DUPLICATE, RULES_NO_MEMORY };
/*
 * pattern: host, host:port, [v6], [v6]:port, *.suffix, *.suffix:port, or *;
 * see pattern.h.
 * service: opaque, not NULL, kept. BAD: *ret_why says what is wrong with the
 * pattern. DUPLICATE: *ret_other is the service that has it; the first stays.
 */
AB_MUST enum rules_result rules_add_host(struct rules *r, struct span pattern,
    void *service, void **ret_other, const char **ret_why);
/*
 * prefix: begins and ends with '/', without empty, "." and ".." segments; "/"
 * is the route of all that no longer one takes. Compares with case.
 */
AB_MUST enum rules_result rules_add_route(struct rules *r, struct span prefix,
    void *service, void **ret_other, const char **ret_why);

/* Host without brackets, any case, a trailing dot is ignored. NULL: none. */
void *rules_find_host(const struct rules *r, struct span host, uint16_t port);
/*
 * The longest route that path begins with (a query may follow); *ret_n: its
 * bytes, the last '/' included. NULL: none, *ret_n untouched.
 */
void *rules_find_route(const struct rules *r, struct span path, size_t *ret_n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resolve_addrs: from bytes to the socket addresses of one host. Internal to
 * the resolver.
 */
#ifndef AB_RESOLVE_ADDRS_H
#define AB_RESOLVE_ADDRS_H

#include "dns.h"
#include "resolve.h"

/* An address as text: false for a name. One of the two then has it. */
bool resolve_addrs_literal(const char *host, struct dns_found *ret_v6,
    struct dns_found *ret_v4);
/* Families in turn, IPv6 first. One reference; NULL out of memory. One of the
 * two has an address at least. */
struct resolve_addrs *resolve_addrs_new(const struct dns_found *v6,
    const struct dns_found *v4);
struct resolve_addrs *resolve_addrs_ref(struct resolve_addrs *a);

#endif

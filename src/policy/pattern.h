/* SPDX-License-Identifier: MIT */
/*
 * pattern: the host patterns of the configuration, one at a time.
 *
 *   *                    any host
 *   NAME, *.NAME         a host; whatever has one label or more before NAME
 *   [IP6]                an IPv6 address in any of its spellings
 *   ...:PORT             the same on one port; not with "*"
 *
 * A NAME has labels of letters, digits, '-' and '_', no '-' at their ends. Its
 * trailing dot counts as none; an IPv4 address is a NAME.
 */
#ifndef AB_PATTERN_H
#define AB_PATTERN_H

#include "base/span.h"

#define PATTERN_HOST_MAX  253 /* bytes; RFC 1035 2.3.4 as text */
#define PATTERN_IP6_BYTES 33

struct pattern {
	bool is_any;
	bool is_wildcard; /* host is what follows "*." */
	struct span host; /* as pattern_host; borrows the text, or ip6 below */
	uint16_t port;    /* 0: any */
	char ip6[PATTERN_IP6_BYTES];
};

/*
 * NULL, or what is wrong with it, for people (static); *ret is then
 * unspecified. A struct pattern may not be copied: host may point into it.
 */
AB_MUST const char *pattern_parse(struct span s, struct pattern *ret);

/*
 * The host as it is compared, without case: no brackets go in, a trailing dot
 * is taken off, and an IPv6 address is written in one way, into ip6.
 */
struct span pattern_host(struct span host, char ip6[PATTERN_IP6_BYTES]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * target: the four forms of a request target (RFC 9112 3.2), and authorities.
 */
#ifndef AB_TARGET_H
#define AB_TARGET_H

#include "base/strbuf.h"
#include "head.h"

enum target_form {
	TARGET_ORIGIN,    /* /path?query */
	TARGET_ABSOLUTE,  /* http://host[:port]/path?query */
	TARGET_AUTHORITY, /* host:port, CONNECT only */
	TARGET_ASTERISK,  /* *, OPTIONS only */
};

#define TARGET_HOST_MAX 255 /* bytes of a host; DNS allows no more */

struct authority {
	struct span host; /* without brackets; borrows; never empty if parsed */
	struct span text; /* as a Host value: brackets kept, and the port only
	                   * where it is not the default; borrows */
	bool is_ip6;      /* it stood in [brackets] and is an IPv6 address */
	bool has_port;
	uint16_t port;    /* 1..65535; the default where none was given */
};

struct target {
	enum target_form form;
	struct span scheme;       /* absolute only, as sent */
	struct authority authority; /* absolute and authority form */
	struct span path;         /* path and query; "/" where it was empty, "*"
	                           * where it was and the method is OPTIONS
	                           * (RFC 9112 3.2.4) */
	bool query_only;          /* absolute form with a query and no path: the
	                           * forwarded target is "/" + path */
};

/*
 * Parses `host[:port]` (a Host value or a CONNECT target). Refuses userinfo,
 * an empty port, leading signs, ports outside 1..65535, zone ids, brackets
 * round anything but an IPv6 address, and hosts with bytes outside RFC 3986
 * reg-name (percent encodings in a host are refused: nobody resolves them
 * alike). An empty host and empty labels (".api", "a..b") are refused too, one
 * trailing dot is not. default_port 0: a port must be given.
 * Returns 0, or -1 with *ret_why for people.
 */
AB_MUST int target_authority(struct span s, uint16_t default_port,
    struct authority *ret, const char **ret_why);

/*
 * By the method: CONNECT takes authority-form only (with a port), "*" goes
 * with OPTIONS only. Schemes http (port 80) and https (port 443), any case;
 * others are an error. A fragment ('#') is an error.
 * Returns 0, or -1 with *ret_why.
 */
AB_MUST int target_parse(struct span method, struct span s,
    struct target *ret, const char **ret_why);

/*
 * The Host lines of a request (RFC 9112 3.2): exactly one in HTTP/1.1, at most
 * one in HTTP/1.0; its value empty or a valid authority, and not empty where
 * the target is in origin-form, which has no other host. It need not agree
 * with an absolute-form target: that one wins (RFC 9112 3.2.2) and the request
 * is sent on with a Host made from it.
 * Returns 0, or -1 with *ret_why: 400.
 */
AB_MUST int target_host_check(const struct head *h, const struct target *t,
    const char **ret_why);

/* Appends a host (without brackets) as an authority; with its port, unless it
 * is the default one (0: there is none). */
void target_authority_put(struct strbuf *out, struct span host, uint16_t port,
    uint16_t default_port);

/* Bytes of a dotted or bracketed host compare without case; a trailing dot
 * ("api.test.") counts as none. */
bool target_host_eq(struct span a, struct span b);

#endif

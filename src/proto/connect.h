/* SPDX-License-Identifier: MIT */
/*
 * connect: asking a proxy for a tunnel (CONNECT, RFC 9110 9.3.6): our request,
 * and what its answer means.
 */
#ifndef AB_CONNECT_H
#define AB_CONNECT_H

#include "base/strbuf.h"
#include "head.h"

#define CONNECT_INTERIM_MAX 16 /* 1xx answers before the final one */

struct connect_request {
	struct span authority; /* host:port, always with its port; an IPv6 host
	                        * in brackets */
	struct span via;       /* our pseudonym, or empty */
	struct span auth;      /* value of Proxy-Authorization, or empty */
};

/* Appends the head, empty line included. Check out->failed. */
void connect_build(struct strbuf *out, const struct connect_request *how);

enum connect_result {
	CONNECT_AGAIN,   /* the head is not whole yet, and no fault so far */
	CONNECT_OPEN,    /* 2xx: what follows belongs to the tunnel */
	CONNECT_REFUSED, /* another final status */
	CONNECT_BAD,     /* no valid HTTP/1 answer */
};

/* An answer under way; zeroed before its first byte. */
struct connect_answer {
	struct head_scan scan;
	unsigned interims;
};

/*
 * Reads on, in buf[0, n): all bytes that came and were not used. 1xx heads are
 * skipped; 101 is no answer to CONNECT. *ret_used: the bytes of the heads that
 * are done with, also with AGAIN; not a byte behind the final head is looked at
 * (RFC 9110 9.3.6: Content-Length and Transfer-Encoding of a 2xx mean nothing).
 * OPEN, REFUSED: *h is the final head, its spans in buf. BAD: *ret_why for
 * people (static).
 */
AB_MUST enum connect_result connect_read(struct connect_answer *a,
    const char *buf, size_t n, const struct head_limits *lim, struct head *h,
    size_t *ret_used, const char **ret_why);

#endif

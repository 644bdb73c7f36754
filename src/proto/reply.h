/* SPDX-License-Identifier: MIT */
/*
 * reply: the answers that abided makes itself: application/problem+json
 * (RFC 9457) with Proxy-Status (RFC 9209) and, where waiting helps,
 * Retry-After.
 */
#ifndef AB_REPLY_H
#define AB_REPLY_H

#include "base/strbuf.h"

struct reply {
	int status;              /* 100..599 */
	const char *error;       /* RFC 9209 2.3 error type, or NULL: none */
	const char *reason;      /* give-up reason: "queue-full", or NULL */
	struct span detail;      /* for people: what, and what to do */
	struct span service;     /* name, may be empty */
	int64_t retry_after_ms;  /* rounded up to whole seconds; < 0: none. A
	                          * zeroed struct means "at once": set it */
	struct span proxy_status_details; /* details="...", may be empty */
	int received_status;     /* of the upstream, 0: none */
	bool head_only;          /* the request was HEAD: length but no body */
	bool close;              /* Connection: close */
	bool keep_alive_10;
	struct span extra;       /* whole lines with CRLF (Allow:), or empty */
};

/*
 * Appends head and body. now_s: wall clock for Date. Check out->failed.
 * Problem body, Proxy-Status and Cache-Control: no-store come with statuses of
 * 400 and more. Below that the body is empty (Content-Length: 0, and none with
 * 1xx, 204, 304); a 1xx has no Date.
 */
void reply_build(struct strbuf *out, const struct reply *r, int64_t now_s);

/* The standard reason phrase, "Unknown" where there is none. */
const char *reply_reason_phrase(int status);

/*
 * Appends a Proxy-Status value: `abided; error=...; received-status=429;
 * details="..."`. error NULL, received 0 and empty details are left out.
 * The details are made a legal sf-string (RFC 8941 3.3.3): bytes that are not
 * printable ASCII become "?".
 */
void reply_proxy_status(struct strbuf *out, const char *error,
    int received_status, struct span details);

#endif

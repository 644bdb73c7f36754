/* SPDX-License-Identifier: MIT */
/*
 * framing: how long a body is (RFC 9112 6.3). The one place that decides it.
 */
#ifndef AB_FRAMING_H
#define AB_FRAMING_H

#include "head.h"

enum framing_kind {
	FRAMING_NONE,    /* no body */
	FRAMING_LENGTH,  /* Content-Length */
	FRAMING_CHUNKED, /* Transfer-Encoding: chunked */
	FRAMING_CLOSE,   /* until the connection closes; responses only */
	FRAMING_TUNNEL,  /* 101, or 2xx to CONNECT */
};

struct framing {
	enum framing_kind kind;
	uint64_t length; /* FRAMING_LENGTH: bytes, 0..INT64_MAX */
};

/*
 * All Content-Length values of a head, when they are equal. Returns 0, or -1
 * where there is none or a value is unreadable or differs. For the heads that
 * carry a length but no body (HEAD, 304).
 */
AB_MUST int framing_length(const struct head *h, uint64_t *ret);

/*
 * A request's body. Refused: Transfer-Encoding with Content-Length or in
 * HTTP/1.0; any coding but exactly one final "chunked" (501 for other codings);
 * Content-Length lists or lines that differ, signs, blanks, overflow (of
 * int64_t). Equal repeated Content-Length values are refused too. A CONNECT or
 * TRACE with a body is refused: what follows would be read in two ways
 * (RFC 9110 9.3.6, 9.3.8).
 * Returns 0, or the status to answer with (400 or 501) and *ret_why.
 */
AB_MUST int framing_request(const struct head *h, struct framing *ret,
    const char **ret_why);

/*
 * A response's body; `method` is the request's.
 * 1xx (but 101), 204, 304, and any to HEAD: FRAMING_NONE. 101: FRAMING_TUNNEL.
 * 2xx to CONNECT: FRAMING_TUNNEL. Else chunked, length, or until close.
 * Equal repeated Content-Length values count as one: a real server's slip that
 * is healed by writing the field anew (RFC 9110 8.6).
 * Returns 0, or -1 and *ret_why where a recipient could frame it in two ways
 * (both fields, differing lengths, any coding but one "chunked", any coding in
 * HTTP/1.0, an unreadable length ...).
 */
AB_MUST int framing_response(const struct head *h, struct span method,
    struct framing *ret, const char **ret_why);

#endif

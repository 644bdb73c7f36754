/* SPDX-License-Identifier: MIT */
/*
 * Heads: what is accepted, what is refused and how early, the limits at their
 * edges, and that cutting the bytes into pieces changes no verdict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/head.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES(lit) \
	{ \
		(lit), sizeof(lit) - 1 \
	}
#define LINE "GET http://a.test/ HTTP/1.1\r\n"
#define REQ(fields) BYTES(LINE "Host: a.test\r\n" fields "\r\n")
#define OK200 "HTTP/1.1 200 OK\r\n"
#define RESP(fields) BYTES(OK200 fields "\r\n")

static const struct head_limits roomy = {.head_bytes = 65536,
    .line_bytes = 16384,
    .fields = HEAD_FIELDS_MAX};

static struct head head;
static const char *why;

typedef enum head_result scanner(const char *buf, size_t n,
    struct head_scan *scan, const struct head_limits *lim, struct head *h,
    const char **ret_why);

/* A copy that ends where the bytes end, for the sanitizer to see the edge. */
static enum head_result
scan_once(scanner *f, struct span in, const struct head_limits *lim)
{
	static char *copy;
	struct head_scan scan = {0};

	free(copy);
	copy = malloc(in.n ? in.n : 1);
	assert_non_null(copy);
	if (in.n > 0)
		memcpy(copy, in.p, in.n);
	why = NULL;
	return f(copy, in.n, &scan, lim, &head, &why);
}

/* Feeds the pieces [0, cut) and then all, or all byte by byte (cut 0). */
static enum head_result
scan_cut(scanner *f, struct span in, size_t cut, const struct head_limits *lim)
{
	struct head_scan scan = {0};
	enum head_result r = HEAD_AGAIN;
	size_t step = cut ? in.n - cut : 1;

	for (size_t n = cut ? cut : 1; n <= in.n; n += step) {
		/* What an earlier call left in *h must not matter. */
		memset(&head, 0x5a, sizeof(head));
		why = NULL;
		r = f(in.p, n, &scan, lim, &head, &why);
		if (r != HEAD_AGAIN || step == 0)
			break;
	}
	return r;
}

static void
assert_verdict(scanner *f, struct span in, enum head_result want,
    const struct head_limits *lim)
{
	enum head_result r = scan_once(f, in, lim);

	if (r != want)
		fail_msg("%d, not %d (%s): %.*s", r, want, why ? why : "",
		    SPAN_ARG(in));
	assert_true((why == NULL) == (r == HEAD_OK || r == HEAD_AGAIN));
	for (size_t cut = 0; cut <= in.n; cut++) {
		r = scan_cut(f, in, cut, lim);
		if (r != want)
			fail_msg("cut at %zu: %d, not %d (%s): %.*s", cut, r,
			    want, why ? why : "", SPAN_ARG(in));
	}
}

/* --- requests ------------------------------------------------------------ */

static void
request_when_wellformed_then_accepted(void **state)
{
	static const struct span rows[] = {
	    REQ(""),
	    REQ("X-A:\r\nX-B: 2\r\n"),
	    REQ("X-A: \t  a  \t\r\n"),
	    REQ("X-A: a\tb\r\n"),
	    REQ("X-A: caf\xc3\xa9\xff\r\n"),
	    REQ("X!#$%&'*+-.^_`|~9: v\r\n"),
	    REQ("X_A: 1\r\nX-A: 2\r\n"),
	    REQ("X-A: %0d%0aEvil: 1\r\n"),
	    REQ("X-A: a:b\r\n"),
	    BYTES("GET / HTTP/1.0\r\n\r\n"),
	    BYTES("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	    BYTES("get * HTTP/1.1\r\n\r\n"),
	    BYTES("M!x http://a/%00\\\"<>{}|^` HTTP/1.1\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_verdict(head_request, rows[i], HEAD_OK, &roomy);
}

static void
request_when_malformed_then_bad(void **state)
{
	static const struct span rows[] = {
	    /* line ends */
	    BYTES("GET http://a/ HTTP/1.1\nHost: a\n\n"),
	    BYTES("GET http://a/ HTTP/1.1\rHost: a\r\r"),
	    BYTES(LINE "Host: a\n\r\n"),
	    BYTES(LINE "Host: a\r\n\n"),
	    BYTES(LINE "Host: a\r\n\rZGET / HTTP/1.1\r\n"),
	    BYTES("\nGET / HTTP/1.1\r\n\r\n"),
	    BYTES("\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
	    BYTES("\rGET / HTTP/1.1\r\n\r\n"),
	    BYTES("\r\r\nGET / HTTP/1.1\r\n\r\n"),
	    /* request line */
	    BYTES("GET http://a/\r\n\r\n"),
	    BYTES("GET\r\n\r\n"),
	    BYTES(" http://a/ HTTP/1.1\r\n"),
	    BYTES("GET  http://a/ HTTP/1.1\r\n"),
	    BYTES("GET http://a/  HTTP/1.1\r\n"),
	    BYTES("GET http://a/ HTTP/1.1 \r\n"),
	    BYTES("GET http://a/ b HTTP/1.1\r\n"),
	    BYTES("GET\thttp://a/\tHTTP/1.1\r\n"),
	    BYTES("G=\":<>(e),[T];? http://a/ HTTP/1.1\r\n"),
	    BYTES("GE\0T http://a/ HTTP/1.1\r\n"),
	    BYTES("GET http://a/\0b HTTP/1.1\r\n"),
	    BYTES("GET http://a/\tb HTTP/1.1\r\n"),
	    BYTES("GET http://a/\x01"
		  "bcdefghijk HTTP/1.1\r\n"),
	    BYTES("GET http://a/abcdefgh\x7fijk HTTP/1.1\r\n"),
	    BYTES("GET http://a/caf\xe9 HTTP/1.1\r\n"),
	    BYTES("GET http://a/ HTTP/1.10\r\n"),
	    BYTES("GET http://a/ HTTP/1,1\r\n"),
	    BYTES("GET http://a/ http/1.1\r\n"),
	    BYTES("GET http://a/ HTTQ/1.1\r\n"),
	    BYTES("GET http://a/ HTTP/-1.1\r\n"),
	    BYTES("GET http://a/ HTTP/1.\r\n"),
	    BYTES("GET http://a/ HTTP/\r\n"),
	    BYTES("GET http://a/ HTTP/1.1\0\r\n"),
	    BYTES("GET http://a/ HTTP/1.1x\r\n"),
	    BYTES("GET http://a/ HTTP/01.1\r\n"),
	    BYTES("GET http://a/ HTTP/2\r\n"),
	    BYTES("\x16\x03\x01\0\x2f\x01\0\0\x2b\x03\x03"),
	    /* field names */
	    REQ(": v\r\n"),
	    REQ("X@A: b\r\n"),
	    REQ("X{A: b\r\n"),
	    REQ("X[A: b\r\n"),
	    REQ("X\"A: b\r\n"),
	    REQ("X\x80"
		"A: b\r\n"),
	    REQ("X\0A: b\r\n"),
	    REQ("X/A: b\r\n"),
	    REQ("X A: b\r\n"),
	    REQ("X\tA: b\r\n"),
	    REQ("X(A): b\r\n"),
	    REQ("Content-Length : 44\r\n"),
	    REQ("Content-Length 44\r\n"),
	    REQ("Content-Length\0: 44\r\n"),
	    REQ("Content-\nLength: 44\r\n"),
	    REQ("Content-\rLength: 44\r\n"),
	    /* folding */
	    REQ("X-A: one\r\n two\r\n"),
	    REQ("X-A: one\r\n\ttwo\r\n"),
	    BYTES(LINE " Host: a\r\n\r\n"),
	    REQ(" \r\n"),
	    /* field values */
	    REQ("X-A: a\rb: c\r\n"),
	    REQ("X-A: a\0b: c\r\n"),
	    REQ("X-A: a\x7f"
		"b\r\n"),
	    REQ("X-A: a\x1b"
		"b\r\n"),
	    REQ("X-A: a\x0c"
		"b\r\n"),
	    REQ("X-A: 5\x0b\r\n"),
	    REQ("X-A: b\nTransfer-Encoding: chunked\r\n"),
	    REQ("X-A: v\r\r\n"),
	    REQ("X-A: 12345678\x01"
		"12345678\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_verdict(head_request, rows[i], HEAD_BAD, &roomy);
}

/* The grammars themselves, RFC 9110 5.5 and 5.6.2, RFC 9112 3.2. */
static bool
may_stand(unsigned c, char part)
{
	if (part == 'v')
		return c == '\t' || (c >= ' ' && c != 0x7f);
	if (part == 't')
		return c > ' ' && c < 0x7f;
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') ||
	    (c != 0 && c < 0x80 && strchr("!#$%&'*+-.^_`|~", (int)c));
}

/* Every byte at every place of target, name and value, words or not. */
static void
request_when_any_byte_stands_anywhere_then_its_class_decides(void **state)
{
	static const char parts[] = "GET tttttttttttttttttttt HTTP/1.1\r\n"
				    "nnnnnnnnnnnnnnnnnnnn:"
				    "vvvvvvvvvvvvvvvvvvvv\r\n\r\n";
	char text[sizeof(parts)];
	struct span in = {text, sizeof(text) - 1};

	(void)state;
	for (size_t at = 0; at < in.n; at++) {
		char part = parts[at];

		if (part != 't' && part != 'n' && part != 'v')
			continue;
		for (unsigned c = 0; c < 256; c++) {
			bool fits = may_stand(c, part) ||
			    (part == 'n' && c == ':' && parts[at - 1] == 'n');

			memcpy(text, parts, sizeof(text));
			text[at] = (char)c;
			if (scan_once(head_request, in, &roomy) !=
			    (fits ? HEAD_OK : HEAD_BAD))
				fail_msg("byte %#x at %zu", c, at);
		}
	}
}

static void
request_when_version_is_foreign_then_version(void **state)
{
	static const struct span rows[] = {
	    BYTES("GET http://a/ HTTP/2.0\r\n\r\n"),
	    BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	    BYTES("GET http://a/ HTTP/1.2\r\n\r\n"),
	    BYTES("GET http://a/ HTTP/0.9\r\n\r\n"),
	    BYTES("GET http://a/ HTTP/9.1\r\nX A: b\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_verdict(head_request, rows[i], HEAD_VERSION, &roomy);
}

static void
request_when_parsed_then_spans_are_exact(void **state)
{
	static const struct span in = BYTES("\r\nPOST http://a/b?c HTTP/1.1\r\n"
					    "HOST:\ta \r\n"
					    "X-Other: 1 2\r\n"
					    "host: b\r\n\r\nBODY");

	(void)state;
	for (size_t cut = 0; cut <= in.n; cut++) {
		assert_int_equal(scan_cut(head_request, in, cut, &roomy),
		    HEAD_OK);
		assert_true(head.is_request);
		assert_int_equal(head.minor, 1);
		assert_true(span_eq(head.method, SPAN("POST")));
		assert_true(span_eq(head.target, SPAN("http://a/b?c")));
		assert_int_equal(head.bytes, in.n - 4);
		assert_int_equal(head.nfields, 3);
		assert_true(span_eq(head.fields[0].name, SPAN("HOST")));
		assert_true(span_eq(head.fields[0].value, SPAN("a")));
		assert_int_equal(head.fields[0].id, FIELD_HOST);
		assert_true(span_eq(head.fields[1].value, SPAN("1 2")));
		assert_int_equal(head.fields[1].id, FIELD_OTHER);
		assert_int_equal(head.fields[2].id, FIELD_HOST);
		assert_true(head_has(&head, FIELD_HOST));
		assert_false(head_has(&head, FIELD_VIA));
	}
}

static void
request_when_whole_then_scan_is_ready_for_the_next(void **state)
{
	static const char in[] =
	    "GET / HTTP/1.0\r\n\r\nPUT /b HTTP/1.1\r\n\r\n";
	struct head_scan scan = {0};

	(void)state;
	assert_int_equal(head_request(in, 10, &scan, &roomy, &head, &why),
	    HEAD_AGAIN);
	assert_int_equal(head_request(in, sizeof(in) - 1, &scan, &roomy, &head,
			     &why),
	    HEAD_OK);
	assert_int_equal(head.bytes, 18);
	assert_int_equal(head.minor, 0);
	assert_int_equal(head_request(in + 18, sizeof(in) - 1 - 18, &scan,
			     &roomy, &head, &why),
	    HEAD_OK);
	assert_true(span_eq(head.method, SPAN("PUT")));
}

static void
request_when_fault_is_certain_then_reported_before_the_end(void **state)
{
	static const struct span rows[] = {
	    BYTES("\x16"),
	    BYTES("GET\t"),
	    BYTES("GET  "),
	    BYTES("GET /\x80"),
	    BYTES("GET / X"),
	    BYTES("GET / HTTP/x"),
	    BYTES("GET / HTTP/1.1x"),
	    BYTES("GET / HTTP/1.1\rX"),
	    BYTES("\n"),
	    BYTES("\r\n\r\n"),
	    BYTES(LINE " "),
	    BYTES(LINE ":"),
	    BYTES(LINE "X "),
	    BYTES(LINE "X@"),
	    BYTES(LINE "X: \x01"),
	    BYTES(LINE "X: v\rX"),
	    BYTES(LINE "X: v\r\n\rX"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct span less = {rows[i].p, rows[i].n - 1};

		assert_verdict(head_request, rows[i], HEAD_BAD, &roomy);
		assert_verdict(head_request, less, HEAD_AGAIN, &roomy);
	}
}

static void
request_when_partial_then_no_byte_is_looked_at_twice(void **state)
{
	static const struct span in = REQ("X-Long: 0123456789\r\n");
	struct head_scan scan = {0};

	(void)state;
	for (size_t n = 1; n < in.n; n++) {
		assert_int_equal(head_request(in.p, n, &scan, &roomy, &head,
				     &why),
		    HEAD_AGAIN);
		/* A CR may be half of a line end: it waits for its LF. */
		assert_int_equal(scan.at, in.p[n - 1] == '\r' ? n - 1 : n);
	}
}

/* --- limits -------------------------------------------------------------- */

static void
request_when_head_is_at_its_limit_then_accepted(void **state)
{
	static const struct span in = REQ("X-A: b\r\n");
	struct head_limits lim = roomy;

	(void)state;
	lim.head_bytes = in.n;
	assert_verdict(head_request, in, HEAD_OK, &lim);
	lim.head_bytes = in.n - 1;
	assert_verdict(head_request, in, HEAD_TOO_LARGE, &lim);
	/* A full buffer that can't become a head is said to be so at once. */
	assert_int_equal(scan_once(head_request, (struct span){in.p, in.n - 1},
			     &lim),
	    HEAD_TOO_LARGE);
	assert_int_equal(scan_once(head_request, (struct span){in.p, in.n - 2},
			     &lim),
	    HEAD_AGAIN);
}

static void
request_when_line_is_at_its_limit_then_accepted(void **state)
{
	static const struct span in = BYTES("GET /abcdef HTTP/1.1\r\n\r\n");
	struct head_limits lim = roomy;

	(void)state;
	lim.line_bytes = 20;
	assert_verdict(head_request, in, HEAD_OK, &lim);
	lim.line_bytes = 19;
	assert_verdict(head_request, in, HEAD_URI_TOO_LONG, &lim);
	lim.line_bytes = 0;
	assert_verdict(head_request, in, HEAD_URI_TOO_LONG, &lim);
	/* It limits the request line alone. */
	lim.line_bytes = 14;
	assert_verdict(head_request,
	    (struct span)BYTES("GET / HTTP/1.1\r\nX-Long: 1234567890\r\n\r\n"),
	    HEAD_OK, &lim);
	assert_verdict(head_request,
	    (struct span)BYTES("\r\nGET / HTTP/1.1\r\n\r\n"), HEAD_OK, &lim);
	lim.line_bytes = 13;
	assert_verdict(head_request,
	    (struct span)BYTES("\r\nGET / HTTP/1.1\r\n\r\n"), HEAD_URI_TOO_LONG,
	    &lim);
}

static void
request_when_fault_and_limit_meet_then_first_byte_decides(void **state)
{
	struct head_limits lim = roomy;

	(void)state;
	lim.line_bytes = 14;
	assert_verdict(head_request,
	    (struct span)BYTES("GET /\tHTTP/1.1234\r\n"), HEAD_BAD, &lim);
	assert_verdict(head_request,
	    (struct span)BYTES("GET /abcdefghij\tHTTP/1.1\r\n"),
	    HEAD_URI_TOO_LONG, &lim);
	assert_verdict(head_request, (struct span)BYTES("GET / HTTP/1.1\n\r\n"),
	    HEAD_BAD, &lim);
	assert_verdict(head_request,
	    (struct span)BYTES("GET /a HTTP/1.1\n\r\n"), HEAD_URI_TOO_LONG,
	    &lim);
	assert_verdict(head_request,
	    (struct span)BYTES("GET / HTTP/1.1\rX\r\n"), HEAD_BAD, &lim);
	lim.head_bytes = 18;
	assert_verdict(head_request,
	    (struct span)BYTES("GET / HTTP/1.1\r\nX:\0\r\n\r\n"),
	    HEAD_TOO_LARGE, &lim);
	lim.head_bytes = 19;
	assert_verdict(head_request,
	    (struct span)BYTES("GET / HTTP/1.1\r\nX:\0\r\n\r\n"), HEAD_BAD,
	    &lim);
}

static struct span
many_fields(unsigned n, const char *last)
{
	static char text[16384];
	int len = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n");

	for (unsigned i = 0; i < n; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
		    "X-%u: v\r\n", i);
	len += snprintf(text + len, sizeof(text) - (size_t)len, "%s", last);
	return (struct span){text, (size_t)len};
}

static void
request_when_fields_are_at_their_limit_then_accepted(void **state)
{
	struct head_limits lim = roomy;

	(void)state;
	assert_verdict(head_request, many_fields(128, "\r\n"), HEAD_OK, &roomy);
	assert_int_equal(head.nfields, 128);
	assert_verdict(head_request, many_fields(129, "\r\n"), HEAD_TOO_LARGE,
	    &roomy);
	lim.fields = 3;
	assert_verdict(head_request, many_fields(3, "\r\n"), HEAD_OK, &lim);
	assert_verdict(head_request, many_fields(4, "\r\n"), HEAD_TOO_LARGE,
	    &lim);
	assert_verdict(head_request, many_fields(3, "X A: b\n"), HEAD_TOO_LARGE,
	    &lim);
	assert_verdict(head_request, many_fields(3, "\n"), HEAD_BAD, &lim);
	/* More than there is room for is no promise. */
	lim.fields = 1000;
	assert_verdict(head_request, many_fields(129, "\r\n"), HEAD_TOO_LARGE,
	    &lim);
}

/* --- responses ----------------------------------------------------------- */

static void
response_when_real_then_accepted(void **state)
{
	static const struct {
		struct span in;
		int status;
		unsigned minor;
		struct span reason;
	} rows[] = {
	    {RESP(""), 200, 1, BYTES("OK")},
	    {BYTES("HTTP/1.0 404 Not Found\r\n\r\n"), 404, 0,
		BYTES("Not Found")},
	    {BYTES("HTTP/1.1 200 \r\n\r\n"), 200, 1, BYTES("")},
	    {BYTES("HTTP/1.1 200\r\n\r\n"), 200, 1, BYTES("")},
	    {BYTES("HTTP/1.1 429 Zu viel\xe9\tda\r\n\r\n"), 429, 1,
		BYTES("Zu viel\xe9\tda")},
	    {BYTES("HTTP/1.1 429 Slow\nRetry-After: 60\n\n"), 429, 1,
		BYTES("Slow")},
	    {BYTES("HTTP/1.1 429\n\n"), 429, 1, BYTES("")},
	    {BYTES("HTTP/1.1 200 OK\nX: a\r\n\n"), 200, 1, BYTES("OK")},
	    {BYTES("HTTP/1.1 999 x\r\n\r\n"), 999, 1, BYTES("x")},
	    {BYTES("HTTP/1.1 100 x\r\n\r\n"), 100, 1, BYTES("x")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_verdict(head_response, rows[i].in, HEAD_OK, &roomy);
		assert_false(head.is_request);
		assert_int_equal(head.status, rows[i].status);
		assert_int_equal(head.minor, rows[i].minor);
		assert_true(span_eq(head.reason, rows[i].reason));
		assert_int_equal(head.bytes, rows[i].in.n);
	}
}

static void
response_when_malformed_then_bad(void **state)
{
	static const struct span rows[] = {
	    BYTES("SSH-2.0-OpenSSH_9.2\r\n"),
	    BYTES("<html>hello</html>"),
	    BYTES("ICY 200 OK\r\n\r\n"),
	    BYTES("http/1.1 200 OK\r\n\r\n"),
	    BYTES("HTTP/1.1 000 x\r\n\r\n"),
	    BYTES("HTTP/1.1 099 x\r\n\r\n"),
	    BYTES("HTTP/1.1 99 x\r\n\r\n"),
	    BYTES("HTTP/1.1 1000 x\r\n\r\n"),
	    BYTES("HTTP/1.1 2x0 x\r\n\r\n"),
	    BYTES("HTTP/1.1 -200 x\r\n\r\n"),
	    BYTES("HTTP/1.1 200OK\r\n\r\n"),
	    BYTES("HTTP/1.1  200 OK\r\n\r\n"),
	    BYTES("HTTP/1.1 200 O\rK\r\n\r\n"),
	    BYTES("HTTP/1.1 200 O\0K\r\n\r\n"),
	    BYTES("HTTP/1.1\r\n\r\n"),
	    BYTES("HTTP/1.1 20\r\n\r\n"),
	    BYTES("\r\nHTTP/1.1 200 OK\r\n\r\n"),
	    BYTES("\nHTTP/1.1 200 OK\r\n\r\n"),
	    RESP("X(A): v\r\n"),
	    RESP(": v\r\n"),
	    RESP("garbage\r\n"),
	    RESP("X-A: a\0b\r\n"),
	    RESP("X-A: a\rSet-Cookie: evil=1\r\n"),
	    RESP("Retry-After: 1\r\n 2\r\n"),
	    RESP("Content-Length : 5\r\n"),
	    RESP("X-A: b\r\n\rX"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_verdict(head_response, rows[i], HEAD_BAD, &roomy);
}

static void
response_when_version_is_foreign_then_version(void **state)
{
	(void)state;
	assert_verdict(head_response,
	    (struct span)BYTES("HTTP/2.0 200 OK\r\n\r\n"), HEAD_VERSION,
	    &roomy);
	assert_verdict(head_response, (struct span)BYTES("HTTP/9.9 200 OK\n\n"),
	    HEAD_VERSION, &roomy);
}

static void
response_when_status_line_is_endless_then_too_large(void **state)
{
	static const struct span in = BYTES("HTTP/1.1 200 rrrrrrrrrrrrrrrrrrr");
	struct head_limits lim = roomy;

	(void)state;
	lim.line_bytes = 1; /* not for responses */
	assert_verdict(head_response, in, HEAD_AGAIN, &lim);
	lim.head_bytes = in.n;
	assert_verdict(head_response, in, HEAD_TOO_LARGE, &lim);
}

/* --- fields -------------------------------------------------------------- */

static void
field_id_when_known_name_in_any_case_then_found(void **state)
{
	static const char *const names[FIELD_COUNT] = {
#define X(id, text) [FIELD_##id] = text,
	    HEAD_FIELD_LIST(X)
#undef X
	};

	(void)state;
	for (unsigned id = 1; id < FIELD_COUNT; id++) {
		char text[40] = "";
		size_t n = strlen(names[id]);

		assert_int_equal(head_field_id(span_of(names[id])), id);
		for (size_t i = 0; i < n; i++) {
			text[i] = names[id][i];
			if (text[i] >= 'a' && text[i] <= 'z')
				text[i] = (char)(text[i] - 'a' + 'A');
		}
		assert_int_equal(head_field_id(span_of(text)), id);
		text[n - 1] = '_';
		assert_int_equal(head_field_id(span_of(text)), FIELD_OTHER);
		assert_int_equal(head_field_id((struct span){names[id], n - 1}),
		    FIELD_OTHER);
	}
	assert_int_equal(head_field_id((struct span){0}), FIELD_OTHER);
	assert_int_equal(head_field_id(SPAN("user-agent")), FIELD_OTHER);
	assert_int_equal(head_field_id(SPAN("Transfer_Encoding")), FIELD_OTHER);
}

static void
field_line_when_alone_then_same_rules(void **state)
{
	static const struct span bad[] = {BYTES(""), BYTES("a"), BYTES(": b"),
	    BYTES(" a: b"), BYTES("a : b"), BYTES("a: b\r"), BYTES("a: \0")};
	struct field f;

	(void)state;
	assert_int_equal(head_field_line(SPAN("Via:  x "), &f, &why), 0);
	assert_int_equal(f.id, FIELD_VIA);
	assert_true(span_eq(f.name, SPAN("Via")));
	assert_true(span_eq(f.value, SPAN("x")));
	for (size_t i = 0; i < COUNT(bad); i++) {
		why = NULL;
		assert_int_equal(head_field_line(bad[i], &f, &why), -1);
		assert_non_null(why);
	}
}

static void
get_when_repeated_or_absent_then_first_or_null(void **state)
{
	(void)state;
	assert_int_equal(scan_once(head_request,
			     (struct span)REQ("Via: 1.0 a\r\nX-Y: z\r\n"
					      "vIA: 1.1 b\r\nAge:\r\n"),
			     &roomy),
	    HEAD_OK);
	assert_true(span_eq(head_get(&head, FIELD_VIA), SPAN("1.0 a")));
	assert_null(head_get(&head, FIELD_DATE).p);
	assert_non_null(head_get(&head, FIELD_AGE).p);
	assert_int_equal(head_get(&head, FIELD_AGE).n, 0);
	assert_true(span_eq(head_find(&head, SPAN("x-y")), SPAN("z")));
	assert_true(span_eq(head_find(&head, SPAN("HOST")), SPAN("a.test")));
	assert_null(head_find(&head, SPAN("x-")).p);
}

static void
list_has_when_token_is_in_any_line_then_true(void **state)
{
	(void)state;
	assert_int_equal(scan_once(head_request,
			     (struct span)REQ("Connection: a, Close ,,b\r\n"
					      "Connection: \"q, X-Hop\r\n"),
			     &roomy),
	    HEAD_OK);
	assert_true(head_list_has(&head, FIELD_CONNECTION, SPAN("close")));
	assert_true(head_list_has(&head, FIELD_CONNECTION, SPAN("A")));
	assert_true(head_list_has(&head, FIELD_CONNECTION, SPAN("x-hop")));
	assert_false(head_list_has(&head, FIELD_CONNECTION, SPAN("clos")));
	assert_false(head_list_has(&head, FIELD_CONNECTION, SPAN("q")));
	assert_false(head_list_has(&head, FIELD_TE, SPAN("a")));
}

static void
keep_alive_when_timeout_is_given_then_seconds(void **state)
{
	static const struct {
		const char *line;
		int64_t want;
	} rows[] = {
	    {"", -1},
	    {"Keep-Alive: timeout=5\r\n", 5},
	    {"Keep-Alive: max=100, Timeout = 15\r\n", 15},
	    {"Keep-Alive: timeout=0\r\n", 0},
	    {"Keep-Alive: 300\r\n", -1},
	    {"Keep-Alive: timeout\r\n", -1},
	    {"Keep-Alive: timeout=\r\n", -1},
	    {"Keep-Alive: timeout=-1\r\n", -1},
	    {"Keep-Alive: timeout=5s\r\n", -1},
	    {"Keep-Alive: timeout=99999999999999999999\r\n", INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[128];
		int n =
		    snprintf(text, sizeof(text), OK200 "%s\r\n", rows[i].line);
		struct span in = {text, (size_t)n};

		assert_int_equal(scan_once(head_response, in, &roomy), HEAD_OK);
		assert_int_equal(head_keep_alive_timeout_s(&head),
		    rows[i].want);
	}
}

static void
token_when_empty_or_odd_then_false(void **state)
{
	(void)state;
	assert_true(head_is_token(SPAN("a!#$%&'*+-.^_`|~9Z")));
	assert_false(head_is_token((struct span){0}));
	assert_false(head_is_token(SPAN("a b")));
	assert_false(head_is_token(SPAN("a\xff")));
	assert_false(head_is_token(SPAN("(a)")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_when_wellformed_then_accepted),
	    cmocka_unit_test(request_when_malformed_then_bad),
	    cmocka_unit_test(
		request_when_any_byte_stands_anywhere_then_its_class_decides),
	    cmocka_unit_test(request_when_version_is_foreign_then_version),
	    cmocka_unit_test(request_when_parsed_then_spans_are_exact),
	    cmocka_unit_test(
		request_when_whole_then_scan_is_ready_for_the_next),
	    cmocka_unit_test(
		request_when_fault_is_certain_then_reported_before_the_end),
	    cmocka_unit_test(
		request_when_partial_then_no_byte_is_looked_at_twice),
	    cmocka_unit_test(request_when_head_is_at_its_limit_then_accepted),
	    cmocka_unit_test(request_when_line_is_at_its_limit_then_accepted),
	    cmocka_unit_test(
		request_when_fault_and_limit_meet_then_first_byte_decides),
	    cmocka_unit_test(
		request_when_fields_are_at_their_limit_then_accepted),
	    cmocka_unit_test(response_when_real_then_accepted),
	    cmocka_unit_test(response_when_malformed_then_bad),
	    cmocka_unit_test(response_when_version_is_foreign_then_version),
	    cmocka_unit_test(
		response_when_status_line_is_endless_then_too_large),
	    cmocka_unit_test(field_id_when_known_name_in_any_case_then_found),
	    cmocka_unit_test(field_line_when_alone_then_same_rules),
	    cmocka_unit_test(get_when_repeated_or_absent_then_first_or_null),
	    cmocka_unit_test(list_has_when_token_is_in_any_line_then_true),
	    cmocka_unit_test(keep_alive_when_timeout_is_given_then_seconds),
	    cmocka_unit_test(token_when_empty_or_odd_then_false),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

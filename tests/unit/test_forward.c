/* SPDX-License-Identifier: MIT */
/* Forwarded heads, byte for byte: what passes, what does not, what is new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proto/forward.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW INT64_C(784111777)
#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
#define SENT "GET /p HTTP/1.1\r\nHost: a.test:81\r\n"
#define VIA "Via: 1.1 abided\r\n"

static const struct head_limits lim = {.head_bytes = 65536,
    .line_bytes = 16384,
    .fields = HEAD_FIELDS_MAX};

static struct head head;
static struct strbuf out;
static struct forward_request req_how;
static struct forward_response resp_how;

static int
setup(void **state)
{
	(void)state;
	strbuf_init(&out, 65536);
	req_how = (struct forward_request){
	    .host = SPAN("a.test:81"),
	    .path = SPAN("/p"),
	    .via = SPAN("abided"),
	    .max_forwards = -1,
	};
	resp_how = (struct forward_response){.via = SPAN("abided")};
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	strbuf_free(&out);
	return 0;
}

/* `text` stays in use by `head`. */
static void
take_request(const char *text)
{
	struct head_scan scan = {0};
	const char *why = NULL;

	if (head_request(text, strlen(text), &scan, &lim, &head, &why) !=
	    HEAD_OK)
		fail_msg("%s: %s", why ? why : "cut short", text);
}

static void
take_response(const char *text)
{
	struct head_scan scan = {0};
	const char *why = NULL;

	if (head_response(text, strlen(text), &scan, &lim, &head, &why) !=
	    HEAD_OK)
		fail_msg("%s: %s", why ? why : "cut short", text);
}

static void
assert_out(const char *want)
{
	assert_false(out.failed);
	strbuf_char(&out, '\0');
	assert_string_equal(out.p, want);
	strbuf_clear(&out);
}

/* Field lines of a GET in, all that follows Host out. */
static void
assert_request(const char *fields, const char *want)
{
	char in[4300], expected[4300];

	(void)snprintf(in, sizeof(in),
	    "GET http://a.test:81/p HTTP/1.1\r\nHost: evil.test\r\n%s\r\n",
	    fields);
	(void)snprintf(expected, sizeof(expected), SENT "%s\r\n", want);
	take_request(in);
	forward_request_head(&out, &head, &req_how);
	assert_out(expected);
}

static void
assert_response(const char *fields, const char *want)
{
	char in[4096], expected[4096];

	(void)snprintf(in, sizeof(in), "HTTP/1.1 200 Fine\r\n%s\r\n", fields);
	(void)snprintf(expected, sizeof(expected),
	    "HTTP/1.1 200 Fine\r\n%s\r\n", want);
	take_response(in);
	forward_response_head(&out, &head, &resp_how, NOW);
	assert_out(expected);
}

static void
request_when_end_to_end_then_bytes_are_kept(void **state)
{
#define FIELDS \
	"Accept: */*;q=0.1\r\nX-A: 1\r\nX_A: 3\r\nX-B: z\r\nx-a: 2\r\n" \
	"Authorization: Bearer t\r\nCookie: a=1\r\nCookie: b=2\r\n" \
	"Max-Forwards: 5\r\nX-A: caf\xc3\xa9\xff\r\nPrefer: wait=3\r\n"
	(void)state;
	assert_request(FIELDS, FIELDS VIA);
#undef FIELDS
}

static void
request_when_blanks_are_odd_then_written_plainly(void **state)
{
	(void)state;
	assert_request("A: 1\r\nB:2\r\nC:\t  3  \t\r\nD: 4\r\nE:\r\nF: \r\n"
		       "G:  7\r\nH: 8 \r\nI: 9\r\nJ:\t10\r\n",
	    "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: \r\nF: \r\nG: 7\r\nH: 8\r\n"
	    "I: 9\r\nJ: 10\r\n" VIA);
}

/* Around and over what is gathered before it is appended. */
static void
request_when_fields_are_long_then_all_is_there(void **state)
{
	static char line[4096];

	(void)state;
	for (size_t n = 900; n < 3000; n += n < 1100 ? 1 : 500) {
		char want[4200];

		memset(line, 'x', n);
		memcpy(line, "X-Long: ", 8);
		(void)snprintf(line + n, sizeof(line) - n, "\r\nB:2\r\n");
		(void)snprintf(want, sizeof(want), "%.*s\r\nB: 2\r\n" VIA,
		    (int)n, line);
		assert_request(line, want);
	}
}

static void
request_when_hop_by_hop_then_dropped(void **state)
{
	(void)state;
	assert_request("Connection: keep-alive\r\nKeep-Alive: timeout=99\r\n"
		       "Proxy-Connection: keep-alive\r\nTE: trailers\r\n"
		       "pRoXy-AuThOrIzAtIoN: Basic x\r\n"
		       "Proxy-Authorization: Bearer y\r\nX: 1\r\n"
		       "Trailer: a\r\nUpgrade: websocket\r\n"
		       "HTTP2-Settings: x\r\nProxy-Authenticate: z\r\n"
		       "Proxy-Authentication-Info: z\r\n",
	    "X: 1\r\n" VIA);
}

static void
request_when_ours_or_httpoxy_then_dropped(void **state)
{
	(void)state;
	assert_request("Abide-Max-Wait: 3s\r\nABIDE-KEY: k\r\n"
		       "Abide-Anything: x\r\nAbideX: 1\r\n"
		       "Proxy: http://evil.test/\r\nProxy-X: 2\r\n",
	    "AbideX: 1\r\nProxy-X: 2\r\n" VIA);
}

static void
request_when_connection_names_fields_then_dropped(void **state)
{
	(void)state;
	assert_request("X-Hop: 1\r\nAccept: a\r\nConnection: close, X-HOP\r\n"
		       "X-End: 2\r\nconnection: \"z, X-Forwarded-For\r\n"
		       "X-Forwarded-For: 6.6.6.6\r\n",
	    "Accept: a\r\nX-End: 2\r\n" VIA);
}

static void
request_when_connection_names_what_protects_then_kept(void **state)
{
	req_how.framing = (struct framing){.kind = FRAMING_LENGTH, .length = 5};
	(void)state;
	assert_request("Connection: Host, Via, Authorization, Cookie, Date, "
		       "Content-Length, Content-Type, Idempotency-Key\r\n"
		       "Via: 1.0 fred\r\nAuthorization: a\r\nCookie: b\r\n"
		       "Date: c\r\nContent-Length: 5\r\nContent-Type: d\r\n"
		       "Idempotency-Key: e\r\n",
	    "Via: 1.0 fred\r\nAuthorization: a\r\nCookie: b\r\nDate: c\r\n"
	    "Content-Type: d\r\nIdempotency-Key: e\r\n" VIA
	    "Content-Length: 5\r\n");
}

static void
request_when_framed_then_said_once(void **state)
{
	(void)state;
	req_how.framing.kind = FRAMING_CHUNKED;
	assert_request("Transfer-Encoding: CHUNKED\r\nX: 1\r\n",
	    "X: 1\r\n" VIA "Transfer-Encoding: chunked\r\n");
	req_how.framing =
	    (struct framing){.kind = FRAMING_LENGTH, .length = 12};
	assert_request("Content-Length: 0012\r\n",
	    VIA "Content-Length: 12\r\n");
	/* Re-framed: the body was buffered. */
	assert_request("Transfer-Encoding: chunked\r\n",
	    VIA "Content-Length: 12\r\n");
	req_how.framing = (struct framing){.kind = FRAMING_NONE};
	assert_request("Content-Length: 5\r\n", VIA);
}

static void
request_when_options_are_set_then_written(void **state)
{
	(void)state;
	req_how.expect = true;
	assert_request("Expect: 100-Continue\r\nX: 1\r\n",
	    "X: 1\r\n" VIA "Expect: 100-continue\r\n");
	req_how.expect = false;
	assert_request("Expect: y 100-continue\r\n", VIA);
	req_how.max_forwards = 4;
	assert_request("A: 1\r\nMax-Forwards: 5\r\nMax-Forwards: 6\r\n",
	    "Max-Forwards: 4\r\nA: 1\r\n" VIA);
	assert_request("A: 1\r\n", "A: 1\r\n" VIA); /* not invented */
	req_how.via = (struct span){0};
	assert_request("A: 1\r\n", "A: 1\r\n");
}

static void
request_when_upgrade_passes_then_both_lines_without_h2c(void **state)
{
	(void)state;
	req_how.upgrade = true;
	assert_request(
	    "Upgrade: websocket, h2c\r\nConnection: keep-alive, Upgrade\r\n"
	    "Upgrade: foo/2\r\nHTTP2-Settings: x\r\n",
	    VIA "Connection: upgrade\r\nUpgrade: websocket, foo/2\r\n");
	/* Nothing to pass, or nothing that may. */
	assert_request("Upgrade: h2c\r\nConnection: Upgrade\r\n", VIA);
	assert_request("Upgrade: websocket\r\n", VIA);
	req_how.upgrade = false;
	assert_request("Upgrade: foo\r\nConnection: Upgrade\r\n", VIA);
}

static void
upgrade_when_wanted_and_allowed_then_true(void **state)
{
	static const struct {
		const char *fields;
		int minor;
		bool want;
	} rows[] = {
	    {"Upgrade: websocket\r\nConnection: Upgrade\r\n", 1, true},
	    {"Upgrade: websocket\r\nConnection: Upgrade\r\n", 0, false},
	    {"Upgrade: websocket\r\n", 1, false},
	    {"Connection: Upgrade\r\n", 1, false},
	    {"Upgrade: H2C\r\nConnection: Upgrade, HTTP2-Settings\r\n", 1,
		false},
	    {"Upgrade: h2c/1\r\nConnection: Upgrade\r\n", 1, false},
	    {"Upgrade: ,\r\nConnection: Upgrade\r\n", 1, false},
	    {"Upgrade: h2c, h2cx\r\nConnection: a, uPGRADE\r\n", 1, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char in[256];

		(void)snprintf(in, sizeof(in), "GET / HTTP/1.%d\r\n%s\r\n",
		    rows[i].minor, rows[i].fields);
		take_request(in);
		assert_int_equal(forward_wants_upgrade(&head), rows[i].want);
	}
}

static void
request_when_http_1_0_and_query_only_then_rewritten(void **state)
{
	(void)state;
	take_request("GET http://a.test?q=1 HTTP/1.0\r\nX: 1\r\n\r\n");
	req_how.host = SPAN("a.test");
	req_how.path = SPAN("?q=1");
	req_how.add_slash = true;
	forward_request_head(&out, &head, &req_how);
	assert_out("GET /?q=1 HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n"
		   "Via: 1.0 abided\r\n\r\n");
}

static void
response_when_end_to_end_then_bytes_are_kept(void **state)
{
#define FIELDS \
	"Set-Cookie: a=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT\r\n" \
	"Set-Cookie: b=2\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n" \
	"WWW-Authenticate: Basic realm=\"x, y\"\r\nRetry-After: 1\r\n" \
	"Abide-Max-Wait: 1\r\nProxy: 1\r\n"
	(void)state;
	assert_response(FIELDS, FIELDS VIA);
#undef FIELDS
}

static void
response_when_hop_by_hop_then_dropped(void **state)
{
	(void)state;
	assert_response("Date: x\r\nConnection: X-Hop, Content-Length\r\n"
			"X-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-End: 2\r\n"
			"Proxy-Authenticate: Basic realm=evil\r\n"
			"Transfer-Encoding: chunked\r\nTrailer: X\r\n"
			"Content-Length: 5\r\nUpgrade: x\r\n",
	    "Date: x\r\nX-End: 2\r\n" VIA);
}

static void
response_when_framed_then_said_once(void **state)
{
	(void)state;
	resp_how.framing =
	    (struct framing){.kind = FRAMING_LENGTH, .length = 5};
	assert_response("Content-Length: 5\r\nContent-Length: 5\r\n",
	    DATE VIA "Content-Length: 5\r\n");
	resp_how.framing.kind = FRAMING_CHUNKED;
	assert_response("", DATE VIA "Transfer-Encoding: chunked\r\n");
	resp_how.framing.kind = FRAMING_CLOSE;
	resp_how.close = true;
	assert_response("", DATE VIA "Connection: close\r\n");
}

static void
response_when_bodyless_then_length_as_it_came(void **state)
{
	(void)state;
	resp_how.has_length = true;
	assert_response("Content-Length: 500\r\n",
	    DATE VIA "Content-Length: 500\r\n");
	assert_response("Content-Length: 5, 6\r\n", DATE VIA);
	assert_response("Transfer-Encoding: chunked\r\n", DATE VIA);
	resp_how.has_length = false;
	assert_response("Content-Length: 500\r\n", DATE VIA);
}

static void
response_when_proxy_status_came_then_ours_is_last(void **state)
{
	(void)state;
	resp_how.proxy_status = SPAN("abided; received-status=429");
	resp_how.keep_alive_10 = true;
	assert_response("Proxy-Status: cdn\r\nVia: 1.1 cdn\r\n",
	    "Proxy-Status: cdn\r\nVia: 1.1 cdn\r\n" DATE VIA
	    "Proxy-Status: abided; received-status=429\r\n"
	    "Connection: keep-alive\r\n");
}

static void
response_when_bare_lf_then_made_crlf(void **state)
{
	(void)state;
	take_response("HTTP/1.0 429\nA: 1\nB: 2\r\nC: 3\n\n");
	forward_response_head(&out, &head, &resp_how, -1);
	assert_out("HTTP/1.1 429 \r\nA: 1\r\nB: 2\r\nC: 3\r\n"
		   "Via: 1.0 abided\r\n\r\n");
}

static void
response_when_rewritten_then_those_fields_and_no_others(void **state)
{
	static const struct rewrite rw = {
	    .kind = REWRITE_SCHEME,
	    .host = {"a.test", 6},
	    .port = 443,
	    .tls = true,
	};
	const char *const fields =
	    DATE "X-Location: https://a.test/1\r\n"
		 "LOCATION:https://a.test/2\r\nLink: <https://a.test/3>\r\n"
		 "Set-Cookie: a=b; Secure\r\nSet-Cookie: c=d; secure; x \r\n"
		 "Content-Location: https://a.test:443/4\r\n"
		 "Set-Cookie2: a=b; Secure\r\nX-Last: z\r\n";

	(void)state;
	resp_how.rewrite = &rw;
	assert_response(fields,
	    DATE "X-Location: https://a.test/1\r\n"
		 "LOCATION: http://a.test/2\r\nLink: <https://a.test/3>\r\n"
		 "Set-Cookie: a=b\r\nSet-Cookie: c=d; x\r\n"
		 "Content-Location: http://a.test/4\r\n"
		 "Set-Cookie2: a=b; Secure\r\nX-Last: z\r\n" VIA);
	/* None that may not pass comes back by that way. */
	assert_response(DATE "Connection: x-a, location\r\nX-A: 1\r\n"
			     "Location: https://a.test/2\r\n",
	    DATE "Location: http://a.test/2\r\n" VIA);
	resp_how.rewrite = NULL;
	assert_response(DATE "Location: https://a.test/2\r\n"
			     "Set-Cookie: a=b; Secure\r\n",
	    DATE "Location: https://a.test/2\r\n"
		 "Set-Cookie: a=b; Secure\r\n" VIA);
}

static void
response_when_interim_then_no_date(void **state)
{
	(void)state;
	take_response("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
	forward_response_head(&out, &head, &resp_how, NOW);
	assert_out("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n" VIA "\r\n");
	take_response("HTTP/1.1 101 Switching Protocols\r\n"
		      "Connection: Upgrade\r\nUpgrade: websocket\r\n"
		      "Sec-WebSocket-Accept: x\r\n\r\n");
	resp_how.framing.kind = FRAMING_TUNNEL;
	resp_how.upgrade = SPAN("websocket");
	resp_how.close = true; /* says nothing beside an upgrade */
	forward_response_head(&out, &head, &resp_how, NOW);
	assert_out("HTTP/1.1 101 Switching Protocols\r\n"
		   "Sec-WebSocket-Accept: x\r\n" VIA
		   "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n");
}

static void
is_hop_when_asked_for_one_field_then_same_answer(void **state)
{
	static const bool want[] = {false, false, true, true, false, true};

	(void)state;
	take_request("GET / HTTP/1.1\r\nHost: a\r\nVia: 1.1 x\r\n"
		     "Connection: X-Hop, via, Host\r\nX-Hop: 1\r\nX-Ho: 2\r\n"
		     "Abide-Key: k\r\n\r\n");
	assert_int_equal(head.nfields, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_int_equal(forward_is_hop(&head, &head.fields[i]),
		    want[i]);
}

static void
names_fields_when_any_option_is_a_field_then_true(void **state)
{
	static const struct {
		const char *fields;
		bool want;
	} rows[] = {
	    {"", false},
	    {"Connection: close\r\n", false},
	    {"Connection: Keep-Alive, , TE, upgrade,Trailer\r\n", false},
	    {"Connection: X-Hop\r\n", true},
	    {"Connection: close\r\nConnection: a\r\n", true},
	    /* A quote hides nothing. */
	    {"Connection: \"close, X-Hop\r\n", true},
	    {"Connection: close, \r\nX-Hop: close\r\n", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char in[256];

		(void)snprintf(in, sizeof(in), "GET / HTTP/1.1\r\n%s\r\n",
		    rows[i].fields);
		take_request(in);
		if (forward_names_fields(&head) != rows[i].want)
			fail_msg("%s", rows[i].fields);
	}
}

static void
via_has_when_received_by_us_then_true(void **state)
{
	static const struct {
		const char *value;
		bool want;
	} rows[] = {
	    {"1.1 abided", true},
	    {"1.0 fred, 1.1 Abided", true},
	    {"HTTP/1.1 abided (x)", true},
	    {"1.1\tabided(x)", true},
	    {"1.1 abided:80", false},
	    {"1.1 abided2", false},
	    {"1.1 fred abided", false},
	    {"abided 1.1", false},
	    {"1.1 fred (a, 1.1 abided)", false},
	    {"1.1 fred (a, 1.1 abided b)", false},
	    {"1.1 fred (a (b), \\), 1.1 abided)", false},
	    {"1.1 fred (a), 1.1 abided", true},
	    {"", false},
	    {"1.1", false},
	    {",, ,1.1 abided", true},
	    {"1.1 fred (", false},
	    {"1.1 fred (\\", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char in[256];

		(void)snprintf(in, sizeof(in),
		    "GET / HTTP/1.1\r\nVia: 1.1 x\r\nVia: %s\r\n\r\n",
		    rows[i].value);
		take_request(in);
		if (forward_via_has(&head, SPAN("abided")) != rows[i].want)
			fail_msg("%s", rows[i].value);
	}
	take_request("GET / HTTP/1.1\r\n\r\n");
	assert_false(forward_via_has(&head, SPAN("abided")));
}

/* For a parent proxy: the whole URL, and what that proxy alone may read. */
static void
request_when_next_is_a_proxy_then_absolute_form(void **state)
{
	static const struct {
		const char *method, *host, *path, *want;
		bool add_slash;
	} rows[] = {
	    {"GET", "a.test", "/p?q", "GET http://a.test/p?q", false},
	    {"GET", "a.test:81", "?q", "GET http://a.test:81/?q", true},
	    {"POST", "[::1]:81", "/", "POST http://[::1]:81/", false},
	    {"OPTIONS", "a.test", "*", "OPTIONS http://a.test", false},
	    {"OPTIONS", "a.test", "/*", "OPTIONS http://a.test/*", false},
	};
	char in[256], want[256];

	(void)state;
	req_how.absolute = true;
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(in, sizeof(in),
		    "%s http://x.test/ HTTP/1.1\r\nHost: x.test\r\n\r\n",
		    rows[i].method);
		(void)snprintf(want, sizeof(want),
		    "%s HTTP/1.1\r\nHost: %s\r\n" VIA "\r\n", rows[i].want,
		    rows[i].host);
		req_how.host = span_of(rows[i].host);
		req_how.path = span_of(rows[i].path);
		req_how.add_slash = rows[i].add_slash;
		take_request(in);
		forward_request_head(&out, &head, &req_how);
		assert_out(want);
	}
}

static void
request_when_proxy_auth_is_set_then_it_replaces_the_clients(void **state)
{
	(void)state;
	req_how.proxy_auth = SPAN("Basic dTpw");
	assert_request("Proxy-Authorization: Basic Y2xpZW50\r\nA: 1\r\n",
	    "A: 1\r\n" VIA "Proxy-Authorization: Basic dTpw\r\n");
}

static void
request_when_connect_then_authority_form(void **state)
{
	(void)state;
	take_request("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
		     "User-Agent: u\r\nProxy-Connection: keep-alive\r\n"
		     "Content-Length: 0\r\nVia: 1.1 x\r\n\r\n");
	req_how.host = req_how.path = SPAN("a.test:443");
	forward_request_head(&out, &head, &req_how);
	assert_out("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
		   "User-Agent: u\r\nVia: 1.1 x\r\n" VIA "\r\n");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(request_when_end_to_end_then_bytes_are_kept),
	    TEST(request_when_blanks_are_odd_then_written_plainly),
	    TEST(request_when_fields_are_long_then_all_is_there),
	    TEST(request_when_hop_by_hop_then_dropped),
	    TEST(request_when_ours_or_httpoxy_then_dropped),
	    TEST(request_when_connection_names_fields_then_dropped),
	    TEST(request_when_connection_names_what_protects_then_kept),
	    TEST(request_when_framed_then_said_once),
	    TEST(request_when_options_are_set_then_written),
	    TEST(request_when_upgrade_passes_then_both_lines_without_h2c),
	    TEST(upgrade_when_wanted_and_allowed_then_true),
	    TEST(request_when_http_1_0_and_query_only_then_rewritten),
	    TEST(request_when_next_is_a_proxy_then_absolute_form),
	    TEST(request_when_proxy_auth_is_set_then_it_replaces_the_clients),
	    TEST(request_when_connect_then_authority_form),
	    TEST(response_when_end_to_end_then_bytes_are_kept),
	    TEST(response_when_hop_by_hop_then_dropped),
	    TEST(response_when_framed_then_said_once),
	    TEST(response_when_bodyless_then_length_as_it_came),
	    TEST(response_when_proxy_status_came_then_ours_is_last),
	    TEST(response_when_bare_lf_then_made_crlf),
	    TEST(response_when_rewritten_then_those_fields_and_no_others),
	    TEST(response_when_interim_then_no_date),
	    TEST(is_hop_when_asked_for_one_field_then_same_answer),
	    TEST(names_fields_when_any_option_is_a_field_then_true),
	    TEST(via_has_when_received_by_us_then_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

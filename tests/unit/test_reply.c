/* SPDX-License-Identifier: MIT */
/* Own answers, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/reply.h"

#define NOW INT64_C(784111777)
#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

static struct strbuf out;

static int
setup(void **state)
{
	(void)state;
	strbuf_init(&out, 65536);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	strbuf_free(&out);
	return 0;
}

static void
assert_out(const char *want)
{
	assert_false(out.failed);
	strbuf_char(&out, '\0');
	assert_string_equal(out.p, want);
	strbuf_clear(&out);
}

static void
assert_reply(const struct reply *r, const char *want)
{
	reply_build(&out, r, NOW);
	assert_out(want);
}

static void
reply_when_all_is_known_then_all_is_said(void **state)
{
	const struct reply r = {
	    .status = 503,
	    .error = "connection_limit_reached",
	    .reason = "queue-full",
	    .detail = SPAN("too many \"wait\""),
	    .service = SPAN("api"),
	    .retry_after_ms = 1001,
	    .proxy_status_details = SPAN("reason=queue-full"),
	    .received_status = 429,
	    .close = true,
	    .extra = SPAN("Allow: GET\r\n"),
	};

	(void)state;
	assert_reply(&r,
	    "HTTP/1.1 503 Service Unavailable\r\n" DATE
	    "Cache-Control: no-store\r\n"
	    "Proxy-Status: abided; error=connection_limit_reached; "
	    "received-status=429; details=\"reason=queue-full\"\r\n"
	    "Retry-After: 2\r\n"
	    "Connection: close\r\n"
	    "Allow: GET\r\n"
	    "Content-Type: application/problem+json\r\n"
	    "Content-Length: 152\r\n"
	    "\r\n"
	    "{\"status\":503,\"title\":\"Service Unavailable\","
	    "\"detail\":\"too many \\\"wait\\\"\",\"reason\":\"queue-full\","
	    "\"service\":\"api\",\"received_status\":429,"
	    "\"retry_after_s\":2}\n");
}

static void
reply_when_little_is_known_then_little_is_said(void **state)
{
	struct reply r = {.status = 400, .retry_after_ms = -1};

	(void)state;
	assert_reply(&r,
	    "HTTP/1.1 400 Bad Request\r\n" DATE "Cache-Control: no-store\r\n"
	    "Proxy-Status: abided\r\n"
	    "Content-Type: application/problem+json\r\n"
	    "Content-Length: 37\r\n\r\n"
	    "{\"status\":400,\"title\":\"Bad Request\"}\n");
	r.head_only = true;
	r.keep_alive_10 = true;
	assert_reply(&r,
	    "HTTP/1.1 400 Bad Request\r\n" DATE "Cache-Control: no-store\r\n"
	    "Proxy-Status: abided\r\n"
	    "Connection: keep-alive\r\n"
	    "Content-Type: application/problem+json\r\n"
	    "Content-Length: 37\r\n\r\n");
}

static void
reply_when_below_400_then_no_problem(void **state)
{
	struct reply r = {.status = 200, .retry_after_ms = -1};

	(void)state;
	assert_reply(&r,
	    "HTTP/1.1 200 OK\r\n" DATE "Content-Length: 0\r\n\r\n");
	r.status = 204;
	assert_reply(&r, "HTTP/1.1 204 No Content\r\n" DATE "\r\n");
	r.status = 304;
	assert_reply(&r, "HTTP/1.1 304 Not Modified\r\n" DATE "\r\n");
	r.status = 100;
	assert_reply(&r, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void
reply_when_wait_has_a_fraction_then_rounded_up(void **state)
{
	static const struct {
		int64_t ms;
		const char *want;
	} rows[] = {
	    {0, "\r\nRetry-After: 0\r\n"},
	    {1, "\r\nRetry-After: 1\r\n"},
	    {999, "\r\nRetry-After: 1\r\n"},
	    {1000, "\r\nRetry-After: 1\r\n"},
	    {1001, "\r\nRetry-After: 2\r\n"},
	    {INT64_MAX, "\r\nRetry-After: 9223372036854776\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct reply r = {.status = 504, .retry_after_ms = rows[i].ms};

		reply_build(&out, &r, NOW);
		strbuf_char(&out, '\0');
		assert_non_null(strstr(out.p, rows[i].want));
		strbuf_clear(&out);
	}
}

static void
reply_when_peer_text_is_hostile_then_escaped(void **state)
{
	const struct reply r = {
	    .status = 502,
	    .retry_after_ms = -1,
	    .detail = SPAN("a\r\nX: y \"\\ \xff"),
	    .proxy_status_details = SPAN("a\r\nX: y\"\\\xff\x7f~"),
	};

	(void)state;
	reply_build(&out, &r, NOW);
	strbuf_char(&out, '\0');
	assert_non_null(strstr(out.p,
	    "Proxy-Status: abided; details=\"a??X: y\\\"\\\\??~\"\r\n"));
	assert_non_null(
	    strstr(out.p, "\"detail\":\"a\\r\\nX: y \\\"\\\\ \xef\xbf\xbd\""));
}

static void
reply_when_memory_is_out_then_failed(void **state)
{
	const struct reply r = {.status = 502, .retry_after_ms = -1};

	(void)state;
	mem_fail_at(1, true);
	reply_build(&out, &r, NOW);
	assert_true(out.failed);
	strbuf_clear(&out);
	/* The head fits, its body does not. */
	mem_fail_at(0, false);
	reply_build(&out, &r, NOW);
	strbuf_clear(&out);
	mem_fail_at(1, true);
	reply_build(&out, &r, NOW);
	assert_true(out.failed);
}

static void
proxy_status_when_parts_are_empty_then_left_out(void **state)
{
	(void)state;
	reply_proxy_status(&out, NULL, 0, (struct span){0});
	assert_out("abided");
	reply_proxy_status(&out, NULL, 429, SPAN("attempts=3 waited=4.2s"));
	assert_out("abided; received-status=429; "
		   "details=\"attempts=3 waited=4.2s\"");
	reply_proxy_status(&out, "dns_timeout", 0, (struct span){0});
	assert_out("abided; error=dns_timeout");
}

static void
phrase_when_unknown_then_said_so(void **state)
{
	(void)state;
	assert_string_equal(reply_reason_phrase(429), "Too Many Requests");
	assert_string_equal(reply_reason_phrase(508), "Loop Detected");
	assert_string_equal(reply_reason_phrase(299), "Unknown");
	assert_string_equal(reply_reason_phrase(-1), "Unknown");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(reply_when_all_is_known_then_all_is_said),
	    TEST(reply_when_little_is_known_then_little_is_said),
	    TEST(reply_when_below_400_then_no_problem),
	    TEST(reply_when_wait_has_a_fraction_then_rounded_up),
	    TEST(reply_when_peer_text_is_hostile_then_escaped),
	    TEST(reply_when_memory_is_out_then_failed),
	    TEST(proxy_status_when_parts_are_empty_then_left_out),
	    TEST(phrase_when_unknown_then_said_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

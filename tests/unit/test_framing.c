/* SPDX-License-Identifier: MIT */
/* Body lengths: one reading, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proto/framing.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CL "Content-Length: "
#define TE "Transfer-Encoding: "
#define E "\r\n"

static struct head head;
static const char *why;

static const struct head_limits lim = {.head_bytes = 65536,
    .line_bytes = 16384,
    .fields = HEAD_FIELDS_MAX};

/* Frames "METHOD / HTTP/1.MINOR" with these field lines. */
static int
request(const char *method, unsigned minor, const char *fields,
    struct framing *ret)
{
	static char text[512]; /* head points into it */
	struct head_scan scan = {0};
	int n = snprintf(text, sizeof(text), "%s / HTTP/1.%u" E "%s" E, method,
	    minor, fields);

	assert_int_equal(head_request(text, (size_t)n, &scan, &lim, &head,
			     &why),
	    HEAD_OK);
	why = NULL;
	return framing_request(&head, ret, &why);
}

static int
response(int status, unsigned minor, const char *fields, const char *method,
    struct framing *ret)
{
	static char text[512]; /* head points into it */
	struct head_scan scan = {0};
	int n = snprintf(text, sizeof(text), "HTTP/1.%u %d x" E "%s" E, minor,
	    status, fields);

	assert_int_equal(head_response(text, (size_t)n, &scan, &lim, &head,
			     &why),
	    HEAD_OK);
	why = NULL;
	return framing_response(&head, span_of(method), ret, &why);
}

static void
request_when_framed_once_then_kind_and_length(void **state)
{
	static const struct {
		const char *method;
		unsigned minor;
		const char *fields;
		enum framing_kind kind;
		uint64_t length;
	} rows[] = {
	    {"GET", 1, "", FRAMING_NONE, 0},
	    {"POST", 1, "", FRAMING_NONE, 0},
	    {"GET", 1, CL "5" E, FRAMING_LENGTH, 5},
	    {"HEAD", 1, CL "5" E, FRAMING_LENGTH, 5},
	    {"POST", 0, CL "5" E, FRAMING_LENGTH, 5},
	    {"POST", 1, CL "0" E, FRAMING_LENGTH, 0},
	    {"POST", 1, "Content-Length:\t0005 " E, FRAMING_LENGTH, 5},
	    {"POST", 1, CL "9223372036854775807" E, FRAMING_LENGTH, INT64_MAX},
	    {"POST", 1, TE "chunked" E, FRAMING_CHUNKED, 0},
	    {"OPTIONS", 1, "TRANSFER-ENCODING: CHUNKED" E, FRAMING_CHUNKED, 0},
	    {"POST", 1, "Transfer_Encoding: chunked" E CL "5" E, FRAMING_LENGTH,
		5},
	    {"POST", 1, TE "chunked" E "Connection: Transfer-Encoding" E,
		FRAMING_CHUNKED, 0},
	    {"CONNECT", 1, CL "0" E, FRAMING_NONE, 0},
	    {"TRACE", 1, "", FRAMING_NONE, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct framing f = {.kind = FRAMING_TUNNEL, .length = 99};

		if (request(rows[i].method, rows[i].minor, rows[i].fields,
			&f) != 0)
			fail_msg("%s: %s", rows[i].fields, why);
		assert_int_equal(f.kind, rows[i].kind);
		assert_int_equal(f.length, rows[i].length);
	}
}

static void
request_when_two_readings_then_refused(void **state)
{
	static const struct {
		const char *method;
		unsigned minor;
		const char *fields;
		int answer;
	} rows[] = {
	    {"POST", 1, CL "5.0" E, 400},
	    {"POST", 1, CL E, 400},
	    {"POST", 1, CL "0x5" E, 400},
	    {"POST", 1, CL "5 5" E, 400},
	    {"POST", 1, CL "-5" E, 400},
	    {"POST", 1, CL "+5" E, 400},
	    {"POST", 1, CL "NaN" E, 400},
	    {"POST", 1,
		CL "\xc2\xa0"
		   "5" E,
		400},
	    {"POST", 1, CL "5;a=b" E, 400},
	    {"POST", 1, CL "'5'" E, 400},
	    {"POST", 1, CL "5_0" E, 400},
	    {"POST", 1, CL "5," E, 400},
	    {"POST", 1, CL "5, 5" E, 400},
	    {"POST", 1, CL "5, 6" E, 400},
	    {"POST", 1, CL "9223372036854775808" E, 400},
	    {"POST", 1, CL "18446744073709551621" E, 400},
	    {"POST", 1, CL "99999999999999999999999" E, 400},
	    {"POST", 1, CL "0" E CL "44" E, 400},
	    {"POST", 1, CL "5" E CL "5" E, 400},
	    {"POST", 1, CL E CL "5" E, 400},
	    {"POST", 1, CL "6" E TE "chunked" E, 400},
	    {"POST", 1, TE "chunked" E CL "15" E, 400},
	    {"POST", 1, TE "gzip, chunked" E CL "5" E, 400},
	    {"POST", 0, TE "chunked" E, 400},
	    {"POST", 0, TE "gzip, chunked" E, 400},
	    {"POST", 1, TE E, 400},
	    {"POST", 1, TE "identity" E, 400},
	    {"POST", 1, TE "identity" E TE "chunked" E, 501},
	    {"POST", 1, TE "chunked" E TE "chunked" E, 400},
	    {"POST", 1, TE "chunked, chunked" E, 400},
	    {"POST", 1, TE "chunked, identity" E, 400},
	    {"POST", 1, TE "chunked, gzip" E, 400},
	    {"POST", 1, TE "chunked;;" E, 400},
	    {"POST", 1, TE ",chunked" E, 400},
	    {"POST", 1, TE "chunked," E, 400},
	    {"POST", 1, TE "chunk" E, 400},
	    {"POST", 1, TE "xchunked" E, 400},
	    {"POST", 1, TE "\"chunked\"" E, 400},
	    {"POST", 1, TE "ch\xfcnked" E, 400},
	    {"POST", 1,
		TE "\xa0"
		   "chunked" E,
		400},
	    {"POST", 1, TE "chunked\x85" E, 400},
	    {"POST", 1, TE "gzip, chunked" E, 501},
	    {"POST", 1, TE "gzip" E TE "Chunked" E, 501},
	    {"POST", 1, TE "cow, chunked" E, 501},
	    {"CONNECT", 1, CL "5" E, 400},
	    {"CONNECT", 1, TE "chunked" E, 400},
	    {"TRACE", 1, CL "5" E, 400},
	    {"TRACE", 1, TE "chunked" E, 400},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct framing f = {.kind = FRAMING_TUNNEL, .length = 99};
		int answer =
		    request(rows[i].method, rows[i].minor, rows[i].fields, &f);

		if (answer != rows[i].answer)
			fail_msg("%s %s: %d", rows[i].method, rows[i].fields,
			    answer);
		assert_non_null(why);
		assert_int_equal(f.kind, FRAMING_TUNNEL); /* untouched */
		assert_int_equal(f.length, 99);
	}
}

static void
response_when_framed_once_then_kind_and_length(void **state)
{
	static const struct {
		int status;
		unsigned minor;
		const char *fields, *method;
		enum framing_kind kind;
		uint64_t length;
	} rows[] = {
	    {200, 1, "", "GET", FRAMING_CLOSE, 0},
	    {200, 0, "", "GET", FRAMING_CLOSE, 0},
	    {200, 1, CL "5" E, "GET", FRAMING_LENGTH, 5},
	    {200, 1, CL "0" E, "GET", FRAMING_LENGTH, 0},
	    {205, 1, CL "0" E, "GET", FRAMING_LENGTH, 0},
	    {200, 1, CL "5" E CL "5" E, "GET", FRAMING_LENGTH, 5},
	    {200, 1, CL "5, 05" E, "GET", FRAMING_LENGTH, 5},
	    {503, 1, TE "Chunked" E, "POST", FRAMING_CHUNKED, 0},
	    {200, 1, CL "5" E, "HEAD", FRAMING_NONE, 0},
	    {429, 1, TE "chunked" E, "HEAD", FRAMING_NONE, 0},
	    {200, 1, CL "5" E, "head", FRAMING_LENGTH, 5},
	    {204, 1, CL "57" E, "GET", FRAMING_NONE, 0},
	    {204, 1, TE "chunked" E, "GET", FRAMING_NONE, 0},
	    {304, 1, CL "500" E, "GET", FRAMING_NONE, 0},
	    {100, 1, "", "POST", FRAMING_NONE, 0},
	    {103, 1, CL "5" E, "GET", FRAMING_NONE, 0},
	    {101, 1, "", "GET", FRAMING_TUNNEL, 0},
	    {200, 1, CL "5" E, "CONNECT", FRAMING_TUNNEL, 0},
	    {299, 1, TE "chunked" E, "CONNECT", FRAMING_TUNNEL, 0},
	    {407, 1, CL "5" E, "CONNECT", FRAMING_LENGTH, 5},
	    {300, 1, "", "CONNECT", FRAMING_CLOSE, 0},
	    {600, 1, CL "5" E, "GET", FRAMING_LENGTH, 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct framing f = {.kind = FRAMING_TUNNEL, .length = 99};

		if (response(rows[i].status, rows[i].minor, rows[i].fields,
			rows[i].method, &f) != 0)
			fail_msg("%d %s: %s", rows[i].status, rows[i].fields,
			    why);
		if (f.kind != rows[i].kind)
			fail_msg("%d %s %s: kind %d", rows[i].status,
			    rows[i].method, rows[i].fields, f.kind);
		assert_int_equal(f.length, rows[i].length);
	}
}

static void
response_when_two_readings_then_refused(void **state)
{
	static const struct {
		unsigned minor;
		const char *fields;
	} rows[] = {
	    {1, CL "5" E CL "10" E},
	    {1, CL "5, 10" E},
	    {1, CL E},
	    {1, CL "5," E},
	    {1, CL "+5" E},
	    {1, CL "5abc" E},
	    {1, CL "99999999999999999999999" E},
	    {1, CL "9223372036854775808" E},
	    {1, CL "5" E CL E},
	    {1, CL "3" E TE "chunked" E},
	    {1, TE "xchunked" E CL "5" E},
	    {1, TE "chunked" E TE "chunked" E},
	    {0, TE "chunked" E},
	    {1, TE "cow" E},
	    {1, TE "gzip, chunked" E},
	    {1, TE E},
	    {1, TE "identity" E},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct framing f = {.kind = FRAMING_TUNNEL};

		if (response(200, rows[i].minor, rows[i].fields, "GET", &f) !=
		    -1)
			fail_msg("accepted: %s", rows[i].fields);
		assert_non_null(why);
		assert_int_equal(f.kind, FRAMING_TUNNEL); /* untouched */
	}
}

static void
length_when_absent_or_differing_then_none(void **state)
{
	struct framing f;
	uint64_t n = 7;

	(void)state;
	assert_int_equal(response(304, 1, CL "500" E, "GET", &f), 0);
	assert_int_equal(framing_length(&head, &n), 0);
	assert_int_equal(n, 500);
	n = 7;
	assert_int_equal(response(304, 1, "", "GET", &f), 0);
	assert_int_equal(framing_length(&head, &n), -1);
	assert_int_equal(response(304, 1, CL "5" E CL "6" E, "GET", &f), 0);
	assert_int_equal(framing_length(&head, &n), -1);
	assert_int_equal(n, 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_when_framed_once_then_kind_and_length),
	    cmocka_unit_test(request_when_two_readings_then_refused),
	    cmocka_unit_test(response_when_framed_once_then_kind_and_length),
	    cmocka_unit_test(response_when_two_readings_then_refused),
	    cmocka_unit_test(length_when_absent_or_differing_then_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

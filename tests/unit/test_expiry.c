/* SPDX-License-Identifier: MIT */
/*
 * Until when a request is worth sending. It comes in at 2030-01-01T00:00:00Z.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/expiry.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW_MS INT64_C(1893456000000)
#define MINUTE_MS 60000
#define NONE (-1)

static int64_t
left_at(const char *host, const char *path_query, const char *fields,
    int64_t wall_ms)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	struct head_scan scan = {0};
	struct head h;
	const char *why = "";
	char text[1024];

	(void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", fields);
	assert_int_equal(head_request(text, strlen(text), &scan, &limits, &h,
			     &why),
	    HEAD_OK);
	return expiry_left_ms(&h, span_of(host), span_of(path_query), wall_ms);
}

static int64_t
left(const char *host, const char *path_query, const char *fields)
{
	return left_at(host, path_query, fields, NOW_MS);
}

static void
left_of_plain_request_is_none(void **state)
{
	static const char *const queries[] = {"/", "", "/?", "/?a=b&c",
	    "/?X-Amz-Expires=60", "/?X-Amz-Date=20300101T000000Z",
	    "/?X-Goog-Expires=60", "/?X-Goog-Date=20300101T000000Z",
	    "/?se=2030-01-01T00:00:08Z", "/?sig=x",
	    "/?sig=&se=2030-01-01T01:00Z",
	    "/X-Amz-Date=20300101T000000Z&X-Amz-Expires=60",
	    /* the two dialects do not mix */
	    "/?X-Amz-Date=20300101T000000Z&X-Goog-Expires=60"};

	(void)state;
	for (size_t i = 0; i < COUNT(queries); i++)
		assert_int_equal(left("api.test", queries[i], "Host: a\r\n"),
		    NONE);
	assert_int_equal(expiry_left_ms(&(struct head){.is_request = true},
			     (struct span){NULL, 0}, (struct span){NULL, 0},
			     NOW_MS),
	    NONE);
}

static void
left_of_sigv4_is_5_min_from_its_date(void **state)
{
	static const struct {
		const char *date;
		int64_t want;
	} cases[] = {
	    {"20300101T000000Z", 5 * MINUTE_MS},
	    {"20300101T000100Z", 6 * MINUTE_MS}, /* their clock is ahead */
	    {"20291231T235501Z", 1000},
	    {"20291231T235500Z", 0},
	    {"20291231T235459Z", 0},
	    {"19700101T000000Z", 0},
	    {"2030-01-01T00:00:00Z", 5 * MINUTE_MS},
	    {"", NONE},
	    {"soon", NONE},
	    {"20300101T000000Zx", NONE},
	    {"20301301T000000Z", NONE},
	    {"1893456000", NONE},
	};
	char field[64];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		(void)snprintf(field, sizeof(field), "x-AMZ-date: %s\r\n",
		    cases[i].date);
		assert_int_equal(left("sqs.eu-west-1.amazonaws.com", "/",
				     field),
		    cases[i].want);
	}
}

static void
left_of_sigv4_to_s3_is_15_min(void **state)
{
	static const struct {
		const char *host;
		int minutes;
	} cases[] = {
	    {"s3.amazonaws.com", 15},
	    {"s3.eu-west-1.amazonaws.com", 15},
	    {"S3.EU-WEST-1.AmazonAWS.com", 15},
	    {"bucket.s3.amazonaws.com", 15},
	    {"my.dotted.bucket.s3.us-east-2.amazonaws.com", 15},
	    {"bucket.s3.amazonaws.com.", 15},
	    {"s3.cn-north-1.amazonaws.com.cn", 15},
	    {"s3-us-west-2.amazonaws.com", 15},
	    {"bucket.s3-accelerate.amazonaws.com", 15},
	    {"bucket.s3.dualstack.eu-west-1.amazonaws.com", 15},
	    {"b--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com",
		15},
	    {"amazonaws.com", 5},
	    {"s3x.amazonaws.com", 5},
	    {"xs3.amazonaws.com", 5},
	    {"dynamodb.us-east-1.amazonaws.com", 5},
	    {"amazonaws.com.s3.api.test", 5},
	    {"s3.api.test", 5},
	    {"s3", 5},
	    {"", 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(left(cases[i].host, "/",
				     "X-Amz-Date: 20300101T000000Z\r\n"),
		    cases[i].minutes * MINUTE_MS);
}

static void
left_of_presigned_url_is_date_and_expires(void **state)
{
	static const struct {
		const char *path_query;
		int64_t want;
	} cases[] = {
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=60", 60000},
	    {"/o?a=b&X-Amz-Expires=60&c&X-Amz-Date=20291231T235930Z&d=e",
		30000},
	    {"/o?x-amz-date=20300101T000000Z&x-amz-expires=1", 1000},
	    {"/o?X-Goog-Date=20300101T000000Z&X-Goog-Expires=900", 900000},
	    {"?X-Goog-Date=20300101T000000Z&X-Goog-Expires=900", 900000},
	    {"/o?X-Amz-Date=20291231T235900Z&X-Amz-Expires=60", 0},
	    {"/o?X-Amz-Date=20291231T235900Z&X-Amz-Expires=59", 0},
	    {"/o?X-Amz-Date=20291231T235900Z&X-Amz-Expires=61", 1000},
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=0", 0},
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=604800", 604800000},
	    {"/o?X-Amz-Date=20300101T000000Z"
	     "&X-Amz-Expires=99999999999999999999999",
		INT64_C(4294967295000)},
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=-1", NONE},
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=", NONE},
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires", NONE},
	    {"/o?X-Amz-Date=&X-Amz-Expires=60", NONE},
	    {"/o?X-Amz-Date=2030%2D01%2d01T00%3A00%3a00Z&X-Amz-Expires=60",
		60000},
	    /* the first of two counts */
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=60"
	     "&X-Amz-Expires=9",
		60000},
	    /* the sooner of two schemes */
	    {"/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=60"
	     "&X-Goog-Date=20300101T000000Z&X-Goog-Expires=9",
		9000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(left("b.s3.amazonaws.com", cases[i].path_query,
				     ""),
		    cases[i].want);
}

static void
left_of_sas_token_is_until_its_end(void **state)
{
	static const struct {
		const char *se;
		int64_t want;
	} cases[] = {
	    {"2030-01-01T00:00:08Z", 8000},
	    {"2030-01-01T00%3A00%3A08Z", 8000},
	    {"2030-01-01T00%3a00%3a08.9876543Z", 8987},
	    {"2030-01-01T02%3A00%3A08%2B02%3A00", 8000},
	    /* a vague time counts as its beginning */
	    {"2030-01-01T00:02Z", 2 * MINUTE_MS},
	    {"2030-01-02", 1440 * MINUTE_MS},
	    {"2030-01-01", 0},
	    {"2029-12-31T23:59:59Z", 0},
	    {"2030-01-01T00%3A00%3A08Z%", NONE},
	    {"2030-01-01T00%3A00%3A08Z%2", NONE},
	    {"2030-01-01T00%3G00%3A08Z", NONE},
	    {"2030-01-01T00%", NONE},
	    {"", NONE},
	    {"%00", NONE},
	    /* 64 bytes can be decoded, all of them fraction here; 65 can't */
	    {"2030-01-01T00:00:08.00000000000000000000000000000000000000000000",
		8000},
	    {"2030-01-01T00:00:08.000000000000000000000000000000000000000000000",
		NONE},
	};
	char url[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		(void)snprintf(url, sizeof(url),
		    "/c/blob?sv=1&se=%s&sig=ab%%3D", cases[i].se);
		assert_int_equal(left("a.blob.core.windows.net", url, ""),
		    cases[i].want);
	}
}

static void
left_of_sas_token_reads_no_byte_behind_it(void **state)
{
	static const char text[] = "?sig=x&se=2030-01-01T00:00:08%5A";
	struct head h = {.is_request = true};
	struct span url = {text, sizeof(text) - 1};

	(void)state;
	assert_int_equal(expiry_left_ms(&h, SPAN("a"), url, NOW_MS), 8000);
	for (url.n--; text[url.n] != '%'; url.n--)
		assert_int_equal(expiry_left_ms(&h, SPAN("a"), url, NOW_MS),
		    NONE);
	/* without a zone it is UTC */
	assert_int_equal(expiry_left_ms(&h, SPAN("a"), url, NOW_MS), 8000);
}

static void
left_of_grpc_timeout_is_from_receipt(void **state)
{
	static const struct {
		const char *timeout;
		int64_t want;
	} cases[] = {
	    {"5S", 5000}, /* C85 */
	    {"1H", 3600000},
	    {"2M", 120000},
	    {"250m", 250},
	    {"99999999H", INT64_C(359999996400000)},
	    {"2999u", 2},
	    {"999u", 0},
	    {"2999999n", 2},
	    {"999999n", 0},
	    {"0S", 0},
	    {"00000001S", 1000},
	    {"99999999n", 99},
	    {"000000001S", NONE},
	    {"S", NONE},
	    {"5", NONE},
	    {"", NONE},
	    {"5s", NONE},
	    {"5h", NONE},
	    {"-5S", NONE},
	    {"5.5S", NONE},
	    {"5 S", NONE},
	    {"5SS", NONE},
	    {"5N", NONE},
	    {"5U", NONE},
	};
	char field[64];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		(void)snprintf(field, sizeof(field), "grpc-timeout: %s\r\n",
		    cases[i].timeout);
		assert_int_equal(left("api.test", "/", field), cases[i].want);
		/* whatever the time of day */
		assert_int_equal(left_at("api.test", "/", field, 1),
		    cases[i].want);
	}
}

static void
left_of_several_is_the_soonest(void **state)
{
	static const char presigned[] =
	    "/o?X-Amz-Date=20300101T000000Z&X-Amz-Expires=60";
	static const char sas[] =
	    "/o?se=2030-01-01T00:00:20Z&sig=x"
	    "&X-Amz-Date=20300101T000000Z&X-Amz-Expires=60";

	(void)state;
	assert_int_equal(left("h", presigned, "grpc-timeout: 5S\r\n"), 5000);
	assert_int_equal(left("h", presigned, "grpc-timeout: 5M\r\n"), 60000);
	assert_int_equal(left("h", presigned, "grpc-timeout: x\r\n"), 60000);
	assert_int_equal(left("h", sas, ""), 20000);
	assert_int_equal(left("h", presigned,
			     "X-Amz-Date: 20291231T235530Z\r\n"),
	    30000);
	assert_int_equal(left("h", "/",
			     "X-Amz-Date: 20300101T000000Z\r\n"
			     "grpc-timeout: 10M\r\n"),
	    300000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(left_of_plain_request_is_none),
	    cmocka_unit_test(left_of_sigv4_is_5_min_from_its_date),
	    cmocka_unit_test(left_of_sigv4_to_s3_is_15_min),
	    cmocka_unit_test(left_of_presigned_url_is_date_and_expires),
	    cmocka_unit_test(left_of_sas_token_is_until_its_end),
	    cmocka_unit_test(left_of_sas_token_reads_no_byte_behind_it),
	    cmocka_unit_test(left_of_grpc_timeout_is_from_receipt),
	    cmocka_unit_test(left_of_several_is_the_soonest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

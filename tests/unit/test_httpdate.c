/* SPDX-License-Identifier: MIT */
/* HTTP dates: the three forms, what is lenient, and the two-digit year. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proto/httpdate.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOV_1994 INT64_C(784111777) /* the example of RFC 9110 5.6.7 */
#define NOW INT64_C(1893456000)     /* 2030-01-01 */

static void
parse_when_valid_then_seconds(void **state)
{
	static const struct {
		const char *text;
		int64_t want;
	} rows[] = {
	    {"Sun, 06 Nov 1994 08:49:37 GMT", NOV_1994},
	    {"Sunday, 06-Nov-94 08:49:37 GMT", NOV_1994},
	    {"Sun Nov  6 08:49:37 1994", NOV_1994},
	    {"Sun Nov 06 08:49:37 1994", NOV_1994},
	    {"Sun Nov 6 08:49:37 1994", NOV_1994},
	    {"Sun, 06 Nov 1994 08:49:37 UTC", NOV_1994},
	    {"Sun, 06 Nov 1994 08:49:37 +0000", NOV_1994},
	    {"Sun, 06 Nov 1994 08:49:37", NOV_1994},
	    {"Sun Nov  6 08:49:37 1994 GMT", NOV_1994},
	    {"Sun, 6 Nov 1994 08:49:37 GMT", NOV_1994},
	    {"sUN, 06 nOV 1994 08:49:37 gmt", NOV_1994},
	    {"Sun, 06-Nov-1994 08:49:37 GMT", NOV_1994},
	    /* The day name is not held against the date. */
	    {"Mon, 06 Nov 1994 08:49:37 GMT", NOV_1994},
	    {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
	    {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
	    {"Tue, 29 Feb 2000 00:00:00 GMT", INT64_C(951782400)},
	    {"Wed, 01 Mar 2000 00:00:00 GMT", INT64_C(951868800)},
	    {"Sat, 31 Dec 2016 23:59:60 GMT", INT64_C(1483228800)},
	    {"Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799)},
	    {"Sat, 01 Jan 0000 00:00:00 GMT", INT64_C(-62167219200)},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t t = 7;

		if (httpdate_parse(span_of(rows[i].text), NOW, &t) != 0)
			fail_msg("refused: %s", rows[i].text);
		if (t != rows[i].want)
			fail_msg("%s: %lld", rows[i].text, (long long)t);
	}
}

static void
parse_when_anything_is_off_then_refused(void **state)
{
	static const char *const rows[] = {"", "Sun", "Sun,", "Sun, ",
	    "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
	    " Sun, 06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
	    "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 006 Nov 1994 08:49:37 GMT",
	    "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
	    "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37 +0100",
	    "Sun, 06 Nov 1994 08:49:37 GMTX", "Sun, 06 Nov 1994 08:49:37GMT",
	    "Sun, 06 Nov 994 08:49:37 GMT", "Sun, 06 Nov 19945 08:49:37 GMT",
	    "Sun, 06-Nov 1994 08:49:37 GMT", "Sun, 06 Nov-1994 08:49:37 GMT",
	    "Sun, 06/Nov/1994 08:49:37 GMT", "Sun, 06 Now 1994 08:49:37 GMT",
	    "Sun, 06 Nove 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
	    "Sun, 31 Nov 1994 08:49:37 GMT", "Tue, 29 Feb 1994 00:00:00 GMT",
	    "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
	    "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
	    "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
	    "Foo, 06 Nov 1994 08:49:37 GMT", "Sund, 06 Nov 1994 08:49:37 GMT",
	    "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 19945",
	    "Sun  Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994",
	    "Sun Nov 6 08:49:37", "120", "1994-11-06T08:49:37Z"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t t = 7;

		if (httpdate_parse(span_of(rows[i]), NOW, &t) != -1)
			fail_msg("accepted: %s", rows[i]);
		assert_int_equal(t, 7); /* untouched */
	}
}

static int64_t
days_of(const char *text, int64_t now_s)
{
	int64_t t = 7;

	assert_int_equal(httpdate_parse(span_of(text), now_s, &t), 0);
	return t / 86400;
}

static void
year_when_two_digits_then_within_fifty_years_ahead(void **state)
{
	const int64_t in_2095 = httpdate_days(2095, 6, 1) * 86400;

	(void)state;
	/* Now is 2030-01-01: fifty years ahead is 2080-01-01. */
	assert_int_equal(days_of("Monday, 01-Jan-80 00:00:00 GMT", NOW),
	    httpdate_days(2080, 1, 1));
	assert_int_equal(days_of("Monday, 01-Jan-80 00:00:01 GMT", NOW),
	    httpdate_days(1980, 1, 1));
	assert_int_equal(days_of("Monday, 01-Jan-81 00:00:00 GMT", NOW),
	    httpdate_days(1981, 1, 1));
	assert_int_equal(days_of("Monday, 31-Dec-79 00:00:00 GMT", NOW),
	    httpdate_days(2079, 12, 31));
	assert_int_equal(days_of("Monday, 01-Jan-30 00:00:00 GMT", NOW),
	    httpdate_days(2030, 1, 1));
	/* Across a century. */
	assert_int_equal(days_of("Monday, 01-Jan-05 00:00:00 GMT", in_2095),
	    httpdate_days(2105, 1, 1));
	assert_int_equal(days_of("Monday, 01-Jan-96 00:00:00 GMT", in_2095),
	    httpdate_days(2096, 1, 1));
	assert_int_equal(days_of("Monday, 01-Jan-46 00:00:00 GMT", in_2095),
	    httpdate_days(2046, 1, 1));
	assert_int_equal(days_of("Monday, 01-Jan-45 00:00:00 GMT", in_2095),
	    httpdate_days(2145, 1, 1));
}

static void
year_when_clock_is_wild_then_no_overflow(void **state)
{
	int64_t t;

	(void)state;
	assert_int_equal(httpdate_parse(SPAN("Monday, 01-Jan-80 00:00:00 GMT"),
			     INT64_MAX, &t),
	    0);
	assert_int_equal(httpdate_parse(SPAN("Monday, 01-Jan-80 00:00:00 GMT"),
			     INT64_MIN, &t),
	    0);
}

static void
format_when_any_time_then_imf_fixdate(void **state)
{
	static const struct {
		int64_t t_s;
		const char *want;
	} rows[] = {
	    {NOV_1994, "Sun, 06 Nov 1994 08:49:37 GMT"},
	    {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
	    {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
	    {NOW, "Tue, 01 Jan 2030 00:00:00 GMT"},
	    {INT64_C(951782400), "Tue, 29 Feb 2000 00:00:00 GMT"},
	    {INT64_C(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT"},
	    {INT64_MAX, "Fri, 31 Dec 9999 23:59:59 GMT"},
	    {INT64_C(-62167219200), "Sat, 01 Jan 0000 00:00:00 GMT"},
	    {INT64_MIN, "Sat, 01 Jan 0000 00:00:00 GMT"},
	};
	char out[HTTPDATE_LEN + 1];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		httpdate_format(rows[i].t_s, out);
		assert_string_equal(out, rows[i].want);
	}
}

/* Each day of ten thousand years, there and back. */
static void
format_when_parsed_again_then_the_same(void **state)
{
	char out[HTTPDATE_LEN + 1];
	int64_t t;

	(void)state;
	for (int64_t day = httpdate_days(0, 1, 1);
	     day < httpdate_days(10000, 1, 1); day += 5) {
		int64_t at = day * 86400 + (day & 0xffff);

		httpdate_format(at, out);
		assert_int_equal(httpdate_parse(span_of(out), NOW, &t), 0);
		assert_int_equal(t, at);
	}
}

static void
days_when_counted_one_by_one_then_consecutive(void **state)
{
	static const unsigned length[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30,
	    31, 30, 31};
	int64_t want = httpdate_days(-401, 1, 1);

	(void)state;
	assert_int_equal(httpdate_days(1970, 1, 1), 0);
	assert_int_equal(httpdate_days(2000, 3, 1), 11017);
	for (int64_t y = -401; y < 2401; y++) {
		bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

		for (unsigned m = 1; m <= 12; m++) {
			assert_int_equal(httpdate_days(y, m, 1), want);
			want += length[m - 1] + (m == 2 && leap ? 1U : 0U);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parse_when_valid_then_seconds),
	    cmocka_unit_test(parse_when_anything_is_off_then_refused),
	    cmocka_unit_test(
		year_when_two_digits_then_within_fifty_years_ahead),
	    cmocka_unit_test(year_when_clock_is_wild_then_no_overflow),
	    cmocka_unit_test(format_when_any_time_then_imf_fixdate),
	    cmocka_unit_test(format_when_parsed_again_then_the_same),
	    cmocka_unit_test(days_when_counted_one_by_one_then_consecutive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

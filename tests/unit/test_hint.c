/* SPDX-License-Identifier: MIT */
/*
 * What a response says about waiting. All times are as of 2030-01-01T00:00:00Z,
 * a Tuesday. Numbers like C05 are those of the case bank.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/hint.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW_MS INT64_C(1893456000000)
#define DAY_MS INT64_C(86400000)
#define FOREVER (INT64_MAX / 4)
#define NONE (-1)
#define NINES "9999999999999999999999999999999999999999" /* 40 of them */

static const struct hint_clock clk = {.wall_ms = NOW_MS, .date_ms = -1};

static int64_t
value_at(const char *text, enum hint_format f, const struct hint_clock *at)
{
	int64_t ms = -7;

	if (hint_value(span_of(text), f, at, &ms)) {
		assert_int_equal(ms, -7); /* untouched */
		return NONE;
	}
	assert_in_range(ms, 1, FOREVER);
	return ms;
}

static int64_t
value(const char *text, enum hint_format f)
{
	return value_at(text, f, &clk);
}

struct sample {
	const char *text;
	int64_t want;
};

static void
assert_samples(const struct sample *v, size_t n, enum hint_format f)
{
	for (size_t i = 0; i < n; i++) {
		int64_t ms = value(v[i].text, f);

		if (ms == v[i].want)
			continue;
		fail_msg("%s \"%s\": %lld, not %lld", hint_format_name(f),
		    v[i].text, (long long)ms, (long long)v[i].want);
	}
}

/* What is neither a number nor any other value that auto knows. C05 */
static const char *const rubbish[] = {"", " ", "-5", "+5", "abc", "0x10", "1e3",
    "NaN", "inf", "-0", "1.", ".5", "1.5.2", "1..5", "5 6", "1_000", "\"5\"",
    "5;", "'5", "\xd9\xa5", "5-", "-", "+", ".", "1.e3", "1.5e3", "0b1", "1/2",
    "5\v", "infinity", "null", "undefined", "5%", "~5", "=5"};

static void
value_of_rubbish_is_no_hint(void **state)
{
	(void)state;
	for (int f = 0; f < HINT_FORMAT_COUNT; f++) {
		for (size_t i = 0; i < COUNT(rubbish); i++) {
			if (f == HINT_TEXT || /* there it may be a sentence */
			    value(rubbish[i], (enum hint_format)f) == NONE)
				continue;
			fail_msg("%s \"%s\"",
			    hint_format_name((enum hint_format)f), rubbish[i]);
		}
		assert_int_equal(hint_value((struct span){NULL, 0},
				     (enum hint_format)f, &clk, &(int64_t){0}),
		    -1);
	}
}

static void
value_with_nul_or_unit_after_it_is_no_hint(void **state)
{
	int64_t ms;

	(void)state;
	for (int f = 0; f < HINT_FORMAT_COUNT; f++)
		assert_int_equal(hint_value(SPAN("5\0"), (enum hint_format)f,
				     &clk, &ms),
		    -1);
	assert_int_equal(value("5s", HINT_S), NONE);
	assert_int_equal(value("5ms", HINT_MS), NONE);
	assert_int_equal(value("5 seconds", HINT_AUTO), NONE);
}

/* --- relative ------------------------------------------------------------ */

static void
value_in_seconds_is_exact_and_rounded_up(void **state)
{
	static const struct sample v[] = {
	    {"0", NONE}, {"0.0", NONE}, {"000", NONE},       /* C01 */
	    {"2", 2000}, {"120", 120000}, {"007", 7000},     /* C02 */
	    {"1.5", 1500}, {"0.342", 342}, {"64.57", 64570}, /* C03, C19 */
	    {" 2 ", 2000}, {"\t2", 2000}, {"2.0", 2000}, {"1.001", 1001},
	    {"1.0001", 1001}, {"1.0000", 1000}, {"0.0000000001", 1},
	    {"0.9999", 1000}, {"1.0000000000000000000", 1000},
	    {"1.0000000000000000001", 1001},
	    {"0.00000000000000000000000000000000000000001", 1},
	    {"1.9999999999999999999999", 2000},
	    {"4294967296", INT64_C(4294967296000)},
	    {"9223372036854775", FOREVER},
	    {"2305843009213693", INT64_C(2305843009213693000)},
	    {"2305843009213693.951", FOREVER},
	    {"2305843009213693.952", FOREVER},
	    {"2305843009213693.950", FOREVER - 1},
	    {"18446744073709551615", FOREVER},
	    {"18446744073709551616", FOREVER}, {NINES, FOREVER},
	    {NINES "." NINES, FOREVER}, /* C06 */
	};

	(void)state;
	assert_samples(v, COUNT(v), HINT_S);
}

static void
value_in_milliseconds_is_exact_and_rounded_up(void **state)
{
	static const struct sample v[] = {
	    {"0", NONE},
	    {"0.000", NONE},
	    {"1", 1},
	    {"750", 750},
	    {"0.001", 1},
	    {"1500", 1500},
	    {"1234.5", 1235},
	    {"1234.0", 1234},
	    {"2305843009213693951", FOREVER},
	    {"2305843009213693950", FOREVER - 1},
	    {"2305843009213693950.1", FOREVER},
	    {NINES, FOREVER},
	};

	(void)state;
	assert_samples(v, COUNT(v), HINT_MS);
}

static void
value_of_duration_is_the_sum_of_its_terms(void **state)
{
	static const struct sample v[] = {
	    {"1s", 1000},
	    {"6m0s", 360000},
	    {"547ms", 547}, /* C20 */
	    {"7.66s", 7660},
	    {"2m52.8s", 172800},
	    {"2m59.56s", 179560},
	    {"120ms", 120},
	    {"1m12s", 72000},
	    {"1h30m", 5400000},
	    {"38s", 38000},
	    {"34.074824224s", 34075},
	    {"900ms", 900},
	    {"1h", 3600000},
	    {"1.5h", 5400000},
	    {"0.5m", 30000},
	    {"1m1ms", 60001},
	    {"1ms1m", 60001},
	    {"5m5ms5s", 305005},
	    {"1us", 1},
	    {"1000us", 1},
	    {"1001us", 2},
	    {"1ns", 1},
	    {"1000000ns", 1},
	    {"1000001ns", 2},
	    {"1.5us", 1},
	    {"2500\xc2\xb5s", 3},
	    {"2500\xce\xbcs", 3},
	    /* rounded once, not term by term */
	    {"1.5us1.5us", 1},
	    {"500us500us", 1},
	    {"1.0005s1.0005s", 2001},
	    {"0.0000000000000000001s", 1},
	    {"0s", NONE},
	    {"0h0m0s", NONE},
	    {"0.000s", NONE},
	    {"640511947003h", INT64_C(2305843009210800000)},
	    {"640511947004h", FOREVER},
	    {NINES "s", FOREVER},
	    {NINES "h" NINES "h" NINES "h", FOREVER},
	    /* not durations */
	    {"5", NONE},
	    {"0", NONE},
	    {"1.5", NONE},
	    {"1h30", NONE},
	    {"5S", NONE},
	    {"5M", NONE},
	    {"5sec", NONE},
	    {"5 s", NONE},
	    {"1m 5s", NONE},
	    {"-5s", NONE},
	    {"+5s", NONE},
	    {"s", NONE},
	    {"1.s", NONE},
	    {".5s", NONE},
	    {"1d", NONE},
	    {"ms", NONE},
	    {"5s5", NONE},
	    {"5\xc2s", NONE},
	    {"5\xc2\xb5", NONE},
	    {"1hh", NONE},
	    {"PT5S", NONE},
	    {"1e3s", NONE},
	};

	(void)state;
	assert_samples(v, COUNT(v), HINT_DURATION);
}

static void
value_relative_is_not_measured_against_any_clock(void **state)
{
	static const struct hint_clock odd = {.wall_ms = 5,
	    .date_ms = 99 * NOW_MS,
	    .age_ms = 77000};

	(void)state;
	assert_int_equal(value_at("2", HINT_S, &odd), 2000);
	assert_int_equal(value_at("2", HINT_AUTO, &odd), 2000);
	assert_int_equal(value_at("2", HINT_MS, &odd), 2);
	assert_int_equal(value_at("2s", HINT_DURATION, &odd), 2000);
	assert_int_equal(value_at("2s", HINT_AUTO, &odd), 2000);
}

/* --- absolute ------------------------------------------------------------ */

static void
value_of_http_date_is_the_time_until_then(void **state)
{
	static const struct sample v[] = {
	    {"Tue, 01 Jan 2030 00:00:10 GMT", 10000},   /* C07 */
	    {"Tuesday, 01-Jan-30 00:00:10 GMT", 10000}, /* C11 */
	    {"Tue Jan  1 00:00:10 2030", 10000},
	    {"Tue, 01 Jan 2030 00:00:10 UTC", 10000}, /* C12 */
	    {"Tue, 01 Jan 2030 00:00:10 +0000", 10000},
	    {"Tue, 01 Jan 2030 00:00:10", 10000},
	    {"Tue, 01 Jan 2030 00:00:00 GMT", NONE},
	    {"Mon, 31 Dec 2029 23:59:50 GMT", NONE}, /* C08 */
	    {"Sun, 06 Nov 1994 08:49:37 GMT", NONE},
	    {"Tue, 05 Feb 2030 00:00:00 GMT", 35 * DAY_MS},
	    {"Tue, 05 Feb 2030 00:00:01 GMT", NONE},
	    {"Fri, 31 Dec 9999 23:59:59 GMT", NONE},
	    {"Tue, 32 Jan 2030 00:00:10 GMT", NONE},
	    {"Tue,", NONE},
	    {"Tue", NONE},
	    {"Tue, ", NONE},
	    {"10", NONE},
	};

	(void)state;
	assert_samples(v, COUNT(v), HINT_HTTP_DATE);
	assert_samples(v, COUNT(v) - 1, HINT_AUTO);
}

static void
value_of_epoch_is_the_time_until_then(void **state)
{
	static const struct sample s[] = {
	    {"1893456007", 7000}, /* C16 */
	    {"1893456007.123", 7123},
	    {"1893456007.0001", 7001},
	    {"1893456000.001", 1},
	    {"1893456000.0000001", 1},
	    {"1893456000", NONE},
	    {"1893455999.9999", NONE},
	    {"1893455999", NONE},
	    {"1470173023.123", NONE},
	    {"1896480000", 35 * DAY_MS},
	    {"1896480000.0001", NONE},
	    {"1896480001", NONE},
	    {"1893456007000", NONE},
	    {"7", NONE},
	    {NINES, NONE},
	};
	static const struct sample ms[] = {
	    {"1893456007000", 7000},
	    {"1893456000001", 1},
	    {"1893456000000.5", 1},
	    {"1893456000000", NONE},
	    {"1893455999999", NONE},
	    {"1896480000000", 35 * DAY_MS},
	    {"1896480000001", NONE},
	    {"1893456007", NONE},
	    {NINES, NONE},
	};

	(void)state;
	assert_samples(s, COUNT(s), HINT_EPOCH);
	assert_samples(ms, COUNT(ms), HINT_EPOCH_MS);
}

static void
value_of_iso8601_is_the_time_until_then(void **state)
{
	static const struct sample v[] = {
	    {"2030-01-01T00:00:08Z", 8000}, /* C21 */
	    {"2030-01-01T00:00:08.25Z", 8250},
	    {"2030-01-01T00:00:08.0001Z", 8001},
	    {"2030-01-01T00:00:08.000000000000000000001Z", 8001},
	    {"2030-01-01T00:00:08.000000000000000000000Z", 8000},
	    {"2030-01-01T00:00:07.999999Z", 8000},
	    {"2030-01-01t00:00:08z", 8000},
	    {"2030-01-01 00:00:08Z", 8000},
	    {"2030-01-01T00:00:08", 8000},
	    {"20300101T000008Z", 8000},
	    {"20300101T000008.5Z", 8500},
	    {"2030-01-01T02:00:08+02:00", 8000},
	    {"2030-01-01T02:00:08+0200", 8000},
	    {"2030-01-01T02:00:08+02", 8000},
	    {"2029-12-31T18:30:08-05:30", 8000},
	    {"2030-01-01T00:00:08-00:00", 8000},
	    {"20300101T053008+0530", 8000},
	    /* minutes only: up to the end of that minute */
	    {"2030-01-01T00:02Z", 180000},
	    {"2030-01-01T00:00Z", 60000},
	    {"2030-01-01T00:02", 180000},
	    {"20300101T0002Z", 180000},
	    {"2030-01-01T01:02+01:00", 180000},
	    {"2029-12-31T23:59Z", NONE},
	    {"2029-12-31T23:59:60Z", NONE},
	    {"2030-01-01T00:00:60Z", 60000},
	    {"2030-02-05T00:00:00Z", 35 * DAY_MS},
	    {"2030-02-05T00:00:00.001Z", NONE},
	    {"2030-02-04T23:59Z", 35 * DAY_MS},
	    {"2030-02-05T00:00Z", NONE},
	    {"2030-01-01T00:00:00Z", NONE},
	    {"2029-12-31T23:59:52Z", NONE},
	    {"9999-12-31T23:59:59Z", NONE},
	    /* not dates, or none that say when */
	    {"2030-01-02", NONE},
	    {"20300102", NONE},
	    {"2030-01", NONE},
	    {"2030", NONE},
	    {"2030-01-01T", NONE},
	    {"2030-01-01T00Z", NONE},
	    {"2030-01-01T00:00:08Z ", 8000},
	    {"2030-01-01T00:00:08ZZ", NONE},
	    {"2030-01-01T00:00:08 Z", NONE},
	    {"2030-01-01T00:00:08.Z", NONE},
	    {"2030-13-01T00:00:08Z", NONE},
	    {"2030-00-01T00:00:08Z", NONE},
	    {"2030-01-00T00:00:08Z", NONE},
	    {"2030-01-32T00:00:08Z", NONE},
	    {"2030-01-01T24:00:00Z", NONE},
	    {"2030-01-01T00:60:00Z", NONE},
	    {"2030-01-01T00:00:61Z", NONE},
	    {"2030-1-01T00:00:08Z", NONE},
	    {"2030-01-01T00:00:08+24:00", NONE},
	    {"2030-01-01T00:00:08+02:60", NONE},
	    {"2030-01-01T00:00:08+02:", NONE},
	    {"2030-01-01T00:00:08+2", NONE},
	    {"2030-01-01T00:00:08+", NONE},
	    {"2030-0101T00:00:08Z", NONE},
	    {"203001-01T00:00:08Z", NONE},
	    {"2030-01-01T000008Z", NONE},
	    {"20300101T00:00:08Z", NONE},
	    {"02030-01-01T00:00:08Z", NONE},
	    {"+2030-01-01T00:00:08Z", NONE},
	    {"2030-W01-2T00:00:08Z", NONE},
	};

	(void)state;
	assert_samples(v, COUNT(v), HINT_ISO8601);
}

static void
value_of_iso8601_knows_leap_years(void **state)
{
	static const struct {
		int64_t now_s; /* midnight of 28 February */
		const char *text;
		int64_t want;
	} cases[] = {
	    {1961539200, "2032-02-29T00:00:00Z", DAY_MS},
	    {1961539200, "2032-03-01T00:00:00Z", 2 * DAY_MS},
	    {1898467200, "2030-02-29T00:00:00Z", NONE},
	    {1898467200, "2030-03-01T00:00:00Z", DAY_MS},
	    {951696000, "2000-02-29T00:00:00Z", DAY_MS},
	    {4107456000, "2100-02-29T00:00:00Z", NONE},
	    {4107456000, "2100-03-01T00:00:00Z", DAY_MS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct hint_clock at = {cases[i].now_s * 1000, -1, 0};

		assert_int_equal(value_at(cases[i].text, HINT_ISO8601, &at),
		    cases[i].want);
	}
}

static void
value_absolute_is_measured_by_the_servers_clock(void **state)
{
	static const struct {
		struct hint_clock at;
		int64_t want; /* of 2030-01-01T00:00:10Z */
	} cases[] = {
	    {{NOW_MS, -1, 0}, 10000},
	    {{NOW_MS, NOW_MS, 0}, 10000},
	    {{NOW_MS + 3600000, NOW_MS, 0}, 10000}, /* our clock is fast */
	    {{NOW_MS - 3600000, NOW_MS, 0}, 10000}, /* ... is slow */
	    {{NOW_MS, NOW_MS - 4000, 4000}, 10000}, /* from a cache */
	    {{NOW_MS, NOW_MS, 9000}, 1000},
	    {{NOW_MS, NOW_MS, 10000}, NONE},
	    {{NOW_MS, NOW_MS, FOREVER}, NONE},
	    {{NOW_MS, -1, 4000}, 10000}, /* Age counts from a Date only */
	    {{NOW_MS, 0, 0}, NONE},      /* a server without a clock */
	    {{NOW_MS, NOW_MS + 9999, 0}, 1},
	};
	static const struct sample v[] = {
	    {"Tue, 01 Jan 2030 00:00:10 GMT", HINT_HTTP_DATE},
	    {"1893456010", HINT_EPOCH},
	    {"1893456010000", HINT_EPOCH_MS},
	    {"2030-01-01T00:00:10Z", HINT_ISO8601},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t k = 0; k < COUNT(v); k++) {
			enum hint_format f = (enum hint_format)v[k].want;

			assert_int_equal(value_at(v[k].text, f, &cases[i].at),
			    cases[i].want);
			if (cases[i].at.date_ms == 0)
				continue;
			assert_int_equal(value_at(v[k].text, HINT_AUTO,
					     &cases[i].at),
			    cases[i].want);
		}
	}
}

/* --- auto ---------------------------------------------------------------- */

static void
value_in_auto_is_told_by_its_shape(void **state)
{
	static const struct sample v[] = {
	    {"7", 7000},
	    {"1.5", 1500},
	    {"0", NONE}, /* C18 */
	    {"999999999", INT64_C(999999999000)},
	    {"999999999.9999", INT64_C(1000000000000)},
	    {"1000000000", NONE}, /* 2001 */
	    {"1893456007", 7000},
	    {"1893456007.5", 7500},
	    {"999999999999", INT64_C(999999999999000)}, /* the year 33658 */
	    {"1000000000000", NONE},                    /* 2001 */
	    {"1893456007000", 7000},
	    {"1893456006999.2", 7000},
	    {"1896480000", 35 * DAY_MS},
	    {"1896480001", NONE},
	    {"1896480000000", 35 * DAY_MS},
	    {"1896480000001", NONE},
	    {"4102444800", NONE}, /* 2100 */
	    {"5s", 5000},
	    {"6m0s", 360000},
	    {"120ms", 120},
	    {"2030-01-01T00:00:08Z", 8000},
	    {"20300101T000008Z", 8000},
	    {"2026-09-11T10:00", NONE},
	    {"2030-01-01", NONE},
	    {"20300101", INT64_C(20300101000)},
	    {"Tue, 01 Jan 2030 00:00:10 GMT", 10000},
	};

	(void)state;
	assert_samples(v, COUNT(v), HINT_AUTO);
}

/* C06: RFC 9110 10.2.3 has no largest number of seconds. */
static void
value_in_auto_too_large_for_a_date_is_seconds(void **state)
{
	static const struct sample v[] = {
	    {"5049215999", NONE}, /* a century ahead, less a second */
	    {"5049216000", NONE},
	    {"5049216001", INT64_C(5049216001000)},
	    {"5049216000000", NONE},
	    {"5049216000001", INT64_C(5049216000001000)},
	    {"9999999999", INT64_C(9999999999000)},
	    {"9999999999999999", FOREVER},
	    {NINES, FOREVER},
	    {NINES ".5", FOREVER},
	};

	(void)state;
	assert_samples(v, COUNT(v), HINT_AUTO);
}

/* --- lists --------------------------------------------------------------- */

static void
value_joined_by_commas_is_the_longest_valid(void **state)
{
	static const struct sample v[] = {
	    {"3, 7, 5", 7000},
	    {"7,3", 7000},
	    {"3,", 3000},
	    {",3", 3000},
	    {" , ,3 ,, ", 3000},
	    {",", NONE},
	    {",,,", NONE},
	    {"abc, 4", 4000},
	    {"4, abc", 4000},
	    {"0, 4", 4000},
	    {"-5, 2", 2000},
	    {"5s, 7", 7000},
	    {"abc, def", NONE},
	    {"Tue, 01 Jan 2030 00:00:10 GMT, 5", 10000},
	    {"5, Tue, 01 Jan 2030 00:00:10 GMT", 10000},
	    {"Tue, 01 Jan 2030 00:00:10 GMT, 12", 12000},
	    {"Tue, 01 Jan 2030 00:00:10 GMT,Tue, 01 Jan 2030 00:00:20 GMT",
		20000},
	    {"Tuesday, 01-Jan-30 00:00:20 GMT, Tue Jan  1 00:00:30 2030",
		30000},
	    {"Mon, 31 Dec 2029 23:59:50 GMT, 4", 4000},
	    {"Sunny, 4", NONE}, /* "Sunny, 4" is no date, but looks like one */
	    {"Su, 4", 4000},
	    {"Sun5, 4", 4000},
	    {"2030-01-01T00:00:08Z, 2030-01-01T00:00:09Z", 9000},
	};
	static const char *const days[] = {"Mon", "tue", "WED", "Thu", "Friday",
	    "Saturday", "Sun"};
	char text[64];

	(void)state;
	assert_samples(v, COUNT(v), HINT_AUTO);
	for (size_t i = 0; i < COUNT(days); i++) {
		(void)snprintf(text, sizeof(text), "%s, 4", days[i]);
		assert_int_equal(value(text, HINT_AUTO), NONE);
	}
}

/* --- fields -------------------------------------------------------------- */

static struct head
parsed(const char *text)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	struct head h;
	struct head_scan scan = {0};
	const char *why = "";

	assert_int_equal(head_response(text, strlen(text), &scan, &limits, &h,
			     &why),
	    HEAD_OK);
	return h;
}

static struct hint
found(const struct hint_cfg *cfg, const char *fields)
{
	static char text[4096]; /* the head points into it */
	struct head h;

	(void)snprintf(text, sizeof(text),
	    "HTTP/1.1 429 Too Many Requests\r\n%s\r\n", fields);
	h = parsed(text);
	return hint_find(cfg, &h, NOW_MS);
}

static void
assert_found(const char *fields, int64_t want_ms, const char *source)
{
	struct hint hint = found(&hint_default, fields);

	assert_true(hint.valid);
	assert_int_equal(hint.wait_ms, want_ms);
	assert_true(span_eq(hint.source, span_of(source)));
}

static void
find_prefers_the_sources_in_order(void **state)
{
	(void)state;
	assert_found("Retry-After: 2\r\n", 2000, "retry-after");
	assert_found("Retry-After: 1\r\nretry-after-ms: 750\r\n", 750,
	    "retry-after-ms"); /* C14 */
	assert_found("x-ms-retry-after-ms: 200\r\n", 200,
	    "x-ms-retry-after-ms");
	assert_found("Retry-After: 9\r\nx-ms-retry-after-ms: 200\r\n", 200,
	    "x-ms-retry-after-ms");
	assert_found("x-amz-retry-after: 1500\r\n", 1500,
	    "x-amz-retry-after"); /* C15 */
	/* what is no hint leaves the word to the next */
	assert_found("Retry-After: 3\r\nretry-after-ms: 0\r\n", 3000,
	    "retry-after");
	assert_found("Retry-After: 3\r\nretry-after-ms: soon\r\n"
		     "x-amz-retry-after:\r\n",
	    3000, "retry-after");
}

static void
find_reads_names_in_any_case(void **state)
{
	(void)state;
	assert_found("rEtRy-aFtEr: 2\r\n", 2000, "retry-after"); /* C25 */
	assert_found("X-AMZ-RETRY-AFTER: 5\r\n", 5, "x-amz-retry-after");
}

static void
find_without_valid_value_is_no_hint(void **state)
{
	static const char *const fields[] = {"", "Retry-After: 0\r\n",
	    "Retry-After:\r\n", "Retry-After: -5\r\n", "Retry: 5\r\n",
	    "Retry-After-: 5\r\n", "X-Retry-After: 5\r\n",
	    "Retry-After: Mon, 31 Dec 2029 23:59:50 GMT\r\n"};

	(void)state;
	for (size_t i = 0; i < COUNT(fields); i++) {
		struct hint hint = found(&hint_default, fields[i]);

		assert_false(hint.valid);
		assert_int_equal(hint.wait_ms, 0);
	}
}

static void
find_in_repeated_fields_takes_the_longest(void **state)
{
	(void)state;
	assert_found("Retry-After: 2\r\nRetry-After: 9\r\nX: y\r\n"
		     "retry-after: 4, 3\r\nRetry-After: never\r\n",
	    9000, "retry-after");
	assert_found("Retry-After: 2\r\n"
		     "Retry-After: Tue, 01 Jan 2030 00:00:10 GMT\r\n",
	    10000, "retry-after");
}

static void
find_measures_dates_against_date_and_age(void **state)
{
	(void)state;
	assert_found("Date: Tue, 01 Jan 2030 05:00:00 GMT\r\n"
		     "Retry-After: Tue, 01 Jan 2030 05:00:10 GMT\r\n",
	    10000, "retry-after"); /* C07 */
	assert_found("Retry-After: Tue, 01 Jan 2030 05:00:10 GMT\r\nAge: 4\r\n"
		     "Date: Tue, 01 Jan 2030 05:00:00 GMT\r\n",
	    6000, "retry-after");
	assert_found("Retry-After: 10\r\nAge: 4\r\n"
		     "Date: Tue, 01 Jan 2030 05:00:00 GMT\r\n",
	    10000, "retry-after");
	assert_false(found(&hint_default,
	    "Date: Tue, 01 Jan 2030 00:00:20 GMT\r\n"
	    "Retry-After: Tue, 01 Jan 2030 00:00:10 GMT\r\n")
			 .valid);
}

static void
clock_of_takes_only_what_it_can_read(void **state)
{
	static const struct {
		const char *fields;
		int64_t date_ms, age_ms;
	} cases[] = {
	    {"", -1, 0},
	    {"Date: Tue, 01 Jan 2030 00:00:20 GMT\r\n", NOW_MS + 20000, 0},
	    {"Date: today\r\nAge: -1\r\n", -1, 0},
	    {"Date:\r\nAge:\r\n", -1, 0},
	    {"Age: 3\r\n", -1, 3000},
	    {"Age: 3.5\r\n", -1, 0},
	    {"Age: " NINES "\r\n", -1, FOREVER},
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct hint_clock at;
		struct head h;

		(void)snprintf(text, sizeof(text), "HTTP/1.1 503 X\r\n%s\r\n",
		    cases[i].fields);
		h = parsed(text);
		at = hint_clock_of(&h, NOW_MS);
		assert_int_equal(at.wall_ms, NOW_MS);
		assert_int_equal(at.date_ms, cases[i].date_ms);
		assert_int_equal(at.age_ms, cases[i].age_ms);
	}
}

static void
find_follows_a_users_own_table(void **state)
{
	static const struct hint_source v[] = {
	    {{"X-RateLimit-Reset", 17}, HINT_EPOCH, HINT_LIMIT},
	    {{"x-ratelimit-reset", 17}, HINT_S, HINT_LIMIT},
	    {{"retry-after", 11}, HINT_MS, HINT_WAIT},
	};
	static const struct hint_cfg own = {v, COUNT(v)};
	static const struct hint_cfg none = {NULL, 0};

	(void)state;
	assert_int_equal(found(&own, "x-ratelimit-reset: 1893456007\r\n")
			     .wait_ms,
	    7000);
	assert_int_equal(found(&own, "x-ratelimit-reset: 30\r\n").wait_ms,
	    30000);
	assert_int_equal(found(&own, "Retry-After: 30\r\n").wait_ms, 30);
	assert_false(found(&none, "Retry-After: 30\r\n").valid);
}

static void
format_names_read_back(void **state)
{
	static const char *const names[HINT_FORMAT_COUNT] = {[HINT_AUTO] =
								 "auto",
	    [HINT_S] = "s",
	    [HINT_MS] = "ms",
	    [HINT_HTTP_DATE] = "http-date",
	    [HINT_EPOCH] = "epoch",
	    [HINT_EPOCH_MS] = "epoch-ms",
	    [HINT_ISO8601] = "iso8601",
	    [HINT_DURATION] = "duration",
	    [HINT_JS_DATE] = "js-date",
	    [HINT_TEXT] = "text",
	    [HINT_SF] = "sf",
	    [HINT_PAIRS] = "pairs"};
	enum hint_format f;

	(void)state;
	for (int i = 0; i < HINT_FORMAT_COUNT; i++) {
		assert_string_equal(hint_format_name((enum hint_format)i),
		    names[i]);
		assert_int_equal(hint_format_parse(span_of(names[i]), &f), 0);
		assert_int_equal(f, i);
	}
	assert_int_equal(hint_format_parse(SPAN(""), &f), -1);
	assert_int_equal(hint_format_parse(SPAN("m"), &f), -1);
	assert_int_equal(hint_format_parse(SPAN("epoch-"), &f), -1);
	assert_int_equal(hint_format_parse(SPAN("S"), &f), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(value_of_rubbish_is_no_hint),
	    cmocka_unit_test(value_with_nul_or_unit_after_it_is_no_hint),
	    cmocka_unit_test(value_in_seconds_is_exact_and_rounded_up),
	    cmocka_unit_test(value_in_milliseconds_is_exact_and_rounded_up),
	    cmocka_unit_test(value_of_duration_is_the_sum_of_its_terms),
	    cmocka_unit_test(value_relative_is_not_measured_against_any_clock),
	    cmocka_unit_test(value_of_http_date_is_the_time_until_then),
	    cmocka_unit_test(value_of_epoch_is_the_time_until_then),
	    cmocka_unit_test(value_of_iso8601_is_the_time_until_then),
	    cmocka_unit_test(value_of_iso8601_knows_leap_years),
	    cmocka_unit_test(value_absolute_is_measured_by_the_servers_clock),
	    cmocka_unit_test(value_in_auto_is_told_by_its_shape),
	    cmocka_unit_test(value_in_auto_too_large_for_a_date_is_seconds),
	    cmocka_unit_test(value_joined_by_commas_is_the_longest_valid),
	    cmocka_unit_test(find_prefers_the_sources_in_order),
	    cmocka_unit_test(find_reads_names_in_any_case),
	    cmocka_unit_test(find_without_valid_value_is_no_hint),
	    cmocka_unit_test(find_in_repeated_fields_takes_the_longest),
	    cmocka_unit_test(find_measures_dates_against_date_and_age),
	    cmocka_unit_test(clock_of_takes_only_what_it_can_read),
	    cmocka_unit_test(find_follows_a_users_own_table),
	    cmocka_unit_test(format_names_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

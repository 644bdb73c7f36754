/* SPDX-License-Identifier: MIT */
/*
 * Waits in words for people. It is 2030-01-01T00:00:00Z.
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

struct sample {
	const char *text;
	int64_t want;
};

static void
assert_samples(const struct sample *v, size_t n)
{
	static const struct hint_clock clk = {.wall_ms = NOW_MS, .date_ms = -1};

	for (size_t i = 0; i < n; i++) {
		int64_t ms = NONE;

		if (hint_text(span_of(v[i].text), &clk, &ms) != 0)
			assert_int_equal(ms, NONE); /* untouched */
		if (ms != v[i].want)
			fail_msg("\"%s\": %lld, not %lld", v[i].text,
			    (long long)ms, (long long)v[i].want);
	}
}

static void
text_with_a_unit_is_read_up_to_its_end(void **state)
{
	static const struct sample v[] = {
	    {"37 seconds.", 37000},
	    {" 37 seconds", 37000},
	    {": \"37\" seconds", 37000},
	    {"34.07s.", 34070},
	    {"34.074824224s", 34075},
	    {"900ms", 900},
	    {"1 second", 1000},
	    {"5 Sec", 5000},
	    {"5\tsecs", 5000},
	    {"5\nminutes", 300000},
	    {"1.5 minutes", 90000},
	    {"2 hours", 7200000},
	    {"1 day", DAY_MS},
	    {"1 week", 7 * DAY_MS},
	    {"1 hour, 5 minutes and 3 seconds", 3903000},
	    {"1h 5m 3s", 3903000},
	    {"1h5m3s!", 3903000},
	    {"20 seconds, 3 tries left", 20000},
	    {"20 seconds and then 3 minutes", 20000},
	    {"20 seconds. 30 seconds", 20000},
	    {"1,200 ms", 1200},
	    {"1,234,567 ms", 1234567},
	    {"2500\xc2\xb5s", 3},
	    {"0.5 us 0.5 us", 1},
	    {"5 s</p>", 5000},
	    {"5s\\\"}", 5000},
	    {"99999999999999999999999999 weeks", FOREVER},
	};

	(void)state;
	assert_samples(v, COUNT(v));
}

static void
text_with_an_unknown_end_is_no_hint(void **state)
{
	static const struct sample v[] = {
	    {"", NONE},
	    {" \t\r\n", NONE},
	    {"\"", NONE},
	    {"soon", NONE},
	    {"5 fortnights", NONE},
	    {"5 Sekunden", NONE},
	    {"5 months", NONE},
	    {"5x", NONE},
	    {"5e3", NONE},
	    {"5e3 s", NONE},
	    {"0x5", NONE},
	    {"5 or 6", NONE},
	    {"5 6", NONE},
	    {"5-6", NONE},
	    {"5 - 6", NONE},
	    {"5/6", NONE},
	    {"5:30", NONE},
	    {"1.2.3", NONE},
	    {"1m30", NONE},
	    {"-5", NONE},
	    {"-5 s", NONE},
	    {"+5", NONE},
	    {"0", NONE},
	    {"0 seconds", NONE},
	    {"0.0s", NONE},
	    {".5 s", NONE},
	    {"5%", NONE},
	    {"5_000", NONE},
	    {"1,2 s", NONE},
	    {"1,2000 s", NONE},
	    {"5\xc3\xa9", NONE},
	    {"5 \xe7\xa7\x92", NONE},
	};

	(void)state;
	assert_samples(v, COUNT(v));
}

static void
text_with_a_number_alone_is_seconds_or_an_epoch(void **state)
{
	static const struct sample v[] = {{"5", 5000}, {"5.", 5000},
	    {"5. Then", 5000}, {"5,", 5000}, {"5, please", 5000}, {"5)", 5000},
	    {"5\"}", 5000}, {"5.\"}", 5000}, {"64.57}", 64570}, {"\"5\"", 5000},
	    {"=5;", 5000}, {"5 (five)", 5000}, {"1,200", 1200000},
	    {"1893456007", 7000}, {"1893456007000", 7000}, {"1000000000", NONE},
	    {"5 \n", 5000}};

	(void)state;
	assert_samples(v, COUNT(v));
}

static void
text_with_a_date_is_the_time_until_then(void **state)
{
	static const struct sample v[] = {
	    {"2030-01-01 00:00:10 UTC", 10000},
	    {"2030-01-01 00:00:10 UTC.", 10000},
	    {"2030-01-01 00:00:10.5", 10500},
	    {"2030-01-01 00:00:10. Bye", 10000},
	    {"2030-01-01T00:00:10Z\"", 10000},
	    {"2030-01-01 at 00:00 UTC", 60000},
	    {"2030-01-01 at 00:01 GMT", 120000},
	    {"2030-01-01T01:00:10+01:00", 10000},
	    {"2030-01-01 01:00:10 +0100", 10000},
	    {"2030-01-01 01:00:10 GMT+0100", 10000},
	    {"2030-01-01 00:00:10 or later", 10000},
	    {"2030-02-05 00:00:00 UTC", 35 * DAY_MS},
	    {"2030-02-05 00:00:01 UTC", NONE},
	    {"2029-12-31 23:00:00 UTC", NONE},
	    {"2030-01-02", NONE},
	    {"2030-01-02.", NONE},
	    {"2030-01-02 PST", NONE},
	    {"2030-01-02 at noon", NONE},
	    {"2030-01-01 10:00 PST", NONE},
	    {"2030-01-01 10:00 PM", NONE},
	    {"2030-01-01 10:00pm", NONE},
	    {"2030-01-01 10:00 GMT+1", NONE},
	    {"2030-13-01 10:00", NONE},
	    {"2030/01/02 10:00", NONE},
	    {"2030-01-01 00:00:00:10", NONE},
	};

	(void)state;
	assert_samples(v, COUNT(v));
}

static void
text_with_a_nul_in_it_ends_there(void **state)
{
	static const struct hint_clock clk = {.wall_ms = NOW_MS, .date_ms = -1};
	int64_t ms;

	(void)state;
	assert_int_equal(hint_text(SPAN("\0005"), &clk, &ms), -1);
	assert_int_equal(hint_text(SPAN("5\0"), &clk, &ms), -1);
	assert_int_equal(hint_text((struct span){NULL, 0}, &clk, &ms), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_with_a_unit_is_read_up_to_its_end),
	    cmocka_unit_test(text_with_an_unknown_end_is_no_hint),
	    cmocka_unit_test(text_with_a_number_alone_is_seconds_or_an_epoch),
	    cmocka_unit_test(text_with_a_date_is_the_time_until_then),
	    cmocka_unit_test(text_with_a_nul_in_it_ends_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

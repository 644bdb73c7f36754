/* SPDX-License-Identifier: MIT */
/* Dates as ISO 8601 writes them, and how sharp they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/instant.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW_MS INT64_C(1893456000000) /* 2030-01-01T00:00:00Z */

static void
parse_tells_when_and_how_sharply(void **state)
{
	static const struct {
		const char *text;
		int64_t ms, vague_ms;
	} cases[] = {
	    {"2030-01-01", NOW_MS, INSTANT_DAY_MS},
	    {"20300101", NOW_MS, INSTANT_DAY_MS},
	    {"2030-01-01T00:02Z", NOW_MS + 120000, INSTANT_MINUTE_MS},
	    {"20300101T0002-0130", NOW_MS + 5520000, INSTANT_MINUTE_MS},
	    {"2030-01-01T00:00:08Z", NOW_MS + 8000, 0},
	    {"20300101T000008Z", NOW_MS + 8000, 0},
	    {"2030-01-01T00:00:08.999Z", NOW_MS + 8999, 0},
	    {"2030-01-01T00:00:08.9990Z", NOW_MS + 8999, 0},
	    {"2030-01-01T00:00:08.9991Z", NOW_MS + 8999, 1},
	    {"2030-01-01T00:00:08.9Z", NOW_MS + 8900, 0},
	    {"2030-01-01T00:00:08.09Z", NOW_MS + 8090, 0},
	    {"1970-01-01T00:00:00Z", 0, 0},
	    {"1970-01-01T00:00:00+00:01", -60000, 0},
	    {"9999-12-31T23:59:59Z", INT64_C(253402300799000), 0},
	    {"2028-02-29T12:34:56Z", INT64_C(1835440496000), 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct instant at = {.ms = 0};

		assert_int_equal(instant_parse(span_of(cases[i].text), &at), 0);
		assert_int_equal(at.ms, cases[i].ms);
		assert_int_equal(at.vague_ms, cases[i].vague_ms);
	}
}

/* Every beginning of a date is a date only where it is one by design. */
static void
parse_of_a_cut_date_fails_or_is_vaguer(void **state)
{
	static const char whole[] = "2030-01-01T00:00:08.5+00:00";
	static const size_t legal[] = {10, 16, 19, 21, 24, 27};

	(void)state;
	for (size_t n = 0, k = 0; n < sizeof(whole); n++) {
		struct instant at = {.ms = 7};
		bool want = k < COUNT(legal) && n == legal[k];

		assert_int_equal(instant_parse((struct span){whole, n}, &at),
		    want ? 0 : -1);
		if (want)
			k++;
		else
			assert_int_equal(at.ms, 7);
	}
}

static void
parse_of_what_no_calendar_has_fails(void **state)
{
	static const char *const texts[] = {"1969-12-31T23:59:59Z",
	    "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z",
	    "2030-00-01T00:00:00Z", "2030-13-01T00:00:00Z",
	    "2030-01-00T00:00:00Z", "2030-01-32T00:00:00Z",
	    "2030-12-32T00:00:00Z", "2030-04-31T00:00:00Z",
	    "2030-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
	    "2030-01-01T24:00:00Z", "2030-01-01T00:60:00Z",
	    "2030-01-01T00:00:61Z", "2030-01-01T00:00:00-24:00",
	    "2030-01-01T00:00:00-00:60"};
	struct instant at;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(instant_parse(span_of(texts[i]), &at), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parse_tells_when_and_how_sharply),
	    cmocka_unit_test(parse_of_a_cut_date_fails_or_is_vaguer),
	    cmocka_unit_test(parse_of_what_no_calendar_has_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

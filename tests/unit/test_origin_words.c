/* SPDX-License-Identifier: MIT */
/*
 * What people write for the simulator (values, steps, parameters), and what it
 * writes for them (hints).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "origin/amount.h"
#include "origin/crc.h"
#include "origin/wish.h"

#define S INT64_C(1000000000)
#define MS INT64_C(1000000)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define WALL (INT64_C(784111777) * S + 250 * MS) /* 1994-11-06 08:49:37.25 */

static void
amount_time_reads_units_and_nothing_else(void **state)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: refused */
	} t[] = {
	    {"0", 0},
	    {"2", 2 * S},
	    {"250ms", 250 * MS},
	    {"1.5s", 1500 * MS},
	    {"0.5", 500 * MS},
	    {"1.000000001s", S + 1},
	    {"1.5ms", 1500000},
	    {"0.1ns", 1},
	    {"10us", 10000},
	    {"5min", 300 * S},
	    {"1.5h", 5400 * S},
	    {"1d", 86400 * S},
	    {"366d", 366 * 86400 * S},
	    {"366.000000001d", -1},
	    {"367d", -1},
	    {"99999999999999999999", -1},
	    {"", -1},
	    {"s", -1},
	    {"-1s", -1},
	    {"+1s", -1},
	    {"1.s", -1},
	    {".5s", -1},
	    {"1 s", -1},
	    {"1m", -1},
	    {"1S", -1},
	    {"1.0000000001s", -1},
	    {"1e3", -1},
	};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		ns = -1;
		if (amount_time(span_of(t[i].text), &ns) < 0)
			ns = -1;
		if (ns != t[i].ns)
			fail_msg("'%s' is %lld", t[i].text, (long long)ns);
	}
}

static void
amount_rate_is_a_count_in_a_period(void **state)
{
	static const struct {
		const char *text;
		uint32_t count; /* 0: refused */
		int64_t period_ns;
	} t[] = {
	    {"200/s", 200, S},
	    {"90/min", 90, 60 * S},
	    {"10000/day", 10000, 86400 * S},
	    {"1.5/s", 15, 10 * S},
	    {"0.25/s", 25, 100 * S},
	    {"5/250ms", 5, 250 * MS},
	    {"100/10s", 100, 10 * S},
	    {"7/h", 7, 3600 * S},
	    {"1000000000/s", 1000000000, S},
	    {"1000000001/s", 0, 0},
	    {"0/s", 0, 0},
	    {"0.0/s", 0, 0},
	    {"5/0s", 0, 0},
	    {"5", 0, 0},
	    {"5/", 0, 0},
	    {"/s", 0, 0},
	    {"5/x", 0, 0},
	    {"-5/s", 0, 0},
	    {"0.001/366d", 0, 0},
	};
	uint32_t count;
	int64_t period_ns;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		count = 0;
		period_ns = 0;
		if (amount_rate(span_of(t[i].text), &count, &period_ns) < 0)
			count = 0;
		if (count != t[i].count ||
		    (count != 0 && period_ns != t[i].period_ns))
			fail_msg("'%s' is %u in %lld", t[i].text, count,
			    (long long)period_ns);
	}
}

static void
amount_bytes_reads_binary_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t n; /* 1: refused */
	} t[] = {
	    {"0", 0},
	    {"1000", 1000},
	    {"64KiB", 65536},
	    {"1MiB", 1048576},
	    {"1024GiB", UINT64_C(1) << 40},
	    {"1025GiB", 1},
	    {"1KB", 1},
	    {"", 1},
	    {"KiB", 1},
	    {"-1", 1},
	    {"1.5MiB", 1},
	};
	uint64_t n;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		n = 1;
		if (amount_bytes(span_of(t[i].text), &n) < 0)
			n = 1;
		if (n != t[i].n)
			fail_msg("'%s' is %llu", t[i].text,
			    (unsigned long long)n);
	}
}

static void
script_steps_come_in_order(void **state)
{
	static const int want[] = {429, 429, 503, 200};
	struct script sc = {.n = 0};
	const char *why;

	(void)state;
	assert_int_equal(script_parse(&sc, SPAN("429:1.5*2,503,200"), &why), 0);
	for (uint64_t i = 0; i < COUNT(want); i++)
		assert_int_equal(script_at(&sc, i)->status, want[i]);
	assert_int_equal(script_at(&sc, 0)->hint_ns, 1500 * MS);
	assert_int_equal(script_at(&sc, 2)->hint_ns, -1);
	assert_null(script_at(&sc, 4));
	sc.loop = true;
	assert_int_equal(script_at(&sc, 4)->status, 429);
	assert_int_equal(script_at(&sc, 6)->status, 503);
}

static void
script_with_a_star_never_ends(void **state)
{
	struct script sc = {.loop = true};
	const char *why;

	(void)state;
	assert_int_equal(script_parse(&sc, SPAN("rst,503*"), &why), 0);
	assert_int_equal(script_at(&sc, 0)->kind, STEP_RST);
	assert_int_equal(script_at(&sc, UINT64_MAX - 1)->status, 503);
}

static void
script_that_is_no_script_is_refused(void **state)
{
	static const char *const t[] = {"", "99", "199", "600", "abc",
	    "429:", "429:x", "close:2", "429*0", "429*x", "429,", "429**2"};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		struct script sc = {.n = 0};
		const char *why;

		if (script_parse(&sc, span_of(t[i]), &why) == 0)
			fail_msg("'%s' was taken", t[i]);
	}
}

static void
hint_forms_round_up_and_say_what_they_promise(void **state)
{
	static const struct {
		const char *word;
		int64_t wait_ns;
		const char *lines;
		int64_t told_ns;
	} t[] = {
	    {"none", S, "", -1},
	    {"seconds", 1, "Retry-After: 1\r\n", S},
	    {"seconds", S, "Retry-After: 1\r\n", S},
	    {"seconds", S + 1, "Retry-After: 2\r\n", 2 * S},
	    {"fraction", 1250 * MS + 1, "Retry-After: 1.251\r\n", 1251 * MS},
	    {"ms", 750 * MS, "retry-after-ms: 750\r\n", 750 * MS},
	    {"x-ms", 1, "x-ms-retry-after-ms: 1\r\n", MS},
	    {"amz", 1500 * MS, "x-amz-retry-after: 1500\r\n", 1500 * MS},
	    {"date", S, "Retry-After: Sun, 06 Nov 1994 08:49:39 GMT\r\n",
		1750 * MS},
	    {"date", 750 * MS, "Retry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n",
		750 * MS},
	    {"date850", S, "Retry-After: Sunday, 06-Nov-94 08:49:39 GMT\r\n",
		1750 * MS},
	    {"asctime", S, "Retry-After: Sun Nov  6 08:49:39 1994\r\n",
		1750 * MS},
	    {"epoch", S,
		"x-ratelimit-limit: 9\r\nx-ratelimit-remaining: 0\r\n"
		"x-ratelimit-reset: 784111779\r\n",
		1750 * MS},
	    {"epoch-ms", S + 1,
		"x-ratelimit-limit: 9\r\nx-ratelimit-remaining: 0\r\n"
		"x-ratelimit-reset: 784111778251\r\n",
		1001 * MS},
	    {"iso8601", S,
		"x-ratelimit-limit: 9\r\nx-ratelimit-remaining: 0\r\n"
		"x-ratelimit-reset: 1994-11-06T08:49:39Z\r\n",
		1750 * MS},
	    {"delta", S + 1,
		"x-ratelimit-limit: 9\r\nx-ratelimit-remaining: 0\r\n"
		"x-ratelimit-reset: 2\r\n",
		2 * S},
	    {"reset-after", 342 * MS,
		"x-ratelimit-limit: 9\r\nx-ratelimit-remaining: 0\r\n"
		"x-ratelimit-reset-after: 0.342\r\n",
		342 * MS},
	    {"duration", 120 * MS,
		"x-ratelimit-limit-requests: 9\r\n"
		"x-ratelimit-remaining-requests: 0\r\n"
		"x-ratelimit-reset-requests: 120ms\r\n",
		120 * MS},
	    {"duration", 179560 * MS,
		"x-ratelimit-limit-requests: 9\r\n"
		"x-ratelimit-remaining-requests: 0\r\n"
		"x-ratelimit-reset-requests: 2m59.560s\r\n",
		179560 * MS},
	    {"ratelimit", S,
		"RateLimit-Policy: \"default\";q=9;w=60\r\n"
		"RateLimit: \"default\";r=0;t=1\r\n",
		S},
	    {"ratelimit-07", S + 1,
		"RateLimit-Policy: 9;w=60\r\n"
		"RateLimit: limit=9, remaining=0, reset=2\r\n",
		2 * S},
	    {"ratelimit-03", S,
		"RateLimit-Limit: 9\r\nRateLimit-Remaining: 0\r\n"
		"RateLimit-Reset: 1\r\n",
		S},
	};
	const struct advice_quota q = {.limit = 9, .window_ns = 60 * S};
	struct strbuf out;
	enum advice_form f;
	int64_t told_ns;

	(void)state;
	strbuf_init(&out, 1000);
	for (size_t i = 0; i < COUNT(t); i++) {
		strbuf_clear(&out);
		assert_int_equal(advice_form_parse(span_of(t[i].word), &f), 0);
		told_ns = advice_put(&out, f, t[i].wait_ns, WALL, &q);
		if (told_ns != t[i].told_ns ||
		    !span_eq(strbuf_view(&out), span_of(t[i].lines)))
			fail_msg("%s: told %lld: %.*s", t[i].word,
			    (long long)told_ns, SPAN_ARG(strbuf_view(&out)));
	}
	strbuf_free(&out);
	assert_int_equal(advice_form_parse(SPAN("second"), &f), -1);
}

static int
parse(struct wish *w, const char *query, struct strbuf *why)
{
	strbuf_clear(why);
	wish_init(w);
	if (wish_query(w, span_of(query), why) < 0)
		return -1;
	return wish_check(w, why);
}

static void
query_sets_what_it_says(void **state)
{
	struct wish w;
	struct strbuf why;

	(void)state;
	strbuf_init(&why, 1000);
	assert_int_equal(
	    parse(&w,
		"rate=200/s&burst=20&rate=90/min+burst+10&&"
		"status=503&hint=date&key=a%2fb+c&h=X-A%3A%20b&h=X-C:d&chunked&"
		"at=5&fail=2&after=3",
		&why),
	    0);
	assert_int_equal(w.nrates, 2);
	assert_int_equal(w.rates[0].burst, 20);
	assert_int_equal(w.rates[1].count, 90);
	assert_int_equal(w.rates[1].burst, 10);
	assert_int_equal(w.status, 503);
	assert_int_equal(w.hint, ADVICE_DATE);
	assert_true(span_eq(strbuf_view(&w.key), SPAN("a/b c")));
	assert_true(span_eq(strbuf_view(&w.h), SPAN("X-A: b\r\nX-C: d\r\n")));
	assert_int_equal(w.framing, FRAME_CHUNKED);
	assert_true(w.has_at);
	assert_int_equal(w.script.n, 1);
	assert_int_equal(w.script.v[0].status, 503);
	assert_int_equal(w.script.v[0].times, 2);
	assert_int_equal(w.script.v[0].hint_ns, 3 * S);
	wish_free(&w);
	strbuf_free(&why);
}

static void
query_that_can_not_be_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *query, *why;
	} t[] = {
	    {"rat=1/s", "no such parameter: 'rat'"},
	    {"rate=1", "rate can't be '1': a rate is N/s"},
	    {"burst=0&rate=1/s", "burst can't be '0': a number from 1"},
	    {"window=fixed&rate=1/s&burst=2", "burst goes with window=bucket"},
	    {"window=leaky", "window can't be 'leaky': one of bucket, fixed"},
	    {"status=600", "status can't be '600': a number from 200 to 599"},
	    {"hint=soon", "hint can't be 'soon': one of none, seconds"},
	    {"h=X-A", "h can't be 'X-A': a header is written NAME:VALUE"},
	    {"h=X-A:b%0d%0aEvil:1", "h can't be 'X-A:b\\x0d\\x0aEvil:1'"},
	    {"key=%0a", "key can't be '\\x0a'"},
	    {"by=cookie", "by is one of client, path"},
	    {"by=header:", "by is one of client, path"},
	    {"rate=1/s&rate=2/s&rate=3/s&rate=4/s&rate=5/s", "rate can't be"},
	    {"rate=1/s&burst=1000000000&rate=1/day&burst=1000000",
		"burst x period is too large"},
	};
	struct wish w;
	struct strbuf why;

	(void)state;
	strbuf_init(&why, 1000);
	for (size_t i = 0; i < COUNT(t); i++) {
		if (parse(&w, t[i].query, &why) == 0 ||
		    !span_starts(strbuf_view(&why), span_of(t[i].why)))
			fail_msg("%s: %.*s", t[i].query,
			    SPAN_ARG(strbuf_view(&why)));
		wish_free(&w);
	}
	strbuf_free(&why);
}

static void
words_of_a_rule_are_the_same_parameters(void **state)
{
	struct wish w, copy;
	struct strbuf why;

	(void)state;
	strbuf_init(&why, 1000);
	wish_init(&w);
	assert_int_equal(wish_words(&w,
			     SPAN(" 200/s burst 20  90/min status "
				  "503 by header:X-Key n 10 "),
			     &why),
	    0);
	assert_int_equal(wish_check(&w, &why), 0);
	assert_int_equal(w.nrates, 2);
	assert_int_equal(w.rates[0].burst, 20);
	assert_int_equal(w.rates[1].burst, 1);
	assert_int_equal(w.n, 10);
	assert_int_equal(wish_copy(&copy, &w), 0);
	wish_free(&w);
	assert_true(span_eq(strbuf_view(&copy.by), SPAN("header:X-Key")));
	assert_int_equal(copy.rates[0].count, 200);
	assert_int_equal(wish_words(&copy, SPAN("5/s status"), &why), -1);
	assert_true(
	    span_eq(strbuf_view(&why), SPAN("no value after 'status'")));
	wish_free(&copy);
	strbuf_free(&why);
}

static void
crc32_is_that_of_zlib_in_any_pieces(void **state)
{
	uint32_t crc = crc32_add(0, SPAN("123456789"));

	(void)state;
	assert_int_equal(crc, 0xcbf43926);
	crc = crc32_add(crc32_add(0, SPAN("1234")), SPAN("56789"));
	assert_int_equal(crc, 0xcbf43926);
	assert_int_equal(crc32_add(0, SPAN("")), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(amount_time_reads_units_and_nothing_else),
	    cmocka_unit_test(amount_rate_is_a_count_in_a_period),
	    cmocka_unit_test(amount_bytes_reads_binary_units),
	    cmocka_unit_test(script_steps_come_in_order),
	    cmocka_unit_test(script_with_a_star_never_ends),
	    cmocka_unit_test(script_that_is_no_script_is_refused),
	    cmocka_unit_test(hint_forms_round_up_and_say_what_they_promise),
	    cmocka_unit_test(query_sets_what_it_says),
	    cmocka_unit_test(query_that_can_not_be_is_refused_with_a_reason),
	    cmocka_unit_test(words_of_a_rule_are_the_same_parameters),
	    cmocka_unit_test(crc32_is_that_of_zlib_in_any_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

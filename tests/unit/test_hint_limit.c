/* SPDX-License-Identifier: MIT */
/*
 * Limits that a response tells of: which of them is used up, and what is left
 * of the tightest. It is 2030-01-01T00:00:00Z. docs/HINTS.md has the usual
 * cases, and test_hints_doc.c reads them there; here is what is odd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/hint.h"
#include "policy/hint_name.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW_MS INT64_C(1893456000000)
#define NONE (-1)

static const struct hint_clock clk = {.wall_ms = NOW_MS, .date_ms = -1};

static char text[65536]; /* the heads point into it */

static struct head
head_of(const char *fields)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	struct head_scan scan = {0};
	struct head h;
	const char *why = "";
	int n =
	    snprintf(text, sizeof(text), "HTTP/1.1 429 X\r\n%s\r\n", fields);

	assert_int_equal(head_response(text, (size_t)n, &scan, &limits, &h,
			     &why),
	    HEAD_OK);
	return h;
}

static int64_t
wait_of(const struct hint_cfg *cfg, const char *fields)
{
	struct head h = head_of(fields);
	struct hint hint = hint_find(cfg, &h, NOW_MS);

	assert_true(hint.valid || hint.wait_ms == 0);
	return hint.valid ? hint.wait_ms : NONE;
}

static struct hint_quota
quota_of(const struct hint_cfg *cfg, const char *fields)
{
	struct head h = head_of(fields);

	return hint_quota_find(cfg, &h, NOW_MS);
}

static struct hint_source
source_of(const char *word)
{
	struct hint_source source;
	const char *why;

	assert_int_equal(hint_source_parse(span_of(word), &source, &why), 0);
	return source;
}

/* --- what is left -------------------------------------------------------- */

static void
remaining_says_whether_its_limit_is_used_up(void **state)
{
	static const struct {
		const char *remaining;
		bool spent;
		int64_t left; /* NONE: nothing to learn */
	} cases[] = {
	    {"0", true, 0}, {"0.0", true, 0}, {"000", true, 0}, {"-0", true, 0},
	    {"1", false, 1}, {"0.5", false, 0}, {"587.0", false, 587},
	    {"-1", true, NONE}, {"-0.1", true, NONE}, {"0;w=60", true, 0},
	    {"76 ;w=21600", false, 76}, {"5, 0", true, 0}, {"5, 3", false, 3},
	    {"", true, NONE}, {"unlimited", true, NONE},
	    {"5 requests", true, NONE}, {"5%", true, NONE}, {"+5", true, NONE},
	    {"1e3", true, NONE}, {"x, 7", false, 7},
	    {"99999999999999999999999999", false, -2}, /* saturates */
	};
	char fields[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct hint_quota q;

		(void)snprintf(fields, sizeof(fields),
		    "X-RateLimit-Remaining: %s\r\nX-RateLimit-Reset: 7\r\n",
		    cases[i].remaining);
		assert_int_equal(wait_of(&hint_default, fields),
		    cases[i].spent ? 7000 : NONE);
		q = quota_of(&hint_default, fields);
		assert_int_equal(q.valid, cases[i].left != NONE);
		if (cases[i].left >= 0)
			assert_int_equal(q.remaining, cases[i].left);
		else if (q.valid)
			assert_true(q.remaining == UINT64_MAX);
	}
}

static void
remaining_in_several_fields_counts_as_the_least(void **state)
{
	static const char fields[] = "x-ratelimit-remaining: 9\r\n"
				     "x-ratelimit-reset: 7\r\n"
				     "X-RateLimit-Remaining: 0\r\n"
				     "x-ratelimit-reset: 12\r\n";

	(void)state;
	assert_int_equal(wait_of(&hint_default, fields), 12000);
	assert_int_equal(quota_of(&hint_default, fields).remaining, 0);
}

static void
remaining_of_another_limit_says_nothing(void **state)
{
	(void)state;
	assert_int_equal(wait_of(&hint_default,
			     "x-ratelimit-remaining-tokens: 5\r\n"
			     "x-ratelimit-remaining: 5\r\n"
			     "x-ratelimit-reset-requests: 7s\r\n"),
	    7000);
	assert_int_equal(wait_of(&hint_default,
			     "ratelimit-remaining: 5\r\n"
			     "x-ratelimit-reset: 7\r\n"),
	    7000);
	assert_int_equal(wait_of(&hint_default,
			     "x-ratelimit-remaining-: 5\r\n"
			     "x-x-ratelimit-remaining: 5\r\n"
			     "x-ratelimit-remainin: 5\r\n"
			     "x-ratelimit-reset: 7\r\n"),
	    7000);
}

/* --- several ------------------------------------------------------------- */

static void
limits_used_up_count_as_the_longest_whatever_the_order(void **state)
{
	static const char *const parts[] = {
	    "anthropic-ratelimit-requests-reset: 2030-01-01T00:00:08Z\r\n"
	    "anthropic-ratelimit-requests-remaining: 0\r\n",
	    "anthropic-ratelimit-tokens-reset: 2030-01-01T00:00:30Z\r\n"
	    "anthropic-ratelimit-tokens-remaining: 0\r\n",
	    "anthropic-ratelimit-input-tokens-reset: 2030-01-01T00:01:00Z\r\n"
	    "anthropic-ratelimit-input-tokens-remaining: 1\r\n",
	    "RateLimit: \"x\";r=0;t=20\r\n",
	};
	char fields[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(parts); i++) {
		(void)snprintf(fields, sizeof(fields), "%s%s%s%s", parts[i],
		    parts[(i + 1) % 4], parts[(i + 2) % 4], parts[(i + 3) % 4]);
		assert_int_equal(wait_of(&hint_default, fields), 30000);
	}
}

static void
limit_told_twice_counts_by_the_first_valid_source(void **state)
{
	(void)state;
	assert_int_equal(wait_of(&hint_default,
			     "x-ratelimit-reset: 1893456009\r\n"
			     "x-ratelimit-reset-after: 0.342\r\n"),
	    342); /* C19 */
	assert_int_equal(wait_of(&hint_default,
			     "x-ratelimit-reset: 1893456009\r\n"
			     "x-ratelimit-reset-after: soon\r\n"),
	    9000);
}

static void
quota_is_the_one_with_least_for_its_time(void **state)
{
	struct hint_quota q;

	(void)state;
	q = quota_of(&hint_default,
	    "RateLimit: \"s\";r=9;t=1, \"m\";r=100;t=60, \"d\";r=0;t=0\r\n");
	assert_true(q.valid);
	assert_int_equal(q.remaining, 100);
	assert_int_equal(q.reset_ms, 60000);
	assert_int_equal(q.limit, 0);
	/* of two with nothing left the one that lasts */
	q = quota_of(&hint_default,
	    "RateLimit: \"s\";r=0;t=9, \"m\";r=0;t=60, \"d\";r=0;t=30\r\n");
	assert_int_equal(q.reset_ms, 60000);
	/* no overflow on the way */
	q = quota_of(&hint_default,
	    "x-ratelimit-reset: 999999999\r\n"
	    "x-ratelimit-remaining: 18446744073709551615\r\n"
	    "x-rate-limit-reset: 999999998\r\n"
	    "x-rate-limit-remaining: 18446744073709551614\r\n");
	assert_int_equal(q.reset_ms, INT64_C(999999999000));
}

static void
quota_without_both_numbers_is_none(void **state)
{
	static const char *const fields[] = {"", "Retry-After: 9\r\n",
	    "x-ratelimit-remaining: 5\r\n", "x-ratelimit-reset: 9\r\n",
	    "x-ratelimit-remaining: 5\r\nx-ratelimit-reset: 0\r\n",
	    "x-ratelimit-remaining: -5\r\nx-ratelimit-reset: 9\r\n",
	    "x-ratelimit-remaining: 5\r\nx-ratelimit-reset: 1893455999\r\n",
	    "RateLimit: \"a\";r=5\r\n", "RateLimit: \"a\";t=5\r\n",
	    "RateLimit: a;r=5;t=5,\r\n", "X-Request-Id: x\r\nAge: 5\r\n"};
	static const struct hint_cfg none = {NULL, 0};

	(void)state;
	for (size_t i = 0; i < COUNT(fields); i++)
		assert_false(quota_of(&hint_default, fields[i]).valid);
	assert_false(quota_of(&none, "RateLimit: \"a\";r=5;t=5\r\n").valid);
}

static void
quota_of_a_date_is_measured_against_date(void **state)
{
	struct hint_quota q = quota_of(&hint_default,
	    "Date: Tue, 01 Jan 2030 05:00:00 GMT\r\nAge: 2\r\n"
	    "x-ratelimit-remaining: 3\r\n"
	    "x-ratelimit-reset: 1893474010\r\n");

	(void)state;
	assert_true(q.valid);
	assert_int_equal(q.reset_ms, 8000);
}

/* --- structured fields --------------------------------------------------- */

static int64_t
value(const char *s, enum hint_format f)
{
	int64_t ms;

	return hint_value(span_of(s), f, &clk, &ms) ? NONE : ms;
}

static void
sf_that_is_well_formed_is_read(void **state)
{
	static const char *const good[] = {"\"api\";r=0;t=9", "\"api\";t=9;r=0",
	    "api;r=0;t=9", "1;r=0;t=9", "1.5;r=0;t=9", "?1;r=0;t=9",
	    ":YQ==:;r=0;t=9", "@5;r=0;t=9", "\"a, b; c\\\" \\\\\";r=0;t=9",
	    "\"api\"; r=0;  t=9", "\"api\";r=0;t=9\t, \"b\"",
	    "\"api\";r=5;r=0;t=1;t=9", "\"api\";r=0;t=8.001;t=9",
	    "\"api\";r;r=0;t=9", "\"api\";r=-1;t=9",
	    "\"a\";r=0;t=9;x=tok/en:*;y=?0;z=@1;q=\"\"", "\"a\";r=0.0;t=9",
	    "limit=10, remaining=0, reset=9",
	    "limit=10;w=60, remaining=0;x, reset=9;y=1", "reset=9,remaining=0",
	    "remaining=5, reset=9, remaining=0",
	    "limit=10, partial, remaining=0, reset=9"};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		if (value(good[i], HINT_SF) != 9000)
			fail_msg("%s", good[i]);
	}
	assert_int_equal(value("\"a\";r=0;t=0.5", HINT_SF), 500);
}

static void
sf_that_is_malformed_is_ignored_as_a_whole(void **state)
{
	static const char *const bad[] = {"", ",", "\"api\";r=0;t=9,",
	    "\"api\";r=0;t=9;", "\"api\";r=0;t=", "\"api;r=0;t=9",
	    "\"api\";r=0;t=9, \"b", "\"api\";r=0;t=9 \"b\"",
	    "\"api\";r=0;t=9,,\"b\"", "\"api\" ;r=0;t=9", "\"api\";R=0;t=9",
	    "\"api\";r=0;t=1234567890123456", "\"api\";r=0;t=9.",
	    "\"api\";r=0;t=0.1234", "\"api\";r=0;t=1234567890123.1",
	    "\"a\\x\";r=0;t=9", "\"a\x7f\";r=0;t=9", "(\"a\");r=0;t=9",
	    "?2;r=0;t=9", "@1.5;r=0;t=9", ":a;r=0;t=9", "-;r=0;t=9",
	    "remaining=0, reset=9,", "remaining=0, reset=", "=0",
	    "remaining=0, reset=9, \"x\"", "remaining=0; reset=9"};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (value(bad[i], HINT_SF) != NONE)
			fail_msg("%s", bad[i]);
	}
}

static void
pairs_are_read_freely(void **state)
{
	static const char *const good[] = {"total=100; remaining=0; resets=9",
	    "Remaining=0;RESET=9", " remaining = 0 ; resets = \"9\" ",
	    "b=x;q=1;r=0;t=9,", "junk, r=0;t=9", "r=0;t=9;junk;=;a=;=b",
	    "r=0;t=2030-01-01T00:00:09Z", "r=0;t=1893456009",
	    "b=\"x, y\";r=0;t=9", "r=0;t=9,r=1;t=99,r=0;t=3"};
	static const char *const bad[] = {"", "r=0", "t=9", "r=1;t=9",
	    "r=x;t=9", "r=0;t=x", "r=0,t=9", "100;w=21600", "used=32/40",
	    "r;t=9", "api-usage=18/5000"};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		if (value(good[i], HINT_PAIRS) != 9000)
			fail_msg("%s", good[i]);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (value(bad[i], HINT_PAIRS) != NONE)
			fail_msg("%s", bad[i]);
	}
}

/* --- names --------------------------------------------------------------- */

static void
name_with_stars_stands_for_any_run(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool want;
	} cases[] = {
	    {"abc", "ABC", true},
	    {"abc", "abcd", false},
	    {"a*c", "ac", true},
	    {"a*c", "AxxcxC", true},
	    {"a*c", "acd", false},
	    {"*-reset", "x-reset", true},
	    {"*-reset", "-reset", true},
	    {"*-reset", "reset", false},
	    {"x-*", "x-", true},
	    {"x-*", "y-", false},
	    {"a*b*c", "aXbXbXc", true},
	    {"a*b*c", "aXcXb", false},
	    {"**a**", "bab", true},
	    {"*", "", true},
	    {"a*", "", false},
	};
	char name[HINT_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(hint_name_matches(span_of(cases[i].pattern),
				     span_of(cases[i].name)),
		    cases[i].want);
	memset(name, 'a', sizeof(name));
	assert_true(
	    hint_name_matches(SPAN("a*a"), (struct span){name, HINT_NAME_MAX}));
	assert_false(hint_name_matches(SPAN("a*a"),
	    (struct span){name, HINT_NAME_MAX + 1}));
}

static void
name_of_a_reset_leads_to_its_siblings(void **state)
{
	static const struct {
		const char *reset, *remaining;
	} same[] = {
	    {"x-ratelimit-reset", "X-RateLimit-Remaining"},
	    {"X-RateLimit-Reset-After", "x-ratelimit-remaining"},
	    {"x-ratelimit-reset-at", "x-ratelimit-remaining"},
	    {"x-reset-in", "x-remaining"},
	    {"RateLimit-ResetTime", "RateLimit-Remaining"},
	    {"x-reset-time", "x-remaining"},
	    {"x-reset-ms", "x-remaining"},
	    {"x-reset-after-tokens", "x-remaining-after-tokens"},
	    {"x-ratelimit-requests-reset", "x-ratelimit-requests-remaining"},
	    {"reset", "remaining"},
	    {"x-reset-reset", "x-remaining-reset"},
	};
	struct hint_name name, other;

	(void)state;
	for (size_t i = 0; i < COUNT(same); i++) {
		assert_true(hint_name_of_reset(span_of(same[i].reset), &name));
		if (!hint_name_is(&name, SPAN("remaining"),
			span_of(same[i].remaining)))
			fail_msg("%s", same[i].reset);
	}
	assert_false(hint_name_of_reset(SPAN("x-ratelimit-rese"), &name));
	assert_false(hint_name_of_reset(SPAN(""), &name));
	assert_true(hint_name_of_reset(SPAN("X-RateLimit-Reset"), &name));
	assert_true(
	    hint_name_of_reset(SPAN("x-ratelimit-reset-after"), &other));
	assert_true(hint_name_same(&name, &other));
	assert_true(
	    hint_name_of_reset(SPAN("x-ratelimit-reset-tokens"), &other));
	assert_false(hint_name_same(&name, &other));
}

/* --- a table of one's own ------------------------------------------------ */

static void
source_of_a_wait_goes_before_limits_wherever_it_stands(void **state)
{
	struct hint_source v[] = {source_of("x-reset:s"),
	    source_of("retry-after:auto")};
	struct hint_cfg own = {v, 2};

	(void)state;
	assert_int_equal(wait_of(&own, "x-reset: 9\r\nRetry-After: 3\r\n"),
	    3000);
	v[0] = source_of("x-reset:s!");
	assert_int_equal(wait_of(&own, "x-reset: 9\r\nRetry-After: 3\r\n"),
	    9000);
}

static void
source_with_a_mark_waits_whatever_is_left(void **state)
{
	struct hint_source v[] = {source_of("x-reset:s!"),
	    source_of("x-all:pairs ! ")};
	struct hint_cfg own = {v, 2};

	(void)state;
	assert_int_equal(wait_of(&own, "x-reset: 9\r\nx-remaining: 5\r\n"),
	    9000);
	assert_int_equal(wait_of(&own, "x-all: r=1;t=4,r=0;t=2\r\n"), 4000);
	/* it still tells of a limit */
	assert_int_equal(quota_of(&own, "x-reset: 9\r\nx-remaining: 5\r\n")
			     .remaining,
	    5);
}

static void
source_with_a_star_reads_all_that_match(void **state)
{
	struct hint_source v[] = {source_of("x-*-reset:epoch-ms"),
	    source_of("*-wait:s")};
	struct hint_cfg own = {v, 2};

	(void)state;
	assert_int_equal(wait_of(&own,
			     "X-Complexity-Reset: 1893456009000\r\n"
			     "X-Complexity-Remaining: 0\r\n"
			     "X-Requests-Reset: 1893456005000\r\n"
			     "X-Requests-Remaining: 0\r\n"),
	    9000);
	assert_int_equal(wait_of(&own, "a-wait: 1\r\nb-wait: 2\r\n"), 2000);
}

static void
source_words_are_read_or_refused(void **state)
{
	static const struct {
		const char *word;
		enum hint_format format;
		enum hint_kind kind;
	} good[] = {
	    {"a:s", HINT_S, HINT_WAIT},
	    {" a : auto ", HINT_AUTO, HINT_WAIT},
	    {"x-Reset:auto", HINT_AUTO, HINT_LIMIT},
	    {"x-reset:auto!", HINT_AUTO, HINT_RESET},
	    {"ratelimit:sf", HINT_SF, HINT_LIMIT},
	    {"q:pairs!", HINT_PAIRS, HINT_RESET},
	    {"*-reset:text", HINT_TEXT, HINT_LIMIT},
	};
	static const char *const bad[] = {"", "a", ":s", "a:", "a b:s", "a:x",
	    "a:s!", "*:s", "**:s", "a:!", "a:s:s", "a:s!!"};
	struct hint_source source;
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		source = source_of(good[i].word);
		assert_int_equal(source.format, good[i].format);
		assert_int_equal(source.kind, good[i].kind);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		why = NULL;
		assert_int_equal(hint_source_parse(span_of(bad[i]), &source,
				     &why),
		    -1);
		assert_non_null(why);
	}
}

static void
source_kinds_of_the_defaults_are_those_of_their_words(void **state)
{
	char word[128];

	(void)state;
	for (size_t i = 0; i < hint_default.n; i++) {
		const struct hint_source *s = &hint_default.v[i];

		(void)snprintf(word, sizeof(word), "%.*s:%s", SPAN_ARG(s->name),
		    hint_format_name(s->format));
		assert_int_equal(source_of(word).kind, s->kind);
	}
}

/* As many limits as a head can hold: all are looked at, none twice. */
static void
limits_without_number_are_all_looked_at(void **state)
{
	struct hint_source v[] = {source_of("*-reset:s"),
	    source_of("*reset:auto")};
	struct hint_cfg own = {v, 2};
	static char fields[60000];
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < HEAD_FIELDS_MAX; i++)
		n += (size_t)snprintf(fields + n, sizeof(fields) - n,
		    "x%u-reset: %u\r\n", i, i + 1);
	assert_int_equal(wait_of(&own, fields), HEAD_FIELDS_MAX * 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(remaining_says_whether_its_limit_is_used_up),
	    cmocka_unit_test(remaining_in_several_fields_counts_as_the_least),
	    cmocka_unit_test(remaining_of_another_limit_says_nothing),
	    cmocka_unit_test(
		limits_used_up_count_as_the_longest_whatever_the_order),
	    cmocka_unit_test(limit_told_twice_counts_by_the_first_valid_source),
	    cmocka_unit_test(quota_is_the_one_with_least_for_its_time),
	    cmocka_unit_test(quota_without_both_numbers_is_none),
	    cmocka_unit_test(quota_of_a_date_is_measured_against_date),
	    cmocka_unit_test(sf_that_is_well_formed_is_read),
	    cmocka_unit_test(sf_that_is_malformed_is_ignored_as_a_whole),
	    cmocka_unit_test(pairs_are_read_freely),
	    cmocka_unit_test(name_with_stars_stands_for_any_run),
	    cmocka_unit_test(name_of_a_reset_leads_to_its_siblings),
	    cmocka_unit_test(
		source_of_a_wait_goes_before_limits_wherever_it_stands),
	    cmocka_unit_test(source_with_a_mark_waits_whatever_is_left),
	    cmocka_unit_test(source_with_a_star_reads_all_that_match),
	    cmocka_unit_test(source_words_are_read_or_refused),
	    cmocka_unit_test(
		source_kinds_of_the_defaults_are_those_of_their_words),
	    cmocka_unit_test(limits_without_number_are_all_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

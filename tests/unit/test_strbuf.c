/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FFFD "\xef\xbf\xbd"

static struct strbuf b;

static int
set_up(void **state)
{
	(void)state;
	strbuf_init(&b, 1000000);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	strbuf_free(&b);
	return 0;
}

static void
assert_text(const char *want)
{
	struct span s = strbuf_view(&b);

	assert_false(b.failed);
	assert_int_equal(s.n, strlen(want));
	if (s.n > 0)
		assert_memory_equal(s.p, want, s.n);
}

static void
strbuf_when_put_together_holds_the_text(void **state)
{
	(void)state;
	assert_text("");
	strbuf_put(&b, NULL, 0);
	assert_text("");
	strbuf_lit(&b, "a=");
	strbuf_u64(&b, 0);
	strbuf_char(&b, ';');
	strbuf_span(&b, SPAN("b="));
	strbuf_u64(&b, UINT64_MAX);
	strbuf_fmt(&b, " %s %d%%", "x", -5);
	strbuf_u64(&b, 10);
	assert_text("a=0;b=18446744073709551615 x -5%10");
}

static void
strbuf_when_long_grows_and_keeps_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		strbuf_fmt(&b, "%04u", i);
	assert_false(b.failed);
	assert_int_equal(b.n, 40000);
	for (size_t i = 0; i < 10000; i++) {
		size_t v = 0;

		for (size_t j = 0; j < 4; j++)
			v = v * 10 + (size_t)(b.p[4 * i + j] - '0');
		assert_int_equal(v, i);
	}
}

static void
strbuf_put_when_at_limit_takes_just_that(void **state)
{
	(void)state;
	strbuf_init(&b, 100);
	for (size_t i = 0; i < 99; i++)
		strbuf_char(&b, 'x');
	assert_false(b.failed);
	strbuf_char(&b, 'y');
	assert_false(b.failed);
	assert_int_equal(b.n, 100);
	strbuf_char(&b, 'z');
	assert_true(b.failed);
	assert_int_equal(b.n, 100);
	assert_int_equal(b.p[99], 'y');
}

static void
strbuf_fmt_when_at_limit_takes_just_that(void **state)
{
	(void)state;
	strbuf_init(&b, 5);
	strbuf_fmt(&b, "%d", 12345);
	assert_text("12345");
	strbuf_free(&b);
	strbuf_init(&b, 4);
	strbuf_fmt(&b, "%d", 12345);
	assert_true(b.failed);
	assert_int_equal(b.n, 0);
}

static void
strbuf_when_failed_drops_all_that_follows(void **state)
{
	(void)state;
	strbuf_init(&b, 3);
	strbuf_lit(&b, "ab");
	strbuf_lit(&b, "cd");
	assert_true(b.failed);
	strbuf_lit(&b, "c");
	strbuf_fmt(&b, "%s", "c");
	strbuf_u64(&b, 1);
	strbuf_json(&b, SPAN("c"));
	strbuf_escaped(&b, SPAN("c"));
	assert_true(b.failed);
	assert_int_equal(b.n, 2);
	strbuf_clear(&b);
	assert_text("");
	strbuf_lit(&b, "xyz");
	assert_text("xyz");
}

static void
strbuf_put_when_size_is_huge_does_not_overflow(void **state)
{
	(void)state;
	strbuf_init(&b, SIZE_MAX);
	strbuf_lit(&b, "ab");
	strbuf_put(&b, "", SIZE_MAX);
	assert_true(b.failed);
	assert_int_equal(b.n, 2);
	strbuf_clear(&b);
	mem_fail_at(1, false); /* no real try to get that much */
	strbuf_put(&b, "", SIZE_MAX - 1);
	assert_int_equal(mem_count(), 1);
	assert_true(b.failed);
}

static void
strbuf_when_out_of_memory_is_failed_until_cleared(void **state)
{
	(void)state;
	strbuf_lit(&b, "kept");
	mem_fail_at(1, false);
	for (size_t i = 0; i < 1000 && !b.failed; i++)
		strbuf_lit(&b, "0123456789");
	assert_true(b.failed);
	strbuf_lit(&b, "x");
	assert_memory_equal(b.p, "kept0123", 8);
	strbuf_clear(&b);
	strbuf_lit(&b, "whole again");
	assert_text("whole again");
}

static void
strbuf_free_when_done_may_be_used_again(void **state)
{
	(void)state;
	strbuf_lit(&b, "x");
	strbuf_free(&b);
	assert_null(b.p);
	strbuf_free(&b);
	strbuf_lit(&b, "y");
	assert_text("y");
}

struct escape {
	struct span in;
	const char *want;
};

static void
strbuf_json_when_ascii_escapes_what_json_wants(void **state)
{
	static const struct escape cases[] = {
	    {{"", 0}, "\"\""},
	    {{NULL, 0}, "\"\""},
	    {{"plain /text' \x7f", 14}, "\"plain /text' \x7f\""},
	    {{"\"\\\b\f\n\r\t", 7}, "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
	    {{"a\0b\x01\x1f\x20", 6}, "\"a\\u0000b\\u0001\\u001f \""},
	    {{"\x0b\x0e", 2}, "\"\\u000b\\u000e\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		strbuf_clear(&b);
		strbuf_json(&b, cases[i].in);
		assert_text(cases[i].want);
	}
}

/* The first and the last of each length, and the borders of the holes. */
static void
strbuf_json_when_utf8_is_valid_keeps_it(void **state)
{
	static const char *const cases[] = {
	    "\xc2\x80",         /* U+0080 */
	    "\xdf\xbf",         /* U+07FF */
	    "\xe0\xa0\x80",     /* U+0800 */
	    "\xed\x9f\xbf",     /* U+D7FF, before the surrogates */
	    "\xee\x80\x80",     /* U+E000, after them */
	    "\xef\xbf\xbf",     /* U+FFFF */
	    "\xf0\x90\x80\x80", /* U+10000 */
	    "\xf4\x8f\xbf\xbf", /* U+10FFFF */
	    "x\xc3\xa4y\xe2\x82\xacz",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		strbuf_clear(&b);
		strbuf_json(&b, span_of(cases[i]));
		strbuf_char(&b, '\0');
		assert_int_equal(b.p[0], '"');
		assert_memory_equal(b.p + 1, cases[i], strlen(cases[i]));
		assert_string_equal(b.p + 1 + strlen(cases[i]), "\"");
	}
}

static void
strbuf_json_when_utf8_is_invalid_puts_replacements(void **state)
{
	static const struct {
		const char *in, *want;
	} cases[] = {
	    {"\x80", "\"" FFFD "\""},
	    {"a\xff"
	     "b",
		"\"a" FFFD "b\""},
	    /* overlong: '/' in two, three and four bytes */
	    {"\xc0\xaf", "\"" FFFD FFFD "\""},
	    {"\xc1\xbf", "\"" FFFD FFFD "\""},
	    {"\xe0\x80\xaf", "\"" FFFD FFFD FFFD "\""},
	    {"\xe0\x9f\xbf", "\"" FFFD FFFD FFFD "\""},
	    {"\xf0\x80\x80\xaf", "\"" FFFD FFFD FFFD FFFD "\""},
	    {"\xf0\x8f\xbf\xbf", "\"" FFFD FFFD FFFD FFFD "\""},
	    /* surrogates U+D800 and U+DFFF */
	    {"\xed\xa0\x80", "\"" FFFD FFFD FFFD "\""},
	    {"\xed\xbf\xbf", "\"" FFFD FFFD FFFD "\""},
	    /* past U+10FFFF */
	    {"\xf4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\""},
	    {"\xf5\x80\x80\x80", "\"" FFFD FFFD FFFD FFFD "\""},
	    /* cut short: one replacement for what belongs together */
	    {"\xe2\x82", "\"" FFFD "\""},
	    {"\xf0\x9f\x98", "\"" FFFD "\""},
	    {"\xe2\x82x", "\"" FFFD "x\""},
	    {"\xe2\"", "\"" FFFD "\\\"\""},
	    {"\xc3\xc3\xa4", "\"" FFFD "\xc3\xa4\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		strbuf_clear(&b);
		strbuf_json(&b, span_of(cases[i].in));
		assert_text(cases[i].want);
	}
}

/* A character that the span cuts must not be completed by what lies behind. */
static void
strbuf_json_when_span_ends_inside_a_character_stops_there(void **state)
{
	(void)state;
	strbuf_json(&b, (struct span){"\xe2\x82\xac", 2});
	assert_text("\"" FFFD "\"");
}

static void
strbuf_escaped_when_unsafe_writes_hex(void **state)
{
	static const struct escape cases[] = {
	    {{"", 0}, ""},
	    {{"/a b~?x='1'", 11}, "/a b~?x='1'"},
	    {{"\r\n", 2}, "\\x0d\\x0a"},
	    {{"\0\x1f\x20", 3}, "\\x00\\x1f "},
	    {{"a\"b\\c", 5}, "a\\x22b\\x5cc"},
	    {{"\x7e\x7f\x80\xff", 4}, "~\\x7f\\x80\\xff"},
	    {{"\x1b[31m", 5}, "\\x1b[31m"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		strbuf_clear(&b);
		strbuf_escaped(&b, cases[i].in);
		assert_text(cases[i].want);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(strbuf_when_put_together_holds_the_text),
	    TEST(strbuf_when_long_grows_and_keeps_all),
	    TEST(strbuf_put_when_at_limit_takes_just_that),
	    TEST(strbuf_fmt_when_at_limit_takes_just_that),
	    TEST(strbuf_when_failed_drops_all_that_follows),
	    TEST(strbuf_put_when_size_is_huge_does_not_overflow),
	    TEST(strbuf_when_out_of_memory_is_failed_until_cleared),
	    TEST(strbuf_free_when_done_may_be_used_again),
	    TEST(strbuf_json_when_ascii_escapes_what_json_wants),
	    TEST(strbuf_json_when_utf8_is_valid_keeps_it),
	    TEST(strbuf_json_when_utf8_is_invalid_puts_replacements),
	    TEST(strbuf_json_when_span_ends_inside_a_character_stops_there),
	    TEST(strbuf_escaped_when_unsafe_writes_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

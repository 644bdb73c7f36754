/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/span.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
assert_span(struct span s, const char *want)
{
	assert_int_equal(s.n, strlen(want));
	if (s.n > 0)
		assert_memory_equal(s.p, want, s.n);
}

static void
span_eq_when_bytes_differ_is_false(void **state)
{
	(void)state;
	assert_true(span_eq(SPAN("abc"), span_of("abc")));
	assert_true(span_eq(SPAN(""), (struct span){NULL, 0}));
	assert_false(span_eq(SPAN("abc"), SPAN("abC")));
	assert_false(span_eq(SPAN("abc"), SPAN("ab")));
	assert_true(span_eq(SPAN("a\0b"), SPAN("a\0b")));
	assert_false(span_eq(SPAN("a\0b"), SPAN("a\0c")));
}

static void
span_ieq_when_only_letter_case_differs_is_true(void **state)
{
	(void)state;
	assert_true(span_ieq(SPAN("Retry-After"), SPAN("rETRY-aFTER")));
	assert_true(span_ieq(SPAN("AZaz"), SPAN("azAZ")));
	assert_true(span_ieq(SPAN(""), (struct span){NULL, 0}));
	assert_false(span_ieq(SPAN("abc"), SPAN("abd")));
	assert_false(span_ieq(SPAN("abc"), SPAN("abcd")));
}

/* What differs from a letter, or borders on one, by the case bit alone. */
static void
span_ieq_when_no_letters_keeps_bits_apart(void **state)
{
	(void)state;
	assert_false(span_ieq(SPAN("@"), SPAN("`")));
	assert_false(span_ieq(SPAN("["), SPAN("{")));
	assert_false(span_ieq(SPAN("\r"), SPAN("-")));
	assert_false(span_ieq(SPAN("\xc4"), SPAN("\xe4")));
}

static void
span_starts_when_prefix_is_whole_or_longer(void **state)
{
	(void)state;
	assert_true(span_starts(SPAN("http://x"), SPAN("http://")));
	assert_true(span_starts(SPAN("http"), SPAN("http")));
	assert_true(span_starts(SPAN("http"), SPAN("")));
	assert_true(span_starts((struct span){NULL, 0}, SPAN("")));
	assert_false(span_starts(SPAN("htt"), SPAN("http")));
	assert_false(span_starts(SPAN("HTTP"), SPAN("http")));
	assert_true(span_istarts(SPAN("HTTP://x"), SPAN("http")));
	assert_false(span_istarts(SPAN("HTT"), SPAN("http")));
}

static void
span_ends_when_suffix_is_whole_or_longer(void **state)
{
	(void)state;
	assert_true(span_ends(SPAN("a.example"), SPAN(".example")));
	assert_true(span_ends(SPAN(".example"), SPAN(".example")));
	assert_true(span_ends((struct span){NULL, 0}, SPAN("")));
	assert_false(span_ends(SPAN("example"), SPAN(".example")));
	assert_false(span_ends(SPAN("a.example."), SPAN(".example")));
}

static void
span_trim_when_padded_drops_only_sp_and_htab(void **state)
{
	static const struct {
		const char *in, *want;
	} cases[] = {
	    {"x", "x"},
	    {" \t x y\t ", "x y"},
	    {" \t", ""},
	    {"", ""},
	    {"\r\nx\v ", "\r\nx\v"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_span(span_trim(span_of(cases[i].in)), cases[i].want);
	assert_int_equal(span_trim((struct span){NULL, 0}).n, 0);
}

static void
span_cut_when_separators_meet_gives_empty_parts(void **state)
{
	struct span rest = SPAN(":a::b:"), part;
	const char *want[] = {"", "a", "", "b", ""};

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_true(span_cut(&rest, ':', &part));
		assert_span(part, want[i]);
	}
	assert_false(span_cut(&rest, ':', &part));
	assert_span(part, "");
}

static void
span_cut_when_no_separator_takes_the_whole(void **state)
{
	struct span rest = SPAN("abc"), part;

	(void)state;
	assert_true(span_cut(&rest, ':', &part));
	assert_span(part, "abc");
	assert_null(rest.p);
	rest = SPAN("");
	assert_true(span_cut(&rest, ':', &part));
	assert_span(part, "");
	assert_false(span_cut(&rest, ':', &part));
}

static void
span_cut_when_cut_leaves_what_follows(void **state)
{
	struct span rest = SPAN("host:80:x"), part;

	(void)state;
	assert_true(span_cut(&rest, ':', &part));
	assert_span(part, "host");
	assert_span(rest, "80:x");
}

static void
span_next_item_when_listed_gives_each_in_turn(void **state)
{
	static const struct {
		const char *in, *want[4];
	} cases[] = {
	    {"a", {"a"}},
	    {"a,b", {"a", "b"}},
	    {" a ,\tb\t, c ", {"a", "b", "c"}},
	    {",, a,, ,b,", {"a", "b"}},
	    {"", {NULL}},
	    {" , ,", {NULL}},
	    {"x=\"1,2\", y", {"x=\"1,2\"", "y"}},
	    {"x=\"a\\\",b\",c", {"x=\"a\\\",b\"", "c"}},
	    {"x=\"a\\\\\",c", {"x=\"a\\\\\"", "c"}},
	    {"a, \"open,b", {"a", "\"open,b"}},
	    {"a\\,b", {"a\\", "b"}},
	    {"\"x\\", {"\"x\\"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct span rest = span_of(cases[i].in), item;

		for (size_t j = 0; cases[i].want[j] != NULL; j++) {
			assert_true(span_next_item(&rest, &item));
			assert_span(item, cases[i].want[j]);
		}
		assert_false(span_next_item(&rest, &item));
		assert_false(span_next_item(&rest, &item));
	}
}

static void
span_u64_when_digits_gives_their_value(void **state)
{
	static const struct {
		const char *in;
		uint64_t want;
	} cases[] = {
	    {"0", 0},
	    {"0007", 7},
	    {"1234567890", 1234567890},
	    {"18446744073709551614", UINT64_MAX - 1},
	    {"18446744073709551615", UINT64_MAX},
	    {"18446744073709551616", UINT64_MAX},
	    {"18446744073709551620", UINT64_MAX},
	    {"99999999999999999999999999", UINT64_MAX},
	    {"184467440737095516150", UINT64_MAX},
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		v = 42;
		assert_int_equal(span_u64(span_of(cases[i].in), &v), 0);
		assert_true(v == cases[i].want);
	}
}

static void
span_u64_when_not_all_digits_fails_and_leaves_output(void **state)
{
	static const char *const cases[] = {
	    "",
	    " 1",
	    "1 ",
	    "+1",
	    "-1",
	    "1.0",
	    "0x10",
	    "/",
	    ":",
	    "1:",
	    "99999999999999999999999x",
	};
	uint64_t v = 42;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(span_u64(span_of(cases[i]), &v), -1);
	assert_int_equal(span_u64(SPAN("1\0"), &v), -1);
	assert_int_equal(v, 42);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(span_eq_when_bytes_differ_is_false),
	    cmocka_unit_test(span_ieq_when_only_letter_case_differs_is_true),
	    cmocka_unit_test(span_ieq_when_no_letters_keeps_bits_apart),
	    cmocka_unit_test(span_starts_when_prefix_is_whole_or_longer),
	    cmocka_unit_test(span_ends_when_suffix_is_whole_or_longer),
	    cmocka_unit_test(span_trim_when_padded_drops_only_sp_and_htab),
	    cmocka_unit_test(span_cut_when_separators_meet_gives_empty_parts),
	    cmocka_unit_test(span_cut_when_no_separator_takes_the_whole),
	    cmocka_unit_test(span_cut_when_cut_leaves_what_follows),
	    cmocka_unit_test(span_next_item_when_listed_gives_each_in_turn),
	    cmocka_unit_test(span_u64_when_digits_gives_their_value),
	    cmocka_unit_test(
		span_u64_when_not_all_digits_fails_and_leaves_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

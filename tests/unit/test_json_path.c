/* SPDX-License-Identifier: MIT */
/* JSON texts and what a path finds in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "policy/json_path.h"

#define PATH_MAX_TEXT 256

static bool
add(void *arg, const struct json_value *v)
{
	static const char kinds[] = {'t', 'n', 'w', '*'};
	struct strbuf *b = arg;

	strbuf_fmt(b, "%s%c:%.*s", b->n ? " " : "", kinds[v->kind],
	    SPAN_ARG(v->text));
	return false;
}

/* "KIND:TEXT ..." of all values found; "-" where the text can't be read. */
static void
find(struct span json, const char *path, struct strbuf *ret)
{
	char steps[JSON_PATH_BYTES(PATH_MAX_TEXT)];
	const char *why = "";
	struct json_doc doc = {.root = NULL};
	size_t n = 0, at;

	if (json_path_parse(span_of(path), steps, &n, &why, &at) != 0)
		fail_msg("%s: %s", path, why);
	strbuf_init(ret, 65536);
	if (json_doc_read(json, &doc) != 0) {
		strbuf_char(ret, '-');
		return;
	}
	(void)json_path_each(&doc, (struct json_path){{steps, n}}, add, ret);
	assert_false(ret->failed);
	json_doc_clear(&doc);
	assert_null(doc.root);
}

static void
check(struct span json, const char *path, const char *want)
{
	struct strbuf b;

	find(json, path, &b);
	if (!span_eq(strbuf_view(&b), span_of(want)))
		fail_msg("%s of %.*s: '%.*s', not '%s'", path, SPAN_ARG(json),
		    SPAN_ARG(strbuf_view(&b)), want);
	strbuf_free(&b);
}

struct row {
	const char *json, *path, *want;
};

/* So many lists of `n` ones each, in a list. */
static void
put_ones(struct strbuf *to, size_t lists, size_t n)
{
	strbuf_clear(to);
	for (size_t i = 0; i < lists; i++) {
		strbuf_span(to, i > 0 ? SPAN(",[1") : SPAN("[[1"));
		for (size_t k = 1; k < n; k++)
			strbuf_span(to, SPAN(",1"));
		strbuf_char(to, ']');
	}
	strbuf_char(to, ']');
}

static bool
count(void *arg, const struct json_value *v)
{
	unsigned *n = arg;

	(void)v;
	++*n;
	return false;
}

/* What a peer sends decides how long we look at it, but not without end. */
static void
stars_stand_for_a_bounded_number(void **state)
{
	static const struct {
		size_t lists, n;
		unsigned found;
	} v[] = {{1, 500, 500}, {1, 999, 999}, {1, 1000, 999}, {1, 9000, 999},
	    {100, 9, 900}, {100, 90, 989}, {2000, 1, 500}};
	struct strbuf text;

	(void)state;
	strbuf_init(&text, 65536);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct json_path path = {{"*\0*\0", 4}};
		struct json_doc doc = {.root = NULL};
		unsigned n = 0;

		put_ones(&text, v[i].lists, v[i].n);
		assert_int_equal(json_doc_read(strbuf_view(&text), &doc), 0);
		(void)json_path_each(&doc, path, count, &n);
		json_doc_clear(&doc);
		assert_int_equal(n, v[i].found);
	}
	assert_false(text.failed);
	strbuf_free(&text);
}

static void
path_finds_values_in_order(void **state)
{
	static const struct row v[] = {
	    {"{\"a\":1}", "a", "n:1"},
	    {"{\"a\":{\"b\":\"x\"}}", "a.b", "t:x"},
	    {"{\"a\":{\"b\":\"x\"}}", "a", "*:"},
	    {"{\"a\":[1,\"x\",true,false,null,{},[]]}", "a.*",
		"n:1 t:x w:true w:false *: *:"},
	    {"{\"b\":1,\"a\":2,\"c\":3}", "*", "n:1 n:2 n:3"},
	    {"{\"a\":[{\"r\":1},{},{\"r\":2}]}", "a.*.r", "n:1 n:2"},
	    {"{\"a\":[1,2]}", "a.0", "n:1"},
	    {"{\"a\":[1,2]}", "a.1", "n:2"},
	    {"{\"a\":[1,2]}", "a.2", ""},
	    {"{\"a\":[1,2]}", "a.18446744073709551616", ""},
	    {"{\"a\":[1,2]}", "a.x", ""},
	    {"{\"a\":[1,2]}", "a.\"0\"", ""},
	    {"{\"0\":\"x\"}", "0", "t:x"},
	    {"{\"*\":\"x\",\"y\":\"z\"}", "\"*\"", "t:x"},
	    {"{\"@type\":\"x\"}", "@type", "t:x"},
	    {"{\"a.b\":{\"c d\":\"x\"}}", "\"a.b\".\"c d\"", "t:x"},
	    {"{\"a\\\"\\\\b\":\"x\"}", "\"a\\\"\\\\b\"", "t:x"},
	    {"{\"\":\"x\"}", "\"\"", "t:x"},
	    {"[{\"a\":1},{\"a\":2}]", "*.a", "n:1 n:2"},
	    {"[{\"a\":1},{\"a\":2}]", "1.a", "n:2"},
	    {"{\"a\":1}", "a.b", ""},
	    {"{\"a\":1}", "b", ""},
	    {"{\"a\":1,\"a\":2}", "a", "n:2"},
	    {"{\"a\":\"\\u00e9\"}", "a", "t:\xc3\xa9"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		check(span_of(v[i].json), v[i].path, v[i].want);
}

static void
numbers_are_decimals_as_they_were_written(void **state)
{
	static const struct row v[] = {
	    {"[0]", "0", "n:0"},
	    {"[-7]", "0", "n:-7"},
	    {"[9223372036854775807]", "0", "n:9223372036854775807"},
	    {"[64.57]", "0", "n:64.57"},
	    {"[0.1]", "0", "n:0.1"},
	    {"[2.0]", "0", "n:2"},
	    {"[34.074824224]", "0", "n:34.074824224"},
	    {"[1893456000.123]", "0", "n:1893456000.123"},
	    {"[0.30000000000000004]", "0", "n:0.30000000000000004"},
	    {"[1e3]", "0", "n:1000"},
	    {"[1.5E2]", "0", "n:150"},
	    {"[1e15]", "0", "n:1000000000000000"},
	    {"[1234567890123456.5]", "0", "n:1234567890123456"},
	    {"[-1e17]", "0", "n:-100000000000000000"},
	    {"[1e20]", "0", "n:100000000000000000000"},
	    {"[-1.25e20]", "0", "n:-125000000000000000000"},
	    {"[123456789012345678901]", "0", "n:123456789012345680000"},
	    {"[1e-5]", "0", "n:0.000010000000000000"},
	    {"[-0.0]", "0", "n:-0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		check(span_of(v[i].json), v[i].path, v[i].want);
}

/* One long id does not hide what stands beside it. */
static void
integer_of_more_than_64_bits_hides_nothing(void **state)
{
	(void)state;
	check(SPAN("{\"id\":123456789012345678901,\"code\":\"x\",\"n\":7}"),
	    "code", "t:x");
	check(SPAN("{\"id\":123456789012345678901,\"n\":7}"), "n", "n:7");
	check(SPAN("{\"id\":123456789012345678901}"), "id",
	    "n:123456789012345680000");
}

static void
text_that_is_no_document_is_not_read(void **state)
{
	static const struct span v[] = {
	    {"", 0},
	    {"\xef\xbb\xbf", 3},
	    {"x", 1},
	    {"7", 1},
	    {"\"a\"", 3},
	    {"null", 4},
	    {"{", 1},
	    {"{\"a\":1", 6},
	    {"{\"a\":}", 6},
	    {"{'a':1}", 7},
	    {"{\"a\":\"\xff\"}", 9},
	    {"[1e999]", 7},
	    {"{\"a\\u0000b\":1}", 14},
	    {"<a>", 3},
	    {"\0{}", 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		check(v[i], "a", "-");
}

static void
document_is_read_whatever_stands_around_it(void **state)
{
	(void)state;
	check(SPAN("\xef\xbb\xbf{\"a\":1}"), "a", "n:1");
	check(SPAN(" \r\n\t{\"a\":1}"), "a", "n:1");
	check(SPAN("{\"a\":1}\n{\"a\":2}\n"), "a", "n:1");
	check(SPAN("{\"a\":1}garbage"), "a", "n:1");
	check(SPAN("{\"a\":\"x\\u0000y\"}"), "a", "t:x");
}

static void
put(char *to, struct span s)
{
	memcpy(to, s.p, s.n);
}

static void
depth_is_bounded(void **state)
{
	static char text[2 * (JSON_DEPTH_MAX + 1) + 16];
	struct strbuf b;

	(void)state;
	for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1;
	     depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		find((struct span){text, 2 * depth}, "0.0", &b);
		assert_true(span_eq(strbuf_view(&b),
		    depth > JSON_DEPTH_MAX ? SPAN("-") : SPAN("*:")));
		strbuf_free(&b);
	}
	/* Brackets in a string open nothing. */
	memset(text, '[', sizeof(text));
	put(text, SPAN("[\"\\\""));
	put(text + sizeof(text) - 2, SPAN("\"]"));
	find((struct span){text, sizeof(text)}, "1", &b);
	assert_int_equal(b.n, 0);
	strbuf_free(&b);
}

static void
bad_path_is_told_with_its_place(void **state)
{
	static const struct {
		const char *path, *why;
		size_t at;
	} v[] = {
	    {"", "a path is missing", 0},
	    {".a", "a name is missing in the path", 0},
	    {"a.", "a name is missing in the path", 2},
	    {"a..b", "a name is missing in the path", 2},
	    {"a.\"b", "the closing quote is missing", 2},
	    {"a.\"b\\", "the closing quote is missing", 2},
	    {"\"a\"b", "a '.' must follow the closing quote", 3},
	    {"ab\"c\"", "a quote inside a name; put the whole name in quotes",
		2},
	    {"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a",
		"more than 16 steps in the path", 32},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char steps[JSON_PATH_BYTES(PATH_MAX_TEXT)];
		const char *why = "";
		size_t n = 7, at = 99;

		assert_int_equal(json_path_parse(span_of(v[i].path), steps, &n,
				     &why, &at),
		    -1);
		assert_string_equal(why, v[i].why);
		assert_int_equal(at, v[i].at);
		assert_int_equal(n, 7);
	}
}

static bool
stop(void *arg, const struct json_value *v)
{
	(void)v;
	++*(unsigned *)arg;
	return true;
}

static void
walk_ends_when_it_is_told_to(void **state)
{
	struct json_doc doc = {.root = NULL};
	static const char steps[] = "*";
	unsigned calls = 0;

	(void)state;
	assert_int_equal(json_doc_read(SPAN("[1,2,3]"), &doc), 0);
	assert_true(json_path_each(&doc,
	    (struct json_path){{steps, sizeof(steps)}}, stop, &calls));
	assert_int_equal(calls, 1);
	json_doc_clear(&doc);
}

static void
memory_is_that_of_base(void **state)
{
	struct json_doc doc = {.root = NULL};
	unsigned failed = 0;
	int rc = -1;

	(void)state;
	json_setup();
	for (unsigned long n = 1; rc != 0; n++) {
		mem_fail_at(n, false);
		rc = json_doc_read(SPAN("{\"a\":[1,\"b\",2.5]}"), &doc);
		mem_fail_at(0, false);
		failed += rc != 0;
	}
	assert_true(failed >= 5);
	json_doc_clear(&doc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(path_finds_values_in_order),
	    cmocka_unit_test(stars_stand_for_a_bounded_number),
	    cmocka_unit_test(numbers_are_decimals_as_they_were_written),
	    cmocka_unit_test(integer_of_more_than_64_bits_hides_nothing),
	    cmocka_unit_test(text_that_is_no_document_is_not_read),
	    cmocka_unit_test(document_is_read_whatever_stands_around_it),
	    cmocka_unit_test(depth_is_bounded),
	    cmocka_unit_test(bad_path_is_told_with_its_place),
	    cmocka_unit_test(walk_ends_when_it_is_told_to),
	    cmocka_unit_test(memory_is_that_of_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

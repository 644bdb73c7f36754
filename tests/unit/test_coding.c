/* SPDX-License-Identifier: MIT */
/* Content codings undone: right ones, broken ones and those that would not end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/mem.h"
#include "proto/coding.h"

#define MAX 65536
#define GZIP 31
#define ZLIB 15
#define BARE (-15)

struct blob {
	char *p;
	size_t n;
};

/* The text n times over, compressed with windowBits `window`. */
static struct blob
pack(int window, const void *text, size_t n, size_t times)
{
	z_stream z = {.next_in = NULL};
	size_t cap = n * times + 1024;
	struct blob b = {.p = malloc(cap)};

	assert_non_null(b.p);
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 9,
			     Z_DEFAULT_STRATEGY),
	    Z_OK);
	z.next_out = (Bytef *)b.p;
	z.avail_out = (uInt)cap;
	for (size_t i = 0; i < times; i++) {
		z.next_in = (z_const Bytef *)(uintptr_t)text;
		z.avail_in = (uInt)n;
		assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
	}
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b.n = cap - z.avail_out;
	assert_int_equal(deflateEnd(&z), Z_OK);
	return b;
}

static struct blob
pack_text(int window, const char *text)
{
	return pack(window, text, strlen(text), 1);
}

static struct blob
join(struct blob a, struct blob b)
{
	a.p = realloc(a.p, a.n + b.n);
	assert_non_null(a.p);
	memcpy(a.p + a.n, b.p, b.n);
	free(b.p);
	a.n += b.n;
	return a;
}

/* Undoes it and compares; frees the blob. */
static void
check(const struct coding_list *list, struct blob in, bool whole,
    const char *text, bool want_whole)
{
	struct span got, want = span_of(text);
	bool ret_whole = !want_whole;
	struct strbuf out;

	assert_int_equal(coding_undo(list, (struct span){in.p, in.n}, whole,
			     MAX, &out, &ret_whole),
	    0);
	got = strbuf_view(&out);
	if (!span_eq(got, want) || ret_whole != want_whole)
		fail_msg("'%.*s'%s, not '%s'", SPAN_ARG(got),
		    ret_whole ? ", whole" : "", text);
	strbuf_free(&out);
	free(in.p);
}

static const struct coding_list gzip = {1, {CODING_GZIP}};
static const struct coding_list deflated = {1, {CODING_DEFLATE}};

/* --- streams -------------------------------------------------------------- */

static void
gzip_is_undone(void **state)
{
	(void)state;
	check(&gzip, pack_text(GZIP, "hello"), true, "hello", true);
	check(&gzip, pack_text(GZIP, "hello"), false, "hello", false);
	check(&gzip, pack_text(GZIP, ""), true, "", true);
}

static void
gzip_members_are_joined(void **state)
{
	struct blob two = join(pack_text(GZIP, "hello, "),
	    join(pack_text(GZIP, ""), pack_text(GZIP, "world")));
	struct blob zeros = {calloc(1, 512), 512};

	(void)state;
	check(&gzip, two, true, "hello, world", true);
	assert_non_null(zeros.p);
	check(&gzip, join(pack_text(GZIP, "padded"), zeros), true, "padded",
	    true);
}

static void
deflate_is_undone_with_and_without_its_wrapping(void **state)
{
	(void)state;
	check(&deflated, pack_text(ZLIB, "hello"), true, "hello", true);
	check(&deflated, pack_text(BARE, "hello"), true, "hello", true);
}

static void
codings_are_undone_last_one_first(void **state)
{
	static const struct coding_list both = {2,
	    {CODING_GZIP, CODING_DEFLATE}};
	struct blob inner = pack_text(GZIP, "hello");
	struct blob outer = pack(ZLIB, inner.p, inner.n, 1);

	(void)state;
	free(inner.p);
	check(&both, outer, true, "hello", true);

	inner = pack_text(ZLIB, "hello");
	outer = pack(GZIP, inner.p, inner.n, 1);
	free(inner.p);
	check(&both, outer, true, "", false);
}

/* --- what is broken ------------------------------------------------------- */

static void
truncated_stream_gives_what_there_is(void **state)
{
	struct blob b = pack_text(GZIP, "hello");

	(void)state;
	b.n -= 8; /* check sum and length */
	check(&gzip, b, true, "hello", false);
	b = pack_text(GZIP, "hello");
	b.n = 5;
	check(&gzip, b, true, "", false);
	b = pack_text(GZIP, "hello");
	b.n = 0;
	check(&gzip, b, true, "", false);
}

static void
wrong_check_sum_leaves_the_text_not_whole(void **state)
{
	struct blob b = pack_text(GZIP, "hello");

	(void)state;
	b.p[b.n - 5] ^= 1;
	check(&gzip, b, true, "hello", false);
}

static void
plain_text_is_no_stream(void **state)
{
	struct blob b = {strdup("hello"), 5};

	(void)state;
	check(&gzip, b, true, "", false);
	b.p = strdup("hello");
	check(&deflated, b, true, "", false);
}

/* --- bounds --------------------------------------------------------------- */

static void
output_stops_at_its_bound(void **state)
{
	static char zeros[MAX];
	struct blob exact = pack(GZIP, zeros, MAX, 1);
	struct blob bomb = pack(GZIP, zeros, MAX, 1000);
	bool whole = false;
	struct strbuf out;

	(void)state;
	assert_true(bomb.n < 2 * MAX);
	assert_int_equal(coding_undo(&gzip, (struct span){exact.p, exact.n},
			     true, MAX, &out, &whole),
	    0);
	assert_int_equal(out.n, MAX);
	assert_true(whole);
	strbuf_free(&out);
	assert_int_equal(coding_undo(&gzip, (struct span){bomb.p, bomb.n}, true,
			     MAX, &out, &whole),
	    0);
	assert_int_equal(out.n, MAX);
	assert_false(whole);
	strbuf_free(&out);
	free(exact.p);
	free(bomb.p);
}

/* A bomb inside a bomb: what is between is bounded too. */
static void
nested_bomb_stops_at_the_bound(void **state)
{
	static const struct coding_list twice = {2, {CODING_GZIP, CODING_GZIP}};
	static char zeros[MAX];
	struct blob inner = pack(GZIP, zeros, MAX, 4000);
	struct blob outer = pack(GZIP, inner.p, inner.n, 1);
	bool whole = true;
	struct strbuf out;

	(void)state;
	assert_int_equal(coding_undo(&twice, (struct span){outer.p, outer.n},
			     true, MAX, &out, &whole),
	    0);
	assert_int_equal(out.n, MAX);
	assert_false(whole);
	strbuf_free(&out);
	free(inner.p);
	free(outer.p);
}

static void
input_is_read_up_to_its_bound(void **state)
{
	struct blob empty = pack_text(GZIP, ""), last = pack_text(GZIP, "end");
	size_t n = 2 * MAX / empty.n + 1;
	struct blob all = {malloc(n * empty.n + last.n), 0};

	(void)state;
	assert_non_null(all.p);
	for (size_t i = 0; i < n; i++, all.n += empty.n)
		memcpy(all.p + all.n, empty.p, empty.n);
	memcpy(all.p + all.n, last.p, last.n);
	all.n += last.n;
	free(empty.p);
	free(last.p);
	check(&gzip, all, true, "", false);
}

static void
no_memory_is_told(void **state)
{
	static const struct coding_list both = {2, {CODING_GZIP, CODING_GZIP}};
	struct blob inner = pack_text(GZIP, "hello");
	struct blob b = pack(GZIP, inner.p, inner.n, 1);
	struct span in = {b.p, b.n};
	unsigned failed = 0;
	struct strbuf out;
	bool whole;
	int rc = -1;

	(void)state;
	for (unsigned long n = 1; rc != 0; n++) {
		mem_fail_at(n, false);
		rc = coding_undo(&both, in, true, MAX, &out, &whole);
		mem_fail_at(0, false);
		failed += rc != 0;
		strbuf_free(&out);
	}
	assert_true(failed >= 4);
	free(inner.p);
	free(b.p);
}

/* --- the field ------------------------------------------------------------ */

static int
list_of(const char *lines, struct coding_list *ret)
{
	static const struct head_limits limits = {65536, 65536,
	    HEAD_FIELDS_MAX};
	struct head_scan scan = {0};
	char text[512];
	const char *why;
	struct head h;

	(void)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s\r\n", lines);
	assert_int_equal(head_response(text, strlen(text), &scan, &limits, &h,
			     &why),
	    HEAD_OK);
	return coding_list_of(&h, ret);
}

static void
field_names_the_codings_in_order(void **state)
{
#define CE "Content-Encoding: "
	static const struct {
		const char *lines;
		int n; /* -1: refused */
		enum coding first, second;
	} v[] = {
	    {"", 0, 0, 0},
	    {CE "\r\n", 0, 0, 0},
	    {CE "identity\r\n", 0, 0, 0},
	    {CE "gzip\r\n", 1, CODING_GZIP, 0},
	    {CE "X-GZip\r\n", 1, CODING_GZIP, 0},
	    {CE "Deflate\r\n", 1, CODING_DEFLATE, 0},
	    {CE "gzip, deflate\r\n", 2, CODING_GZIP, CODING_DEFLATE},
	    {CE "deflate\r\n" CE "gzip\r\n", 2, CODING_DEFLATE, CODING_GZIP},
	    {CE "gzip, identity, gzip\r\n", 2, CODING_GZIP, CODING_GZIP},
	    {CE "gzip, gzip, gzip\r\n", -1, 0, 0},
	    {CE "br\r\n", -1, 0, 0},
	    {CE "gzip, zstd\r\n", -1, 0, 0},
	    {CE "\"gzip\"\r\n", -1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct coding_list list = {.n = 0};

		if (list_of(v[i].lines, &list) != 0)
			list.n = (unsigned)-1;
		if ((int)list.n != v[i].n)
			fail_msg("%s: %d", v[i].lines, (int)list.n);
		if (v[i].n >= 1)
			assert_int_equal(list.v[0], v[i].first);
		if (v[i].n == 2)
			assert_int_equal(list.v[1], v[i].second);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gzip_is_undone),
	    cmocka_unit_test(gzip_members_are_joined),
	    cmocka_unit_test(deflate_is_undone_with_and_without_its_wrapping),
	    cmocka_unit_test(codings_are_undone_last_one_first),
	    cmocka_unit_test(truncated_stream_gives_what_there_is),
	    cmocka_unit_test(wrong_check_sum_leaves_the_text_not_whole),
	    cmocka_unit_test(plain_text_is_no_stream),
	    cmocka_unit_test(output_stops_at_its_bound),
	    cmocka_unit_test(nested_bomb_stops_at_the_bound),
	    cmocka_unit_test(input_is_read_up_to_its_bound),
	    cmocka_unit_test(no_memory_is_told),
	    cmocka_unit_test(field_names_the_codings_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

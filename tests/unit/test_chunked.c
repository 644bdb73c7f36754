/* SPDX-License-Identifier: MIT */
/*
 * The chunked coding. Each input is decoded whole, byte by byte, and cut at
 * every place: data, trailer, verdict and the bytes used must be the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/chunked.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES(lit) \
	{ \
		(lit), sizeof(lit) - 1 \
	}
#define END "\r\n0\r\n\r\n"
#define HELLO(size) BYTES(size "\r\nhello" END)
#define A16 "aaaaaaaaaaaaaaaa"
#define A64 A16 A16 A16 A16
#define A240 A64 A64 A64 A16 A16 A16

struct result {
	enum chunked_result verdict;
	size_t used;
	char data[256];
	size_t data_n;
	char trailer[CHUNKED_TRAILER_MAX * 2];
	size_t trailer_n;
	const char *why;
	bool no_memory;
};

/* Decodes p[0, n) and goes on after each piece of data. */
static enum chunked_result
feed(struct chunked *c, const char *p, size_t n, struct result *r)
{
	enum chunked_result verdict;
	struct span data;
	size_t used;

	do {
		used = 0;
		verdict = chunked_next(c, p, n, &used, &data, &r->why);
		assert_true(used <= n);
		if (verdict == CHUNKED_DATA) {
			assert_true(data.n > 0 && data.p + data.n == p + used);
			assert_true(r->data_n + data.n <= sizeof(r->data));
			memcpy(r->data + r->data_n, data.p, data.n);
			r->data_n += data.n;
		}
		p += used;
		n -= used;
		r->used += used;
	} while (verdict == CHUNKED_DATA);
	if (verdict == CHUNKED_MORE)
		assert_int_equal(n, 0);
	return verdict;
}

/* In two pieces; cut SIZE_MAX: byte by byte. */
static void
decode(struct span in, size_t cut, bool lenient, struct result *r)
{
	struct chunked c;

	*r = (struct result){.verdict = CHUNKED_MORE};
	chunked_init(&c, lenient);
	if (cut == SIZE_MAX) {
		for (size_t i = 0; i < in.n && r->verdict == CHUNKED_MORE; i++)
			r->verdict = feed(&c, in.p + i, 1, r);
	} else {
		r->verdict = feed(&c, in.p, cut, r);
		if (r->verdict == CHUNKED_MORE)
			r->verdict = feed(&c, in.p + cut, in.n - cut, r);
	}
	r->no_memory = chunked_no_memory(&c);
	r->trailer_n = c.trailer.n;
	if (c.trailer.n > 0)
		memcpy(r->trailer, c.trailer.p, c.trailer.n);
	if (r->verdict == CHUNKED_DONE || r->verdict == CHUNKED_BAD)
		assert_int_equal(feed(&c, "x", 1, r), r->verdict);
	chunked_free(&c);
}

static void
assert_decodes(struct span in, bool lenient, enum chunked_result verdict,
    struct span data, size_t left, struct span trailer)
{
	static struct result r;

	for (size_t i = 0; i <= in.n + 1; i++) {
		decode(in, i > in.n ? SIZE_MAX : i, lenient, &r);
		if (r.verdict != verdict)
			fail_msg("cut at %zu: %d (%s): %.*s", i, r.verdict,
			    r.why ? r.why : "", SPAN_ARG(in));
		if (verdict == CHUNKED_BAD) {
			assert_non_null(r.why);
			continue;
		}
		assert_true(span_eq((struct span){r.data, r.data_n}, data));
		assert_int_equal(r.used, in.n - left);
		assert_true(
		    span_eq((struct span){r.trailer, r.trailer_n}, trailer));
	}
}

static void
chunked_when_wellformed_then_decoded(void **state)
{
	static const struct {
		struct span in;
		const char *data;
		size_t left;
	} rows[] = {
	    {BYTES("0\r\n\r\n"), "", 0},
	    {BYTES("0000000000000000\r\n\r\n"), "", 0},
	    {HELLO("5"), "hello", 0},
	    {BYTES("5\r\nhello\r\n6\r\n world" END "GET"), "hello world", 3},
	    {BYTES("A\r\n0123456789\r\na\r\nabcdefghij" END),
		"0123456789abcdefghij", 0},
	    {HELLO("0000000000000005"), "hello", 0},
	    {BYTES("5;name=val;flag\r\nhello\r\n0;last=1\r\n\r\n"), "hello", 0},
	    {HELLO("5 ; a = b"), "hello", 0},
	    {HELLO("5;a"), "hello", 0},
	    {HELLO("5;a;b ;c"), "hello", 0},
	    {HELLO("5;a=\"q;\\\" \t,\xe9\""), "hello", 0},
	    {HELLO("5;a=\"\"\t;b=c\t;d"), "hello", 0},
	    {BYTES("4\r\n\r\n\r\n" END), "\r\n\r\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct span data = span_of(rows[i].data);

		assert_decodes(rows[i].in, false, CHUNKED_DONE, data,
		    rows[i].left, (struct span){0});
		assert_decodes(rows[i].in, true, CHUNKED_DONE, data,
		    rows[i].left, (struct span){0});
	}
}

/* Refused from clients and from upstreams alike. */
static void
chunked_when_malformed_then_bad(void **state)
{
	static const struct span rows[] = {
	    HELLO("5\rX"),
	    BYTES("2\r\r;a\r\n02\r\n"),
	    HELLO("5;a\rb"),
	    HELLO("5;a=\0"),
	    HELLO("5;a=\"\0\""),
	    HELLO("5;"),
	    HELLO("5;;a"),
	    HELLO("5;a="),
	    HELLO("5;a= ;b"),
	    HELLO("5;=b"),
	    HELLO("5;a b"),
	    HELLO("5;a=b c"),
	    HELLO("5;a=b=c"),
	    HELLO("5;a=\"b\"c"),
	    HELLO("5;a=\""),
	    HELLO("5;a=\"\\"),
	    HELLO("5;a@b"),
	    HELLO("0x"),
	    HELLO("0x5"),
	    HELLO(",5"),
	    HELLO(""),
	    HELLO("5 5"),
	    HELLO(" 5"),
	    HELLO("\t5"),
	    HELLO("-5"),
	    HELLO("+5"),
	    HELLO("5\xa0"),
	    HELLO("5\0"),
	    HELLO("5\x0b"),
	    HELLO("5,"),
	    HELLO("5h"),
	    HELLO("ZZ"),
	    HELLO("FFFFFFFFFFFFFFFF5"),
	    HELLO("10000000000000005"),
	    HELLO("8000000000000005"),
	    HELLO("FFFFFFFFFFFFFFFF"),
	    HELLO("00000000000000005"),
	    HELLO("00000000000000000005"),
	    BYTES("5\r\nhello world" END),
	    BYTES("5\r\nhelloXX0\r\n\r\n"),
	    BYTES("5\r\nhello\rX0\r\n\r\n"),
	    BYTES("5\r\nhello\r\r\n0\r\n\r\n"),
	    BYTES("5\r\nhello\r\n\r\n0\r\n\r\n"),
	    BYTES("5\r\nhel" END),
	    BYTES("5\r\nhello\r\n0\r\n\rXGET"),
	    BYTES("0\r\n\0\r\n"),
	    BYTES("0\r\nX-A: a\0b\r\n\r\n"),
	    BYTES("0\r\nX-A : 1\r\n\r\n"),
	    BYTES("0\r\nX-A\r\n\r\n"),
	    BYTES("0\r\n: v\r\n\r\n"),
	    BYTES("0\r\nX: a\r\n b\r\n\r\n"),
	    BYTES("0\r\nX: a\rb\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (int lenient = 0; lenient < 2; lenient++)
			assert_decodes(rows[i], lenient, CHUNKED_BAD,
			    (struct span){0}, 0, (struct span){0});
	}
}

/* Bare LF, and blanks that pad a size: from upstreams only. */
static void
chunked_when_lenient_then_real_servers_are_read(void **state)
{
	static const struct span rows[] = {
	    BYTES("5\nhello\n0\n\n"),
	    BYTES("5\r\nhello\n0\r\n\r\n"),
	    BYTES("5\nhello\r\n0\r\n\r\n"),
	    BYTES("5;a\nhello" END),
	    HELLO("5 "),
	    HELLO("5\t  "),
	    HELLO("5;a "),
	    HELLO("5;a=b "),
	    HELLO("5;a=\"b\" "),
	    BYTES("5\r\nhello\r\n0  \r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_decodes(rows[i], false, CHUNKED_BAD, (struct span){0}, 0,
		    (struct span){0});
		assert_decodes(rows[i], true, CHUNKED_DONE, SPAN("hello"), 0,
		    (struct span){0});
	}
	assert_decodes((struct span)BYTES("5\r\nhell" END), false, CHUNKED_BAD,
	    SPAN(""), 0, SPAN(""));
	assert_decodes((struct span)BYTES("0\nX-A:b\n\n"), true, CHUNKED_DONE,
	    SPAN(""), 0, SPAN("X-A: b\r\n"));
	assert_decodes((struct span)BYTES("0\r\nX-A:b\n\r\n"), false,
	    CHUNKED_BAD, SPAN(""), 0, SPAN(""));
}

static void
chunked_when_cut_short_then_more(void **state)
{
	static const struct span in =
	    BYTES("5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n");
	static struct result r;

	(void)state;
	for (size_t n = 0; n < in.n; n++) {
		decode((struct span){in.p, n}, n, false, &r);
		assert_int_equal(r.verdict, CHUNKED_MORE);
		assert_int_equal(r.used, n);
	}
	decode(in, in.n, false, &r);
	assert_int_equal(r.verdict, CHUNKED_DONE);
}

static void
chunked_when_size_is_largest_then_more_data_is_awaited(void **state)
{
	static const struct span in = BYTES("7fffffffffffffff\r\nabc");
	static struct result r;

	(void)state;
	decode(in, in.n, false, &r);
	assert_int_equal(r.verdict, CHUNKED_MORE);
	assert_int_equal(r.data_n, 3);
}

static void
chunked_when_extensions_are_at_their_limit_then_accepted(void **state)
{
	static const struct span fit = HELLO("5;" A240 "=bbbbbbbbbbbbbb");
	static const struct span over = HELLO("5;" A240 "=bbbbbbbbbbbbbbb");
	static const struct span each =
	    BYTES("1;" A240 "\r\nx\r\n1;" A240 "\r\ny" END);

	(void)state;
	assert_decodes(fit, false, CHUNKED_DONE, SPAN("hello"), 0,
	    (struct span){0});
	assert_decodes(over, false, CHUNKED_BAD, SPAN(""), 0, (struct span){0});
	/* It is a limit of each chunk. */
	assert_decodes(each, false, CHUNKED_DONE, SPAN("xy"), 0,
	    (struct span){0});
}

static void
trailer_when_checked_then_only_what_may_come_late(void **state)
{
	static const struct span in =
	    BYTES("0\r\n"
		  "Grpc-Status: \t 0 \r\nContent-Length: 44\r\nHost: evil\r\n"
		  "transfer-encoding: chunked\r\nConnection: close\r\n"
		  "Proxy-Authorization: Basic x\r\nX-Forwarded-For: 6.6.6.6\r\n"
		  "x-forwarded-anything: 1\r\nForwarded: for=x\r\nCookie: a\r\n"
		  "Authorization: b\r\nSet-Cookie: c\r\nTrailer: d\r\nTE: e\r\n"
		  "Abide-Key: k\r\nVia: 1.1 x\r\nRetry-After: 1\r\n"
		  "Content-Encoding: gzip\r\nCache-Control: x\r\nProxy: x\r\n"
		  "Expect: 100-continue\r\nMax-Forwards: 1\r\nUpgrade: x\r\n"
		  "Digest:sha\r\nEmpty:\r\n\r\n");

	(void)state;
	assert_decodes(in, false, CHUNKED_DONE, SPAN(""), 0,
	    SPAN("Grpc-Status: 0\r\nDigest: sha\r\nEmpty: \r\n"));
}

/* A body whose trailer section, end included, has `bytes` bytes. */
static struct span
long_trailer(size_t bytes, const char *name)
{
	static const char end[] = {'\r', '\n', '\r', '\n'};
	static char text[CHUNKED_TRAILER_MAX + 64];
	size_t value = bytes - strlen(name) - 6;
	int n = snprintf(text, sizeof(text), "0\r\n%s: ", name);

	memset(text + n, 'v', value);
	memcpy(text + (size_t)n + value, end, sizeof(end));
	return (struct span){text, (size_t)n + value + 4};
}

static void
trailer_when_at_its_limit_then_accepted(void **state)
{
	/* "X: v" and a dropped field count alike. */
	static const char *const names[] = {"X", "Cookie"};
	static struct result r;
	struct span in;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		in = long_trailer(CHUNKED_TRAILER_MAX, names[i]);
		decode(in, in.n, false, &r);
		assert_int_equal(r.verdict, CHUNKED_DONE);
		decode(in, SIZE_MAX, false, &r);
		assert_int_equal(r.verdict, CHUNKED_DONE);
		in = long_trailer(CHUNKED_TRAILER_MAX + 1, names[i]);
		decode(in, in.n, false, &r);
		assert_int_equal(r.verdict, CHUNKED_BAD);
		decode(in, SIZE_MAX, false, &r);
		assert_int_equal(r.verdict, CHUNKED_BAD);
	}
}

static void
trailer_when_memory_is_out_then_bad(void **state)
{
	static const struct span in = BYTES("0\r\nX: y\r\n\r\n");
	static struct result r;

	(void)state;
	for (unsigned long at = 1; at <= 2; at++) {
		mem_fail_at(at, true);
		decode(in, in.n, false, &r);
		mem_fail_at(0, false);
		assert_int_equal(r.verdict, CHUNKED_BAD);
		assert_true(r.no_memory);
	}
	decode((struct span)BYTES("0\r\nX y\r\n\r\n"), 0, false, &r);
	assert_int_equal(r.verdict, CHUNKED_BAD);
	assert_false(r.no_memory);
}

static void
free_when_never_used_or_twice_then_fine(void **state)
{
	struct chunked c;

	(void)state;
	chunked_init(&c, false);
	chunked_free(&c);
	chunked_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chunked_when_wellformed_then_decoded),
	    cmocka_unit_test(chunked_when_malformed_then_bad),
	    cmocka_unit_test(chunked_when_lenient_then_real_servers_are_read),
	    cmocka_unit_test(chunked_when_cut_short_then_more),
	    cmocka_unit_test(
		chunked_when_size_is_largest_then_more_data_is_awaited),
	    cmocka_unit_test(
		chunked_when_extensions_are_at_their_limit_then_accepted),
	    cmocka_unit_test(trailer_when_checked_then_only_what_may_come_late),
	    cmocka_unit_test(trailer_when_at_its_limit_then_accepted),
	    cmocka_unit_test(trailer_when_memory_is_out_then_bad),
	    cmocka_unit_test(free_when_never_used_or_twice_then_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

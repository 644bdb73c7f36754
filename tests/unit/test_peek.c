/* SPDX-License-Identifier: MIT */
/* How much of a body is looked at, and when that is enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edge/peek.h"

#define KIB 1024

/* So many chunks of one byte, each with an extension of `ext` bytes. */
static void
put_chunks(struct strbuf *to, size_t n, size_t ext)
{
	for (size_t i = 0; i < n; i++) {
		strbuf_char(to, '1');
		for (size_t k = 0; k < ext; k++)
			strbuf_char(to, k ? 'x' : ';');
		strbuf_span(to, SPAN("\r\na\r\n"));
	}
}

/* Feeds all of it, `step` bytes more each time. Returns those that were fed
 * until it was enough. */
static size_t
feed(struct peek *p, struct span body, size_t step)
{
	size_t n = 0;

	while (n < body.n && !p->enough) {
		n = n + step < body.n ? n + step : body.n;
		peek_feed(p, body.p, n);
	}
	return n;
}

static struct peek *
look_at(enum framing_kind kind, uint64_t length, size_t bytes)
{
	struct look look = {.bytes = bytes, .ms = 1000};
	struct framing f = {.kind = kind, .length = length};
	struct peek *p = peek_new(&look, &f, 0);

	assert_non_null(p);
	return p;
}

/* What comes in is kept until the answer is judged. */
static void
frames_are_bounded_as_well(void **state)
{
	struct strbuf raw;
	struct peek *p = look_at(FRAMING_CHUNKED, 0, 64 * KIB);
	size_t n;

	(void)state;
	strbuf_init(&raw, SIZE_MAX);
	put_chunks(&raw, 10000, 200);
	assert_false(raw.failed);
	n = feed(p, strbuf_view(&raw), 1000);
	assert_true(p->enough);
	assert_false(p->whole);
	assert_in_range(n, 192 * KIB, 193 * KIB);
	peek_free(p);
	strbuf_free(&raw);
}

static void
chunks_of_a_byte_are_read_up_to_the_bound(void **state)
{
	struct strbuf raw;

	(void)state;
	strbuf_init(&raw, SIZE_MAX);
	put_chunks(&raw, 5000, 0);
	assert_false(raw.failed);
	for (size_t step = 1; step < 100000; step *= 7) {
		struct peek *p = look_at(FRAMING_CHUNKED, 0, 4 * KIB);

		(void)feed(p, strbuf_view(&raw), step);
		assert_true(p->enough);
		assert_false(peek_view(p).whole);
		assert_int_equal(peek_view(p).bytes.n, 4 * KIB);
		peek_free(p);
	}
	strbuf_free(&raw);
}

static void
body_is_whole_where_its_framing_says_so(void **state)
{
	static const struct {
		enum framing_kind kind;
		uint64_t length;
		const char *raw, *body;
		bool enough, whole;
	} v[] = {
	    {FRAMING_LENGTH, 3, "ab", "ab", false, false},
	    {FRAMING_LENGTH, 3, "abc", "abc", true, true},
	    {FRAMING_LENGTH, 3, "abcd", "abc", true, true},
	    {FRAMING_CLOSE, 0, "abc", "abc", false, false},
	    {FRAMING_CHUNKED, 0, "3\r\nabc\r\n", "abc", false, false},
	    {FRAMING_CHUNKED, 0, "3\r\nabc\r\n0\r\nA: b\r\n\r\nmore", "abc",
		true, true},
	    {FRAMING_CHUNKED, 0, "3\r\nabcd", "abc", true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		for (size_t step = 1; step < 50; step++) {
			struct peek *p =
			    look_at(v[i].kind, v[i].length, 64 * KIB);

			(void)feed(p, span_of(v[i].raw), step);
			assert_int_equal(p->enough, v[i].enough);
			assert_int_equal(peek_view(p).whole, v[i].whole);
			assert_true(
			    span_eq(peek_view(p).bytes, span_of(v[i].body)));
			peek_free(p);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frames_are_bounded_as_well),
	    cmocka_unit_test(chunks_of_a_byte_are_read_up_to_the_bound),
	    cmocka_unit_test(body_is_whole_where_its_framing_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

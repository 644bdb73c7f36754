/* SPDX-License-Identifier: MIT */
/* Where the first event of a stream ends, and what its data is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/sse.h"

static const struct {
	const char *stream;
	const char *event; /* NULL: none yet */
	const char *data;
} cases[] = {
    {"", NULL, NULL},
    {"data: a", NULL, NULL},
    {"data: a\n", NULL, NULL},
    {"data: a\n\n", "data: a\n", "a"},
    {"data: a\r\n\r\n", "data: a\r\n", "a"},
    {"data: a\r\rx", "data: a\r", "a"},
    {"data:a\n\ndata:b\n\n", "data:a\n", "a"},
    {"data:  a\n\n", "data:  a\n", " a"},
    {"event: error\ndata: {\"x\":1}\n\n", "event: error\ndata: {\"x\":1}\n",
	"{\"x\":1}"},
    {"data: a\ndata: b\ndata\ndata:\n\n", "data: a\ndata: b\ndata\ndata:\n",
	"a\nb\n\n"},
    {": ping\n\n: ping\n\n", NULL, NULL},
    {": ping\n\ndata: a\n\n", "data: a\n", "a"},
    {": ping\r\n\r\nid: 1\r\ndata: a\r\n\r\n", "id: 1\r\ndata: a\r\n", "a"},
    {"retry: 10\n\nevent: e\n\ndata\n\n", "data\n", ""},
    {"\n\n\ndata: a\n\n", "data: a\n", "a"},
    {"\xef\xbb\xbf"
     "data: a\n\n",
	"data: a\n", "a"},
    {"database: a\n\n", NULL, NULL},
    {"dat\n\ndata a\n\n", NULL, NULL},
    {"data: a\n: no\nid: 7\n\n", "data: a\n: no\nid: 7\n", "a"},
};

static void
assert_event(struct span got, const char *event, const char *data)
{
	struct strbuf b;

	assert_true(span_eq(got, span_of(event)));
	strbuf_init(&b, 4096);
	sse_data(got, &b);
	assert_false(b.failed);
	assert_true(span_eq(strbuf_view(&b), span_of(data)));
	strbuf_free(&b);
}

static void
sse_first_event_is_the_first_block_with_data(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sse_scan scan = {0};
		struct span got;
		bool has;

		has = sse_first_event(span_of(cases[i].stream), &scan, &got);
		assert_int_equal(has, cases[i].event != NULL);
		if (has)
			assert_event(got, cases[i].event, cases[i].data);
	}
}

static void
sse_first_event_does_not_depend_on_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].stream);
		struct sse_scan scan = {0};
		struct span got = {NULL, 0};
		bool has = false;

		for (size_t k = 0; k <= n && !has; k++)
			has = sse_first_event((struct span){cases[i].stream, k},
			    &scan, &got);
		assert_int_equal(has, cases[i].event != NULL);
		if (has)
			assert_event(got, cases[i].event, cases[i].data);
	}
}

/* A long line in small pieces must not cost its square: what was looked at could
 * be anything by now. */
static void
sse_first_event_looks_at_each_byte_once(void **state)
{
	static const char whole[] = "data: aaaaaaaa\n\n";
	char stream[sizeof(whole)];
	struct sse_scan scan = {0};
	struct span got;

	(void)state;
	memcpy(stream, whole, sizeof(whole));
	for (size_t k = 1; k <= 14; k++) {
		assert_false(
		    sse_first_event((struct span){stream, k}, &scan, &got));
		stream[k - 1] = '\n';
	}
	memcpy(stream, whole, sizeof(whole));
	assert_true(sse_first_event(span_of(stream), &scan, &got));
	assert_event(got, "data: aaaaaaaa\n", "aaaaaaaa");
}

/* An event that is cut off still has the data of its whole lines. */
static void
sse_data_of_a_cut_event_is_what_is_there(void **state)
{
	struct strbuf b;

	(void)state;
	strbuf_init(&b, 100);
	sse_data(SPAN("event: e\r\ndata: {\"a\":\r\ndata: 1}"), &b);
	assert_true(span_eq(strbuf_view(&b), SPAN("{\"a\":\n1}")));
	strbuf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sse_first_event_is_the_first_block_with_data),
	    cmocka_unit_test(sse_first_event_does_not_depend_on_pieces),
	    cmocka_unit_test(sse_first_event_looks_at_each_byte_once),
	    cmocka_unit_test(sse_data_of_a_cut_event_is_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

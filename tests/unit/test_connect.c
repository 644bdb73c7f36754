/* SPDX-License-Identifier: MIT */
/* CONNECT through a proxy: the request, and what its answers mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/connect.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct head_limits lim = {.head_bytes = 4096,
    .line_bytes = 4096,
    .fields = HEAD_FIELDS_MAX};

static struct head head;
static const char *why;

static enum connect_result
read_all(const char *text, size_t n, size_t *ret_used)
{
	struct connect_answer a = {.interims = 0};

	why = NULL;
	return connect_read(&a, text, n, &lim, &head, ret_used, &why);
}

static void
request_when_built_then_authority_twice(void **state)
{
	struct connect_request how = {.authority = SPAN("[::1]:443")};
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 4096);
	connect_build(&out, &how);
	strbuf_char(&out, '\0');
	assert_string_equal(out.p,
	    "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n");
	strbuf_clear(&out);
	how = (struct connect_request){.authority = SPAN("a.test:80"),
	    .via = SPAN("abided"),
	    .auth = SPAN("Basic dTpw")};
	connect_build(&out, &how);
	strbuf_char(&out, '\0');
	assert_string_equal(out.p,
	    "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n"
	    "Via: 1.1 abided\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
	strbuf_free(&out);
}

static void
request_when_memory_is_short_then_failed(void **state)
{
	struct connect_request how = {.authority = SPAN("a.test:80")};
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 4096);
	mem_fail_at(1, false);
	connect_build(&out, &how);
	mem_fail_at(0, false);
	assert_true(out.failed);
	strbuf_free(&out);
}

static void
answer_when_final_then_its_status_decides(void **state)
{
	static const struct {
		const char *text;
		enum connect_result want;
		int status; /* of OPEN and REFUSED */
	} rows[] = {
	    {"HTTP/1.1 200 Connection established\r\n\r\n", CONNECT_OPEN, 200},
	    {"HTTP/1.0 200 OK\r\n\r\n", CONNECT_OPEN, 200},
	    {"HTTP/1.1 200\r\n\r\n", CONNECT_OPEN, 200},
	    {"HTTP/1.1 299 X\r\nContent-Length: 9\r\n\r\n", CONNECT_OPEN, 299},
	    {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n",
		CONNECT_OPEN, 200},
	    {"HTTP/1.1 300 X\r\n\r\n", CONNECT_REFUSED, 300},
	    {"HTTP/1.1 407 X\r\n\r\n", CONNECT_REFUSED, 407},
	    {"HTTP/1.1 429 X\r\nRetry-After: 3\r\n\r\n", CONNECT_REFUSED, 429},
	    {"HTTP/1.1 503 X\r\n\r\n", CONNECT_REFUSED, 503},
	    {"HTTP/1.1 999 X\r\n\r\n", CONNECT_REFUSED, 999},
	    {"HTTP/1.1 101 X\r\n\r\n", CONNECT_BAD, 0},
	    {"HTTP/1.1 099 X\r\n\r\n", CONNECT_BAD, 0},
	    {"HTTP/2.0 200 X\r\n\r\n", CONNECT_BAD, 0},
	    {"HTTP/1.1 200 X\r\n folded: 1\r\n\r\n", CONNECT_BAD, 0},
	    {"\x15\x03\x01\x00\x02\x02\x28", CONNECT_BAD, 0},
	    {"SSH-2.0-x\r\n", CONNECT_BAD, 0},
	    {"HTTP/1.1 200 X\r\n", CONNECT_AGAIN, 0},
	    {"", CONNECT_AGAIN, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t n = strlen(rows[i].text), used = 9999;
		enum connect_result got = read_all(rows[i].text, n, &used);

		if (got != rows[i].want)
			fail_msg("%s: %d", rows[i].text, (int)got);
		if (rows[i].status) {
			assert_int_equal(head.status, rows[i].status);
			assert_int_equal(used, n);
		} else {
			assert_int_equal(used == 0 || got == CONNECT_BAD, 1);
		}
		assert_int_equal(got == CONNECT_BAD, why != NULL);
	}
}

static void
answer_when_bytes_follow_then_they_are_left(void **state)
{
	static const char text[] = "HTTP/1.1 200 X\r\n\r\n\x16\x03\x01rest";
	size_t used;

	(void)state;
	assert_int_equal(read_all(text, sizeof(text) - 1, &used), CONNECT_OPEN);
	assert_int_equal(used, sizeof(text) - 1 - 7);
}

static void
answer_when_interim_comes_first_then_skipped(void **state)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n"
				   "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
				   "HTTP/1.1 403 No\r\n\r\nbody";
	size_t used;

	(void)state;
	assert_int_equal(read_all(text, sizeof(text) - 1, &used),
	    CONNECT_REFUSED);
	assert_int_equal(head.status, 403);
	assert_int_equal(used, sizeof(text) - 1 - 4);
}

static void
answer_when_interims_do_not_end_then_bad(void **state)
{
	static const char one[] = "HTTP/1.1 102 Wait\r\n\r\n";
	struct connect_answer a = {.interims = 0};
	enum connect_result got = CONNECT_AGAIN;
	unsigned n = 0;
	size_t used;

	(void)state;
	while (got == CONNECT_AGAIN && n < 100) {
		got = connect_read(&a, one, sizeof(one) - 1, &lim, &head, &used,
		    &why);
		assert_int_equal(used, sizeof(one) - 1);
		n++;
	}
	assert_int_equal(got, CONNECT_BAD);
	assert_int_equal(n, CONNECT_INTERIM_MAX + 1);
}

static void
answer_when_head_does_not_end_then_bad(void **state)
{
	static char text[8192];
	size_t used;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[snprintf(text, sizeof(text), "HTTP/1.1 200 ")] = 'x';
	assert_int_equal(read_all(text, sizeof(text), &used), CONNECT_BAD);
}

/* As its owner does: what is used goes, what is left stays and grows. */
static void
answer_when_cut_anywhere_then_the_same(void **state)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n"
				   "HTTP/1.1 200 Fine\r\nA: b\r\n\r\n";
	const size_t n = sizeof(text) - 1;

	(void)state;
	for (size_t step = 1; step <= n; step++) {
		struct connect_answer a = {.interims = 0};
		enum connect_result got = CONNECT_AGAIN;
		size_t from = 0, to = 0, used;

		while (got == CONNECT_AGAIN && to < n) {
			to = to + step > n ? n : to + step;
			got = connect_read(&a, text + from, to - from, &lim,
			    &head, &used, &why);
			from += used;
		}
		assert_int_equal(got, CONNECT_OPEN);
		assert_int_equal(from, n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_when_built_then_authority_twice),
	    cmocka_unit_test(request_when_memory_is_short_then_failed),
	    cmocka_unit_test(answer_when_final_then_its_status_decides),
	    cmocka_unit_test(answer_when_bytes_follow_then_they_are_left),
	    cmocka_unit_test(answer_when_interim_comes_first_then_skipped),
	    cmocka_unit_test(answer_when_interims_do_not_end_then_bad),
	    cmocka_unit_test(answer_when_head_does_not_end_then_bad),
	    cmocka_unit_test(answer_when_cut_anywhere_then_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

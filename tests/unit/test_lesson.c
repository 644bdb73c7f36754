/* SPDX-License-Identifier: MIT */
/* What answers teach beside being refusals or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/lesson.h"

static const struct quota_cfg both = {.percent = 50, .pauses = true};
static struct head head;

static const struct head *
answer(int status, const char *fields)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	static char text[1024];
	struct head_scan scan = {0};
	const char *why = "";
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %d x\r\n%s\r\n", status,
	    fields);

	assert_int_equal(head_response(text, (size_t)n, &scan, &limits, &head,
			     &why),
	    HEAD_OK);
	return &head;
}

static struct lesson
lesson(int status, const char *fields)
{
	return lesson_of(&both, &hint_default, answer(status, fields), 0);
}

static void
quota_of_any_status_is_learned(void **state)
{
	static const int statuses[] = {200, 201, 304, 404};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct lesson l = lesson(statuses[i],
		    "X-RateLimit-Remaining: 3\r\nX-RateLimit-Limit: 10\r\n"
		    "X-RateLimit-Reset-After: 1.5\r\n");

		assert_int_equal(l.quota.remaining, 3);
		assert_int_equal(l.quota.limit, 10);
		assert_int_equal(l.quota.reset_ms, 1500);
		assert_int_equal(l.pause_ms, 0);
	}
	assert_int_equal(lesson(200, "").quota.reset_ms, 0);
}

static void
pause_is_one_of_successes_that_are_no_promise(void **state)
{
	static const struct {
		int status;
		int64_t ms;
	} v[] = {{200, 7000}, {203, 7000}, {204, 7000}, {206, 7000}, {201, 0},
	    {202, 0}, {301, 0}, {304, 0}, {404, 0}, {101, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_int_equal(lesson(v[i].status, "Retry-After: 7\r\n")
				     .pause_ms,
		    v[i].ms);
	assert_int_equal(lesson(200, "Retry-After: soon\r\n").pause_ms, 0);
	assert_int_equal(lesson(200, "Retry-After: 0\r\n").pause_ms, 0);
}

static void
nothing_is_learned_where_it_is_off(void **state)
{
	static const char fields[] = "X-RateLimit-Remaining: 0\r\n"
				     "X-RateLimit-Reset-After: 5\r\n"
				     "Retry-After: 7\r\n";
	static const struct hint_cfg none = {.n = 0};
	struct quota_cfg cfg = {.percent = 0, .pauses = true};
	struct lesson l;

	(void)state;
	l = lesson_of(&cfg, &hint_default, answer(200, fields), 0);
	assert_int_equal(l.quota.reset_ms, 0);
	assert_int_equal(l.pause_ms, 7000);
	cfg = (struct quota_cfg){.percent = 1};
	l = lesson_of(&cfg, &hint_default, answer(200, fields), 0);
	assert_int_equal(l.quota.reset_ms, 5000);
	assert_int_equal(l.pause_ms, 0);
	l = lesson_of(&both, &none, answer(200, fields), 0);
	assert_int_equal(l.quota.reset_ms, 0);
	assert_int_equal(l.pause_ms, 0);
}

static void
marks_are_read_where_they_have_names(void **state)
{
	static const struct {
		const char *value;
		enum lesson_scope is;
	} v[] = {{"global", SCOPE_GLOBAL}, {"Global", SCOPE_GLOBAL},
	    {"true", SCOPE_GLOBAL}, {"shared", SCOPE_SHARED},
	    {"user", SCOPE_BUCKET}, {"", SCOPE_BUCKET},
	    {"false", SCOPE_BUCKET}};
	struct lesson_cfg cfg = {SPAN("x-bucket"), SPAN("x-scope")};
	struct lesson l;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char fields[100];

		(void)snprintf(fields, sizeof(fields),
		    "X-Bucket: abc\r\nX-Scope: %s\r\n", v[i].value);
		l = (struct lesson){.pause_ms = 0};
		lesson_marks(&l, &cfg, answer(429, fields));
		assert_true(span_eq(l.bucket, SPAN("abc")));
		assert_int_equal(l.scope, v[i].is);
		l = (struct lesson){.pause_ms = 0};
		lesson_marks(&l, &(struct lesson_cfg){.bucket = {NULL, 0}},
		    answer(429, fields));
		assert_int_equal(l.bucket.n, 0);
		assert_int_equal(l.scope, SCOPE_BUCKET);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quota_of_any_status_is_learned),
	    cmocka_unit_test(pause_is_one_of_successes_that_are_no_promise),
	    cmocka_unit_test(nothing_is_learned_where_it_is_off),
	    cmocka_unit_test(marks_are_read_where_they_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

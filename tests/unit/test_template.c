/* SPDX-License-Identifier: MIT */
/* Which paths are of one kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/template.h"

static const struct hash_key key = {1, 2};

static uint64_t
of(const char *method, const char *path)
{
	return template_hash(&key, span_of(method), span_of(path));
}

static void
segment_that_names_one_thing_is_an_id(void **state)
{
	static const struct {
		const char *segment;
		bool is;
	} v[] = {{"", false}, {"users", false}, {"v10", false}, {"@me", false},
	    {"17", true}, {"0", true}, {"81384788765712384", true},
	    {"deadbeef", false}, {"deadbee1", true}, {"dead1", false},
	    {"3fa85f64-5717-4562-b3fc-2c963f66afa6", true},
	    {"aW50ZXJhY3Rpb246MTI", true}, {"aW50ZXJhY3Rpb24", false},
	    {"pull-requests-by-name", false}, {"%F0%9F%91%8D", true},
	    {"report.2026", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (template_is_id(span_of(v[i].segment)) != v[i].is)
			fail_msg("'%s'", v[i].segment);
}

static void
paths_of_one_kind_hash_alike(void **state)
{
	(void)state;
	assert_int_equal(of("GET", "/users/1/posts"),
	    of("GET", "/users/4711/posts"));
	assert_int_equal(of("GET", "/users/1?x=1"), of("GET", "/users/2?y"));
	assert_int_equal(of("GET", "/a/deadbee1/b"), of("GET", "/a/17/b"));
}

static void
paths_of_other_kinds_do_not(void **state)
{
	static const char *const v[] = {"/users/1/posts", "/users/1/likes",
	    "/users/me/posts", "/users/1", "/users/1/", "/users", "/", "",
	    "/users/1/posts/2", "users/1/posts", "/1/users/posts"};
	size_t n = sizeof(v) / sizeof(v[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(of("GET", v[i]), of("GET", v[j]));
	assert_int_not_equal(of("GET", "/x"), of("POST", "/x"));
	assert_int_not_equal(of("", ""), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(segment_that_names_one_thing_is_an_id),
	    cmocka_unit_test(paths_of_one_kind_hash_alike),
	    cmocka_unit_test(paths_of_other_kinds_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

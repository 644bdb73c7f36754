/* SPDX-License-Identifier: MIT */
/* Host patterns and routes: grammar, precedence, duplicates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "policy/pattern.h"
#include "policy/rules.h"

/* Services are strings here: what a lookup finds is easy to compare. */
static enum rules_result
add(struct rules *r, const char *pattern, const char *service)
{
	void *other = NULL;
	const char *why = NULL;

	return rules_add_host(r, span_of(pattern), (void *)(uintptr_t)service,
	    &other, &why);
}

static enum rules_result
add_route(struct rules *r, const char *prefix, const char *service)
{
	void *other = NULL;
	const char *why = NULL;

	return rules_add_route(r, span_of(prefix), (void *)(uintptr_t)service,
	    &other, &why);
}

static const char *
find(const struct rules *r, const char *host, uint16_t port)
{
	const char *service = rules_find_host(r, span_of(host), port);

	return service ? service : "none";
}

/* "service:bytes" */
static const char *
find_route(const struct rules *r, const char *path)
{
	static char text[64];
	size_t n = 999;
	const char *service = rules_find_route(r, span_of(path), &n);

	(void)snprintf(text, sizeof(text), "%s:%zu", service ? service : "none",
	    n);
	return text;
}

static void
rules_empty_finds_none(void **state)
{
	struct rules r;

	(void)state;
	assert_int_equal(rules_init(&r), 0);
	assert_string_equal(find(&r, "api.test", 80), "none");
	assert_string_equal(find(&r, "", 80), "none");
	assert_string_equal(find_route(&r, "/a/b"), "none:999");
	assert_string_equal(find_route(&r, ""), "none:999");
	rules_free(&r);
}

/* clang-format off */
static const char *const hosts[] = {
	"api.test", "api.test:8080", "*.api.test", "*.api.test:8080",
	"*.eu.api.test", "*.test:9000", "192.0.2.1", "[2001:db8::1]",
	"[2001:db8::1]:8443", "UPPER.test", "dot.test.", "*.Wild.Test.",
	"under_score.test", "x", "xn--bcher-kva.test", "last.test:65535",
	"first.test:1",
};

static const struct {
	const char *host;
	uint16_t port;
	const char *found;
} finds[] = {
	{"api.test", 80, "api.test"},
	{"api.test", 8080, "api.test:8080"},
	{"api.test", 8081, "api.test"},
	{"API.TEST", 80, "api.test"},
	{"api.test.", 8080, "api.test:8080"},
	{"api.test..", 80, "none"},
	{"upper.TEST", 80, "UPPER.test"},
	{"dot.test", 80, "dot.test."},
	{"dot.test.", 80, "dot.test."},
	{"a.api.test", 80, "*.api.test"},
	{"a.api.test", 8080, "*.api.test:8080"},
	{"A.Api.Test.", 80, "*.api.test"},
	{"a.b.api.test", 80, "*.api.test"},
	{"a.eu.api.test", 80, "*.eu.api.test"},
	{"a.eu.api.test", 8080, "*.eu.api.test"},
	{"eu.api.test", 80, "*.api.test"},
	{"xapi.test", 80, "none"},
	{"xapi.test", 9000, "*.test:9000"},
	{"a.api.test", 9000, "*.api.test"},
	{".api.test", 80, "none"},
	{"a..api.test", 80, "*.api.test"},
	{"wild.test", 80, "none"},
	{"a.wild.test", 80, "*.Wild.Test."},
	{"test", 9000, "none"},
	{"192.0.2.1", 80, "192.0.2.1"},
	{"192.0.2.10", 80, "none"},
	{"2001:db8::1", 80, "[2001:db8::1]"},
	{"2001:DB8:0:0:0:0:0:1", 80, "[2001:db8::1]"},
	{"2001:0db8:0::0.0.0.1", 8443, "[2001:db8::1]:8443"},
	{"2001:db8::2", 80, "none"},
	{"under_score.test", 80, "under_score.test"},
	{"x", 80, "x"},
	{"xn--bcher-kva.test", 80, "xn--bcher-kva.test"},
	{"last.test", 65535, "last.test:65535"},
	{"last.test", 80, "none"},
	{"first.test", 1, "first.test:1"},
	{"last.test", 0, "none"},
	{"a.b.c", 80, "none"},
};
/* clang-format on */

static void
rules_most_specific_host_wins(void **state)
{
	struct rules r;
	size_t n = sizeof(hosts) / sizeof(hosts[0]);

	(void)state;
	/* In any order of adding. */
	for (int backwards = 0; backwards < 2; backwards++) {
		assert_int_equal(rules_init(&r), 0);
		for (size_t i = 0; i < n; i++) {
			const char *p = hosts[backwards ? n - 1 - i : i];

			assert_int_equal(add(&r, p, p), RULES_OK);
		}
		for (size_t i = 0; i < sizeof(finds) / sizeof(finds[0]); i++)
			assert_string_equal(find(&r, finds[i].host,
						finds[i].port),
			    finds[i].found);
		rules_free(&r);
	}
}

static void
rules_any_takes_what_is_left(void **state)
{
	static char longer[PATTERN_HOST_MAX + 2];
	struct rules r;

	(void)state;
	memset(longer, 'a', PATTERN_HOST_MAX + 1);
	memcpy(longer + PATTERN_HOST_MAX + 1 - 5, ".test", 5);
	assert_int_equal(rules_init(&r), 0);
	assert_int_equal(add(&r, "*", "any"), RULES_OK);
	assert_int_equal(add(&r, "*.test", "wild"), RULES_OK);
	assert_string_equal(find(&r, "a.test", 80), "wild");
	assert_string_equal(find(&r, "test", 80), "any");
	assert_string_equal(find(&r, "", 80), "any");
	assert_string_equal(find(&r, "::1", 80), "any");
	assert_string_equal(find(&r, longer, 80), "any");
	assert_string_equal(find(&r, longer + 1, 80), "wild");
	rules_free(&r);
}

static void
rules_host_at_most_253_bytes(void **state)
{
	char host[PATTERN_HOST_MAX + 2];
	struct rules r;

	(void)state;
	for (size_t i = 0; i < sizeof(host) - 1; i++)
		host[i] = i % 64 == 63 ? '.' : 'a';
	host[sizeof(host) - 1] = '\0';
	assert_int_equal(rules_init(&r), 0);
	assert_int_equal(add(&r, host, "long"), RULES_BAD);
	host[PATTERN_HOST_MAX] = '\0';
	assert_int_equal(add(&r, host, "long"), RULES_OK);
	assert_string_equal(find(&r, host, 80), "long");
	rules_free(&r);
}

static void
rules_label_at_most_63_bytes(void **state)
{
	char host[] = "0123456789012345678901234567890123456789"
		      "0123456789012345678901234.test";
	struct rules r;

	(void)state;
	assert_int_equal(strcspn(host, "."), 65);
	assert_int_equal(rules_init(&r), 0);
	assert_int_equal(add(&r, host + 1, "a"), RULES_BAD);
	assert_int_equal(add(&r, host + 2, "a"), RULES_OK);
	rules_free(&r);
}

static void
rules_bad_host_patterns_are_refused(void **state)
{
	static const char *const bad[] = {"", ".", "..", "a..b", ".a", "a..",
	    "-a.test", "a-.test", "a.-b", "a b", "a/b", "http://a",
	    "a.test:", "a.test:0", "a.test:65536", "a.test:8o", "a.test:-1",
	    "a.test:99999999999999999999", ":80", "*:80", "*.", "*.:80", "**",
	    "*a.test", "a.*.test", "*.*.test", "a*", "::1", "a:b:c", "a:80:90",
	    "[::1", "[::1]x", "[::1]:", "[::1]:0", "[::1]:65536", "[]",
	    "[1.2.3.4]", "[a.test]", "[::1%eth0]", "[1:2:3:4:5:6:7]",
	    "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7:8::]", "[0::2:3:4:5:6:7:8]",
	    "[1::2::3]", "[:::]", "[1:::2]", "[1:]", "[:1]", "[1::2:]",
	    "[1:2:3:4:5:6:7:8:]", "[:1:2:3:4:5:6:7:8]", "[:1::]", "[12345::]",
	    "[::g]", "[::1.2.3]", "[::1.2.3.256]", "[::1.2.3.4.5]",
	    "[::1.2.3.0004]", "[1:2:3:4:5:6:7:1.2.3.4]", "*.2.1", "*.1",
	    "user@a.test", "caf\xc3\xa9.test"};
	struct rules r;

	(void)state;
	assert_int_equal(rules_init(&r), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		void *other = NULL;
		const char *why = NULL;

		if (rules_add_host(&r, span_of(bad[i]), &r, &other, &why) !=
		    RULES_BAD)
			fail_msg("accepted: %s", bad[i]);
		assert_non_null(why);
		assert_true(strlen(why) > 5);
	}
	assert_int_equal(r.exact.n + r.suffix.n, 0);
	assert_null(r.any);
	rules_free(&r);
}

static void
rules_ip6_spellings_are_one_address(void **state)
{
	/* Each line: spellings of one address, the first is added. */
	static const char *const same[][3] = {
	    {"::", "0:0:0:0:0:0:0:0", "0::"},
	    {"::1", "0:0:0:0:0:0:0:1", "::0.0.0.1"},
	    {"1::", "1:0:0:0:0:0:0:0", "0001::0"},
	    {"a:b:c:d:e:f:1:2", "A:B:C:D:E:F:1:2", "a:b:c:d:e:f:0.1.0.2"},
	    {"::ffff:1.2.3.4", "::FFFF:102:304", "0:0:0:0:0:ffff:1.2.3.4"},
	    {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0000"},
	    {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8", "0000:2:3:4:5:6:7:8"},
	};
	struct rules r;
	char pattern[64];

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		assert_int_equal(rules_init(&r), 0);
		(void)snprintf(pattern, sizeof(pattern), "[%s]", same[i][0]);
		assert_int_equal(add(&r, pattern, "six"), RULES_OK);
		for (size_t j = 0; j < 3; j++)
			assert_string_equal(find(&r, same[i][j], 80), "six");
		assert_string_equal(find(&r, "1:2:3:4:5:6:7:9", 80), "none");
		rules_free(&r);
	}
}

static void
rules_same_pattern_twice_is_a_duplicate(void **state)
{
	static const char *const pairs[][2] = {{"*", "*"},
	    {"api.test", "API.test."}, {"a.test:80", "A.test:0080"},
	    {"*.api.test", "*.api.TEST"}, {"*.api.test:1", "*.api.test.:1"},
	    {"[::1]", "[0::1]"}, {"[::1]:80", "[::0.0.0.1]:80"}};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct rules r;
		int first, second;
		void *other = NULL;
		const char *why = NULL;

		assert_int_equal(rules_init(&r), 0);
		assert_int_equal(rules_add_host(&r, span_of(pairs[i][0]),
				     &first, &other, &why),
		    RULES_OK);
		assert_null(other);
		assert_int_equal(rules_add_host(&r, span_of(pairs[i][1]),
				     &second, &other, &why),
		    RULES_DUPLICATE);
		assert_ptr_equal(other, &first);
		rules_free(&r);
	}
}

static void
rules_ports_and_wildcards_are_no_duplicates(void **state)
{
	struct rules r;

	(void)state;
	assert_int_equal(rules_init(&r), 0);
	assert_int_equal(add(&r, "api.test", "a"), RULES_OK);
	assert_int_equal(add(&r, "api.test:80", "b"), RULES_OK);
	assert_int_equal(add(&r, "api.test:81", "c"), RULES_OK);
	assert_int_equal(add(&r, "*.api.test", "d"), RULES_OK);
	assert_int_equal(add(&r, "*.api.test:80", "e"), RULES_OK);
	rules_free(&r);
}

static void
rules_thousand_hosts_are_all_found(void **state)
{
	static char names[1000][32];
	struct rules r;

	(void)state;
	assert_int_equal(rules_init(&r), 0);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "host%d.api.test",
		    i);
		assert_int_equal(add(&r, names[i], names[i]), RULES_OK);
	}
	for (int i = 0; i < 1000; i++)
		assert_string_equal(find(&r, names[i], 80), names[i]);
	assert_string_equal(find(&r, "host1000.api.test", 80), "none");
	rules_free(&r);
}

static void
rules_longest_route_wins(void **state)
{
	struct rules r;

	(void)state;
	assert_int_equal(rules_init(&r), 0);
	assert_int_equal(add_route(&r, "/a/", "a"), RULES_OK);
	assert_int_equal(add_route(&r, "/a/b/", "b"), RULES_OK);
	assert_int_equal(add_route(&r, "/A/", "upper"), RULES_OK);
	assert_string_equal(find_route(&r, "/a/"), "a:3");
	assert_string_equal(find_route(&r, "/a/x"), "a:3");
	assert_string_equal(find_route(&r, "/a/b"), "a:3");
	assert_string_equal(find_route(&r, "/a/b/"), "b:5");
	assert_string_equal(find_route(&r, "/a/b/c/d/e/f"), "b:5");
	assert_string_equal(find_route(&r, "/a/bc/"), "a:3");
	assert_string_equal(find_route(&r, "/A/b/"), "upper:3");
	assert_string_equal(find_route(&r, "/a"), "none:999");
	assert_string_equal(find_route(&r, "/"), "none:999");
	assert_string_equal(find_route(&r, "/x/a/"), "none:999");
	assert_string_equal(find_route(&r, "/a?/b/"), "none:999");
	assert_string_equal(find_route(&r, "/a/?/b/"), "a:3");
	assert_int_equal(add_route(&r, "/", "root"), RULES_OK);
	assert_string_equal(find_route(&r, "/x"), "root:1");
	assert_string_equal(find_route(&r, "/a/b/c"), "b:5");
	assert_string_equal(find_route(&r, "*"), "none:999");
	rules_free(&r);
}

static void
rules_bad_routes_are_refused(void **state)
{
	static const char *const bad[] = {"", "a", "/a", "a/", "//", "/a//",
	    "//a/", "/./", "/../", "/a/../b/", "/a?b/", "/a#/", "/a b/",
	    "/a\x7f/", "/caf\xc3\xa9/", "/a\tb/"};
	struct rules r;

	(void)state;
	assert_int_equal(rules_init(&r), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (add_route(&r, bad[i], "x") != RULES_BAD)
			fail_msg("accepted: %s", bad[i]);
	}
	assert_int_equal(r.routes.n, 0);
	assert_int_equal(add_route(&r, "/.well-known/..x/%2e/~/", "x"),
	    RULES_OK);
	rules_free(&r);
}

static void
rules_route_at_most_255_bytes(void **state)
{
	char prefix[RULES_PREFIX_MAX + 2];
	struct rules r;

	(void)state;
	memset(prefix, 'a', sizeof(prefix));
	prefix[0] = prefix[RULES_PREFIX_MAX] = '/';
	prefix[RULES_PREFIX_MAX + 1] = '\0';
	assert_int_equal(rules_init(&r), 0);
	assert_int_equal(add_route(&r, prefix, "long"), RULES_BAD);
	prefix[RULES_PREFIX_MAX - 1] = '/';
	prefix[RULES_PREFIX_MAX] = '\0';
	assert_int_equal(add_route(&r, prefix, "long"), RULES_OK);
	assert_string_equal(find_route(&r, prefix), "long:255");
	rules_free(&r);
}

static void
rules_same_route_twice_is_a_duplicate(void **state)
{
	struct rules r;
	int first, second;
	void *other = NULL;
	const char *why = NULL;

	(void)state;
	assert_int_equal(rules_init(&r), 0);
	assert_int_equal(rules_add_route(&r, SPAN("/a/"), &first, &other, &why),
	    RULES_OK);
	assert_int_equal(rules_add_route(&r, SPAN("/a/"), &second, &other,
			     &why),
	    RULES_DUPLICATE);
	assert_ptr_equal(other, &first);
	rules_free(&r);
}

static void
rules_without_memory_say_so(void **state)
{
	struct rules r;

	(void)state;
	for (unsigned long n = 1; n <= 3; n++) {
		mem_fail_at(n, false);
		assert_int_equal(rules_init(&r), -1);
		mem_fail_at(0, false);
	}
	assert_int_equal(rules_init(&r), 0);
	mem_fail_at(1, true);
	assert_int_equal(add(&r, "a.test", "a"), RULES_NO_MEMORY);
	assert_int_equal(add(&r, "*.a.test", "a"), RULES_NO_MEMORY);
	assert_int_equal(add_route(&r, "/a/", "a"), RULES_NO_MEMORY);
	mem_fail_at(0, false);
	assert_string_equal(find(&r, "a.test", 80), "none");
	assert_int_equal(r.routes_longest, 0);
	rules_free(&r);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules_empty_finds_none),
	    cmocka_unit_test(rules_most_specific_host_wins),
	    cmocka_unit_test(rules_any_takes_what_is_left),
	    cmocka_unit_test(rules_host_at_most_253_bytes),
	    cmocka_unit_test(rules_label_at_most_63_bytes),
	    cmocka_unit_test(rules_bad_host_patterns_are_refused),
	    cmocka_unit_test(rules_ip6_spellings_are_one_address),
	    cmocka_unit_test(rules_same_pattern_twice_is_a_duplicate),
	    cmocka_unit_test(rules_ports_and_wildcards_are_no_duplicates),
	    cmocka_unit_test(rules_thousand_hosts_are_all_found),
	    cmocka_unit_test(rules_longest_route_wins),
	    cmocka_unit_test(rules_bad_routes_are_refused),
	    cmocka_unit_test(rules_route_at_most_255_bytes),
	    cmocka_unit_test(rules_same_route_twice_is_a_duplicate),
	    cmocka_unit_test(rules_without_memory_say_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Request targets, authorities and Host lines: what is read or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proto/target.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES(lit) \
	{ \
		(lit), sizeof(lit) - 1 \
	}
#define X16 "xxxxxxxxxxxxxxxx"
#define X240 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

static const char *why;

static void
authority_when_valid_then_taken_apart(void **state)
{
	static const struct {
		struct span in;
		uint16_t default_port;
		const char *host, *text;
		bool ip6, has_port;
		uint16_t port;
	} rows[] = {
	    {BYTES("a.test"), 80, "a.test", "a.test", false, false, 80},
	    {BYTES("a.test:80"), 80, "a.test", "a.test", false, true, 80},
	    {BYTES("a.test:0080"), 80, "a.test", "a.test", false, true, 80},
	    {BYTES("a.test:80"), 443, "a.test", "a.test:80", false, true, 80},
	    {BYTES("a.test:443"), 0, "a.test", "a.test:443", false, true, 443},
	    {BYTES("A.test.:1"), 80, "A.test.", "A.test.:1", false, true, 1},
	    {BYTES("a:65535"), 80, "a", "a:65535", false, true, 65535},
	    {BYTES("127.0.0.1:8080"), 80, "127.0.0.1", "127.0.0.1:8080", false,
		true, 8080},
	    {BYTES("[::1]"), 80, "::1", "[::1]", true, false, 80},
	    {BYTES("[::1]:80"), 80, "::1", "[::1]", true, true, 80},
	    {BYTES("[2001:db8::A]:81"), 80, "2001:db8::A", "[2001:db8::A]:81",
		true, true, 81},
	    {BYTES("[::ffff:127.0.0.1]:80"), 80, "::ffff:127.0.0.1",
		"[::ffff:127.0.0.1]", true, true, 80},
	    {BYTES("a_b-c~d!$&'()*+,;="), 80,
		"a_b-c~d!$&'()*+,;=", "a_b-c~d!$&'()*+,;=", false, false, 80},
	    {BYTES(X240 "xxxxxxxxxxxxxxx"), 80, X240 "xxxxxxxxxxxxxxx",
		X240 "xxxxxxxxxxxxxxx", false, false, 80},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct authority a;

		why = NULL;
		if (target_authority(rows[i].in, rows[i].default_port, &a,
			&why) != 0)
			fail_msg("%.*s: %s", SPAN_ARG(rows[i].in), why);
		assert_true(span_eq(a.host, span_of(rows[i].host)));
		assert_true(span_eq(a.text, span_of(rows[i].text)));
		assert_int_equal(a.is_ip6, rows[i].ip6);
		assert_int_equal(a.has_port, rows[i].has_port);
		assert_int_equal(a.port, rows[i].port);
	}
}

static void
authority_when_two_readings_then_refused(void **state)
{
	static const struct span rows[] = {
	    BYTES(""),
	    BYTES(":80"),
	    BYTES("a:"),
	    BYTES("a:x"),
	    BYTES("a:80a"),
	    BYTES("a:0x50"),
	    BYTES("a:-1"),
	    BYTES("a:+80"),
	    BYTES("a: 80"),
	    BYTES("a:0"),
	    BYTES("a:00"),
	    BYTES("a:65536"),
	    BYTES("a:99999"),
	    BYTES("a:4294967376"),
	    BYTES("a:18446744073709551696"),
	    BYTES("a:1:2"),
	    BYTES("u:p@a"),
	    BYTES("u@a:80"),
	    BYTES("a@"),
	    BYTES("::1"),
	    BYTES("::1:80"),
	    BYTES("fe80::1"),
	    BYTES("["),
	    BYTES("[]"),
	    BYTES("[::1"),
	    BYTES("[::1]x"),
	    BYTES("[::1]x:80"),
	    BYTES("[::1]:"),
	    BYTES("[::1]:0"),
	    BYTES("[fe80::1%25lo]:80"),
	    BYTES("[fe80::1%lo]"),
	    BYTES("[127.0.0.1]"),
	    BYTES("[a.test]"),
	    BYTES("[v1.x]"),
	    BYTES("[::1\0]"),
	    BYTES("[1:2:3:4:5:6:7:8:9]"),
	    BYTES("[0000:0000:0000:0000:0000:0000:0000:0000:0000:00001]"),
	    BYTES("%31%32%37.0.0.1"),
	    BYTES("a b"),
	    BYTES("a "),
	    BYTES("a/x"),
	    BYTES("a\\b"),
	    BYTES("a?q"),
	    BYTES("\xff"
		  "x"),
	    BYTES("a\0"),
	    BYTES("<script>"),
	    BYTES("a\"b"),
	    BYTES("a|b"),
	    BYTES("a^b"),
	    BYTES("a`b"),
	    BYTES("a{b}"),
	    BYTES(".a"),
	    BYTES("a..b"),
	    BYTES("."),
	    BYTES("a.."),
	    BYTES(X240 X16),
	    BYTES("\xe2\x91\xa0.0.0.1"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct authority a = {.port = 7};

		why = NULL;
		if (target_authority(rows[i], 80, &a, &why) != -1)
			fail_msg("accepted: %.*s", SPAN_ARG(rows[i]));
		assert_non_null(why);
		assert_int_equal(a.port, 7); /* untouched */
	}
}

static void
authority_when_port_must_be_given_then_refused_without(void **state)
{
	struct authority a;

	(void)state;
	assert_int_equal(target_authority(SPAN("a.test"), 0, &a, &why), -1);
	assert_int_equal(target_authority(SPAN("[::1]"), 0, &a, &why), -1);
	assert_int_equal(target_authority(SPAN("[::1]:1"), 0, &a, &why), 0);
}

static void
target_when_valid_then_form_and_parts(void **state)
{
	static const struct {
		const char *method, *in;
		enum target_form form;
		const char *scheme, *host;
		unsigned port;
		const char *path;
		bool query_only;
	} rows[] = {
	    {"GET", "http://a.test", TARGET_ABSOLUTE, "http", "a.test", 80, "/",
		false},
	    {"GET", "http://a.test/", TARGET_ABSOLUTE, "http", "a.test", 80,
		"/", false},
	    {"GET", "http://a?q=/1", TARGET_ABSOLUTE, "http", "a", 80, "?q=/1",
		true},
	    {"GET", "HtTp://a:81/b?c", TARGET_ABSOLUTE, "HtTp", "a", 81, "/b?c",
		false},
	    {"GET", "https://a/", TARGET_ABSOLUTE, "https", "a", 443, "/",
		false},
	    {"GET", "http://[::1]:8/x", TARGET_ABSOLUTE, "http", "::1", 8, "/x",
		false},
	    {"GET", "http://a/a/../b/./c//d;p=1", TARGET_ABSOLUTE, "http", "a",
		80, "/a/../b/./c//d;p=1", false},
	    {"GET", "http://a/a%2F%00?q=%0d%0a@b:c", TARGET_ABSOLUTE, "http",
		"a", 80, "/a%2F%00?q=%0d%0a@b:c", false},
	    {"GET", "http://a/http://b/", TARGET_ABSOLUTE, "http", "a", 80,
		"/http://b/", false},
	    {"OPTIONS", "http://a", TARGET_ABSOLUTE, "http", "a", 80, "*",
		false},
	    {"OPTIONS", "http://a/", TARGET_ABSOLUTE, "http", "a", 80, "/",
		false},
	    {"OPTIONS", "http://a?", TARGET_ABSOLUTE, "http", "a", 80, "?",
		true},
	    {"GET", "/", TARGET_ORIGIN, "", "", 0, "/", false},
	    {"GET", "//a/x?y", TARGET_ORIGIN, "", "", 0, "//a/x?y", false},
	    {"CONNECT", "a.test:443", TARGET_AUTHORITY, "", "a.test", 443, "",
		false},
	    {"CONNECT", "[::1]:22", TARGET_AUTHORITY, "", "::1", 22, "", false},
	    {"OPTIONS", "*", TARGET_ASTERISK, "", "", 0, "*", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct target t;

		if (target_parse(span_of(rows[i].method), span_of(rows[i].in),
			&t, &why) != 0)
			fail_msg("%s: %s", rows[i].in, why);
		assert_int_equal(t.form, rows[i].form);
		assert_true(span_eq(t.scheme, span_of(rows[i].scheme)));
		assert_true(span_eq(t.authority.host, span_of(rows[i].host)));
		assert_int_equal(t.authority.port, rows[i].port);
		assert_true(span_eq(t.path, span_of(rows[i].path)));
		assert_int_equal(t.query_only, rows[i].query_only);
	}
}

static void
target_when_no_form_fits_then_refused(void **state)
{
	static const struct {
		const char *method, *in;
	} rows[] = {
	    {"GET", ""},
	    {"GET", "a.test:80"},
	    {"GET", "a.test"},
	    {"GET", "*"},
	    {"options", "*"},
	    {"OPTIONS", "**"},
	    {"GET", ":80/"},
	    {"GET", "file:///etc/passwd"},
	    {"GET", "ftp://a/x"},
	    {"GET", "gopher://a/_x"},
	    {"GET", "httpx://a/"},
	    {"GET", "javascript:alert(1)"},
	    {"GET", "cache_object://a/info"},
	    {"GET", "://a/"},
	    {"GET", "http:/a"},
	    {"GET", "http:a"},
	    {"GET", "http//a"},
	    {"GET", "http:///x"},
	    {"GET", "http://"},
	    {"GET", "http://:80/x"},
	    {"GET", "http://?q"},
	    {"GET", "http://a/b#frag"},
	    {"GET", "http://a#frag"},
	    {"GET", "/b#"},
	    {"GET", "http://u:p@a/"},
	    {"GET", "http://good:80@a/"},
	    {"GET", "http://a\\@b/"},
	    {"GET", "http://[::1]x:80/"},
	    {"GET", "http://a:65536/"},
	    {"GET", "http://%61/"},
	    {"CONNECT", "a.test"},
	    {"CONNECT", "a.test:"},
	    {"CONNECT", ":443"},
	    {"CONNECT", "/"},
	    {"CONNECT", "*"},
	    {"CONNECT", "a:443/path"},
	    {"CONNECT", "a:443?q"},
	    {"CONNECT", "http://a:443/"},
	    {"CONNECT", "u:p@a:443"},
	    {"CONNECT", "a:1:2"},
	    {"CONNECT", "[::1"},
	    {"CONNECT", "a:0"},
	    {"CONNECT", "a:443#f"},
	    {"connect", "a:443"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct target t;

		why = NULL;
		if (target_parse(span_of(rows[i].method), span_of(rows[i].in),
			&t, &why) != -1)
			fail_msg("accepted: %s %s", rows[i].method, rows[i].in);
		assert_non_null(why);
	}
}

/* A request for `target` with up to two Host lines; what the check says. */
static int
check_host(const char *target, int minor, const char *first, const char *second)
{
	static const struct head_limits lim = {.head_bytes = 1024,
	    .line_bytes = 1024,
	    .fields = 9};
	static struct head h;
	const char *lines[] = {first, second};
	struct head_scan scan = {0};
	struct target t;
	char text[512];
	int n =
	    snprintf(text, sizeof(text), "GET %s HTTP/1.%d\r\n", target, minor);

	for (size_t i = 0; i < 2 && lines[i] != NULL; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
		    "X: x\r\nHost: %s\r\n", lines[i]);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\r\n");
	assert_int_equal(head_request(text, (size_t)n, &scan, &lim, &h, &why),
	    HEAD_OK);
	assert_int_equal(target_parse(h.method, h.target, &t, &why), 0);
	why = NULL;
	return target_host_check(&h, &t, &why);
}

static void
host_when_one_valid_or_empty_then_accepted(void **state)
{
	(void)state;
	assert_int_equal(check_host("http://a/", 1, "a", NULL), 0);
	assert_int_equal(check_host("http://a/", 1, "[::1]:80", NULL), 0);
	assert_int_equal(check_host("http://a/", 1, "", NULL), 0);
	assert_int_equal(check_host("http://a/", 1, "evil.test", NULL), 0);
	assert_int_equal(check_host("/", 1, "a", NULL), 0);
	assert_int_equal(check_host("http://a/", 0, NULL, NULL), 0);
	assert_int_equal(check_host("/", 0, NULL, NULL), 0);
}

static void
host_when_missing_repeated_or_invalid_then_refused(void **state)
{
	static const char *const bad[] = {"a:x", "a:99999", "\xffx", "a/x",
	    "a b", "a:1:2", "u:p@a", "a,b:", "a:", ":80", "http://a"};

	(void)state;
	assert_int_equal(check_host("http://a/", 1, NULL, NULL), -1);
	assert_int_equal(check_host("/", 1, NULL, NULL), -1);
	assert_int_equal(check_host("http://a/", 1, "a", "a"), -1);
	assert_int_equal(check_host("http://a/", 1, "a", "evil.test"), -1);
	assert_int_equal(check_host("http://a/", 1, "", ""), -1);
	assert_int_equal(check_host("http://a/", 0, "a", "a"), -1);
	assert_int_equal(check_host("/", 1, "", NULL), -1);
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (check_host("http://a/", 1, bad[i], NULL) != -1)
			fail_msg("accepted: %s", bad[i]);
		assert_non_null(why);
		assert_int_equal(check_host("http://a/", 0, bad[i], NULL), -1);
	}
}

static void
host_eq_when_case_or_last_dot_differs_then_equal(void **state)
{
	(void)state;
	assert_true(target_host_eq(SPAN("Api.Test"), SPAN("api.test.")));
	assert_true(target_host_eq(SPAN("::A"), SPAN("::a")));
	assert_false(target_host_eq(SPAN("api.test.."), SPAN("api.test")));
	assert_false(target_host_eq(SPAN("api.test"), SPAN("api.tes")));
	assert_false(target_host_eq(SPAN("api-test"), SPAN("api.test")));
}

static void
authority_when_put_then_as_it_is_sent(void **state)
{
	static const struct {
		const char *host;
		uint16_t port, def;
		const char *want;
	} rows[] = {
	    {"a.test", 80, 80, "a.test"},
	    {"a.test", 443, 80, "a.test:443"},
	    {"a.test", 80, 0, "a.test:80"},
	    {"127.0.0.1", 65535, 80, "127.0.0.1:65535"},
	    {"::1", 443, 443, "[::1]"},
	    {"2001:db8::1", 80, 443, "[2001:db8::1]:80"},
	};
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 512);
	for (size_t i = 0; i < COUNT(rows); i++) {
		target_authority_put(&out, span_of(rows[i].host), rows[i].port,
		    rows[i].def);
		strbuf_char(&out, '\0');
		assert_string_equal(out.p, rows[i].want);
		strbuf_clear(&out);
	}
	strbuf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(authority_when_valid_then_taken_apart),
	    cmocka_unit_test(authority_when_two_readings_then_refused),
	    cmocka_unit_test(
		authority_when_port_must_be_given_then_refused_without),
	    cmocka_unit_test(target_when_valid_then_form_and_parts),
	    cmocka_unit_test(target_when_no_form_fits_then_refused),
	    cmocka_unit_test(host_when_one_valid_or_empty_then_accepted),
	    cmocka_unit_test(
		host_when_missing_repeated_or_invalid_then_refused),
	    cmocka_unit_test(authority_when_put_then_as_it_is_sent),
	    cmocka_unit_test(host_eq_when_case_or_last_dot_differs_then_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

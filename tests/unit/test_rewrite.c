/* SPDX-License-Identifier: MIT */
/* Where an answer came from, as it has to be said to the client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/rewrite.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SAME NULL /* the value stays, byte for byte */

typedef void rewriter(const struct rewrite *rw, struct span value,
    struct strbuf *out);

struct row {
	const char *in, *want;
};

/* other.test is originated on 443, 8443 and 80, "::1" on 443. */
static bool
originated(void *arg, struct span host, uint16_t port)
{
	assert_ptr_equal(arg, &originated);
	if (span_ieq(host, SPAN("other.test")))
		return port == 443 || port == 8443 || port == 80;
	return span_eq(host, SPAN("::1")) && port == 443;
}

static const struct rewrite scheme = {
    .kind = REWRITE_SCHEME,
    .host = {"api.test", 8},
    .port = 443,
    .tls = true,
    .originated = originated,
    .arg = &originated,
};
static const struct rewrite route = {
    .kind = REWRITE_ROUTE,
    .route = {"/api/", 5},
    .host = {"api.test", 8},
    .port = 443,
    .tls = true,
    .path = {"/v1/jobs/7", 10},
};

static void
assert_rows(const struct rewrite *rw, rewriter *how, const struct row *rows,
    size_t n)
{
	struct strbuf out;

	strbuf_init(&out, 65536);
	for (size_t i = 0; i < n; i++) {
		const char *want = rows[i].want ? rows[i].want : rows[i].in;

		strbuf_clear(&out);
		strbuf_lit(&out, "//-/"); /* nothing before it is touched */
		how(rw, span_of(rows[i].in), &out);
		strbuf_char(&out, '\0');
		assert_false(out.failed);
		assert_memory_equal(out.p, "//-/", 4);
		if (strcmp(out.p + 4, want) != 0)
			fail_msg("\"%s\" became \"%s\", not \"%s\"", rows[i].in,
			    out.p + 4, want);
	}
	strbuf_free(&out);
}

static void
location_when_the_client_speaks_http_then_the_scheme_is_its_own(void **state)
{
	static const struct row t[] = {
	    {"https://api.test/x?y=https://api.test/#z",
		"http://api.test/x?y=https://api.test/#z"},
	    {"https://api.test", "http://api.test"},
	    {"https://api.test?q", "http://api.test?q"},
	    {"https://api.test#f", "http://api.test#f"},
	    {"https://api.test:443/", "http://api.test/"},
	    {"https://api.test:00443/", "http://api.test/"},
	    {"HTTPS://API.Test/X", "http://API.Test/X"},
	    {"https://api.test./", "http://api.test./"},
	    {"https://other.test/x", "http://other.test/x"},
	    {"https://other.test:8443/x", "http://other.test:8443/x"},
	    {"https://[::1]:443/x", "http://[::1]/x"},
	    {"https://api.test/a b/\xc3\xbc", "http://api.test/a b/\xc3\xbc"},
	    {"https://api.test/../x", "http://api.test/../x"},
	    /* Leads elsewhere. */
	    {"https://api.test:444/", SAME},
	    {"https://api.test:80/", SAME},
	    {"https://other.test:444/x", SAME},
	    {"https://other.test:80/x", SAME},
	    {"https://third.test/x", SAME},
	    {"https://api.test.evil.test/", SAME},
	    {"https://[::1]:8443/", SAME},
	    /* Says the same to the client. */
	    {"http://api.test/x", SAME},
	    {"http://api.test:443/x", SAME},
	    {"//api.test/x", SAME},
	    {"//other.test:8443", SAME},
	    {"/x", SAME},
	    {"x/../../y", SAME},
	    {"?q", SAME},
	    {"#f", SAME},
	    {"", SAME},
	    /* The client would take it for http. */
	    {"//third.test/x", "https://third.test/x"},
	    {"//api.test:80/", "https://api.test:80/"},
	    /* Not sure. */
	    {"https://u@api.test/", SAME},
	    {"https://u:p@api.test/", SAME},
	    {"https:///x", SAME},
	    {"https://", SAME},
	    {"https:api.test/x", SAME},
	    {"https:/api.test/x", SAME},
	    {"https://api.test:/", SAME},
	    {"https://api.test:0/", SAME},
	    {"https://api.test:65979/", SAME},
	    {"https://api%2etest/", SAME},
	    {"https://api.test\\@evil.test/", SAME},
	    {"https://api.test/\\x", SAME},
	    {"https://api.test/a\tb", SAME},
	    {"https://api.test /", SAME},
	    {"ftp://api.test/", SAME},
	    {"httpss://api.test/", SAME},
	    {"mailto:a@api.test", SAME},
	    {"://api.test/", SAME},
	    {"1https://api.test/", SAME},
	};

	(void)state;
	assert_rows(&scheme, rewrite_location, t, COUNT(t));
}

static void
location_when_the_upstream_has_another_port_then_it_stays(void **state)
{
	static const struct row t[] = {
	    {"https://api.test:8443/x", "http://api.test:8443/x"},
	    {"https://api.test/x", SAME},
	    {"https://other.test/x", SAME},
	    {"//other.test/x", "https://other.test/x"},
	};
	struct rewrite rw = scheme;

	(void)state;
	rw.port = 8443;
	rw.originated = NULL;
	assert_rows(&rw, rewrite_location, t, COUNT(t));
}

static void
location_when_the_upstream_is_plain_then_the_scheme_stays(void **state)
{
	static const struct row t[] = {
	    {"https://api.test/x", SAME},
	    {"https://other.test/x", SAME},
	    {"//third.test/x", SAME},
	};
	struct rewrite rw = scheme;

	(void)state;
	rw.tls = false;
	assert_rows(&rw, rewrite_location, t, COUNT(t));
}

static void
location_when_routed_then_below_the_route(void **state)
{
	static const struct row t[] = {
	    {"https://api.test/v1/x?y#z", "/api/v1/x?y#z"},
	    {"https://api.test", "/api/"},
	    {"https://api.test/", "/api/"},
	    {"https://api.test?q", "/api/?q"},
	    {"https://api.test#f", "/api/#f"},
	    {"https://API.test.:443/v1", "/api/v1"},
	    {"http://api.test/v1", "/api/v1"},
	    {"http://api.test:80/v1", "/api/v1"},
	    {"http://api.test:443/v1", "/api/v1"},
	    {"//api.test/v1", "/api/v1"},
	    {"https://api.test//v1", "/api//v1"},
	    {"/", "/api/"},
	    {"/v1/y", "/api/v1/y"},
	    {"/v1/y?a=/../b#/../c", "/api/v1/y?a=/../b#/../c"},
	    {"/?q", "/api/?q"},
	    {"/api/v1", "/api/api/v1"},
	    {"/a b/\xc3\xbc:1", "/api/a b/\xc3\xbc:1"},
	    /* No way out. */
	    {"/../admin", "/api/admin"},
	    {"/..", "/api/"},
	    {"/.", "/api/"},
	    {"/./a/./b/.", "/api/a/b/"},
	    {"/a/b/../../../../c", "/api/c"},
	    {"/a/b/..", "/api/a/"},
	    {"/%2e%2E/admin", "/api/admin"},
	    {"/.%2e/%2e/admin", "/api/admin"},
	    {"/...//..a/%2e%2e%2e/.%2f./", "/api/...//..a/%2e%2e%2e/.%2f./"},
	    {"/a//../b", "/api/a/b"},
	    {"https://api.test/../..//admin", "/api//admin"},
	    /* Relative ones that climb, from /v1/jobs/7. */
	    {"../x", "/api/v1/x"},
	    {"../../../x?q", "/api/x?q"},
	    {"a/../../../../../x", "/api/x"},
	    {"..", "/api/v1/"},
	    {"%2e%2e", "/api/v1/"},
	    /* Hold as they are. */
	    {"x", SAME},
	    {"./x", SAME},
	    {"?q=/../", SAME},
	    {"#f", SAME},
	    {"..x/...", SAME},
	    /* Lead elsewhere. */
	    {"https://third.test/x", SAME},
	    {"https://other.test/x", SAME},
	    {"http://api.test:8080/x", SAME},
	    {"https://api.test:80/x", SAME},
	    {"https://api.test:8443/x", SAME},
	    {"//third.test/x", "https://third.test/x"},
	    /* Not sure. */
	    {"https://u@api.test/x", SAME},
	    {"/\\evil.test/", SAME},
	    {"/..\\x", SAME},
	    {"/.\t./x", SAME},
	    {"///x", SAME},
	    {"javascript:x", SAME},
	};

	(void)state;
	assert_rows(&route, rewrite_location, t, COUNT(t));
}

static void
location_when_the_route_is_the_root_then_no_other_host(void **state)
{
	static const struct row t[] = {
	    {"https://api.test/v1", "/v1"},
	    {"https://api.test", "/"},
	    {"https://api.test//evil.test/", "/.//evil.test/"},
	    {"https://api.test/a/..//evil.test/", "/.//evil.test/"},
	    {"/a/..//evil.test/", "/.//evil.test/"},
	    {"/v1/../x", "/x"},
	    {"/x//", SAME},
	};
	struct rewrite rw = route;

	(void)state;
	rw.route = SPAN("/");
	assert_rows(&rw, rewrite_location, t, COUNT(t));
}

static void
location_when_the_upstream_is_plain_then_https_of_it_stays(void **state)
{
	static const struct row t[] =
	    {
		{"http://api.test:8080/x", "/api/x"},
		{"//api.test:8080/x", "/api/x"},
		{"/x", "/api/x"},
		{"https://api.test:8080/x", SAME},
		{"https://api.test/x", SAME},
		{"http://api.test/x", SAME},
		{"//third.test/x", SAME},
	    },
				of_80[] = {
				    {"http://api.test/x", "/api/x"},
				    {"http://api.test:80/x", "/api/x"},
				    {"https://api.test/x", SAME},
				    {"http://api.test:443/x", SAME},
				};
	struct rewrite rw = route;

	(void)state;
	rw.tls = false;
	rw.port = 8080;
	assert_rows(&rw, rewrite_location, t, COUNT(t));
	rw.port = 80;
	assert_rows(&rw, rewrite_location, of_80, COUNT(of_80));
	rw.client_https = true;
	assert_rows(&rw, rewrite_location,
	    &(struct row){"//third.test/x", "http://third.test/x"}, 1);
	rw.tls = true;
	assert_rows(&rw, rewrite_location,
	    &(struct row){"//third.test/x", SAME}, 1);
}

static void
location_when_the_path_of_the_request_is_odd_then_relative_stays(void **state)
{
	static const struct row stay[] = {{"../x", SAME}};
	static const struct {
		struct span path;
		struct row row;
	} t[] = {
	    {{"", 0}, {"../x", SAME}},
	    {{"*", 1}, {"../x", SAME}},
	    {{"/", 1}, {"../x", "/api/x"}},
	    {{"/a", 2}, {"../x", "/api/x"}},
	    {{"/a/", 3}, {"../x", "/api/x"}},
	    {{"/a/b/", 5}, {"../x", "/api/a/x"}},
	    {{"/a/./c", 6}, {"../x", "/api/x"}},
	    {{"/a/../b/c/d", 11}, {"../x", "/api/b/x"}},
	};
	struct rewrite rw = route;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		rw.path = t[i].path;
		assert_rows(&rw, rewrite_location, &t[i].row, 1);
	}
	assert_rows(&scheme, rewrite_location, stay, 1);
}

static void
location_when_there_is_no_room_then_failed(void **state)
{
	struct strbuf out;

	(void)state;
	for (size_t max = 0; max < 19; max++) {
		struct rewrite rw = route;

		strbuf_init(&out, max);
		rewrite_location(&rw, SPAN("/aaaa/../bbbb/cc/../d"), &out);
		rw.route = SPAN("/");
		rewrite_location(&rw, SPAN("https://api.test//bbbb"), &out);
		assert_true(out.failed);
		strbuf_free(&out);
	}
}

static void
cookie_when_the_client_speaks_http_then_not_secure(void **state)
{
	static const struct row t[] = {
	    {"a=b; Secure", "a=b"},
	    {"a=b; Secure; HttpOnly", "a=b; HttpOnly"},
	    {"a=b;secure;Path=/v1;DOMAIN=.api.test",
		"a=b;Path=/v1;DOMAIN=.api.test"},
	    {"a=b; SECURE =x ; HttpOnly", "a=b; HttpOnly"},
	    {"a=b; Secure; SameSite=None; Path=/", "a=b; Path=/"},
	    {"a=b; samesite = none ;Secure;", "a=b;"},
	    {"a=b; Secure; SameSite=Lax; SameSite=None", "a=b; SameSite=Lax"},
	    {"a=b; Secure; SameSite=Strict", "a=b; SameSite=Strict"},
	    {"a=b; Secure; Partitioned; X", "a=b; X"},
	    {"a=\"x, y\"; Secure; Expires=Thu, 01 Jan 2032 00:00:00 GMT",
		"a=\"x, y\"; Expires=Thu, 01 Jan 2032 00:00:00 GMT"},
	    {" a = b ;\tSecure ;  Priority=High ; foo",
		" a = b ;  Priority=High ; foo"},
	    {"__Host-a=b; Secure; Path=/", "__Host-a=b; Path=/"},
	    /* Nothing to do. */
	    {"a=b", SAME},
	    {"", SAME},
	    {";", SAME},
	    {"Secure", SAME},
	    {"secure=1; HttpOnly", SAME},
	    {"a=Secure; b=Secure", SAME},
	    {"a=b; Secured; Insecure; SecurePolicy=1", SAME},
	    {"a=b; SameSite=None", SAME},
	    {"a=b; Partitioned", SAME},
	    {"a=b; Domain=api.test; Path=\"/x\"; Max-Age=1", SAME},
	};

	(void)state;
	assert_rows(&scheme, rewrite_set_cookie, t, COUNT(t));
}

static void
cookie_when_routed_then_of_the_route(void **state)
{
	static const struct row t[] = {
	    {"a=b; Path=/v1; Secure", "a=b; Path=/api/v1"},
	    {"a=b; Path=/", "a=b; Path=/api/"},
	    {"a=b; path = /v1 ; x", "a=b; path = /api/v1 ; x"},
	    {"a=b; Path=\"/v1\"", "a=b; Path=\"/api/v1\""},
	    {"a=b; Path=/; Path=/v1", "a=b; Path=/api/; Path=/api/v1"},
	    {"a=b; Path=/a=b", "a=b; Path=/api/a=b"},
	    {"a=b; Domain=api.test; HttpOnly", "a=b; HttpOnly"},
	    {"a=b;DOMAIN = .api.test ;domain", "a=b"},
	    {"a=b; Path=", SAME},
	    {"a=b; Path", SAME},
	    {"a=b; Path=\"", SAME},
	    {"a=b; Path=v1", SAME},
	    {"a=b; Pathx=/; XPath=/", SAME},
	    {"Path=/; HttpOnly", SAME},
	    {"Domain=x", SAME},
	};
	struct rewrite rw = route;

	(void)state;
	assert_rows(&rw, rewrite_set_cookie, t, COUNT(t));
	rw.route = SPAN("/");
	assert_rows(&rw, rewrite_set_cookie,
	    &(struct row){"a=b; Path=/v1; Domain=x; Secure", "a=b; Path=/v1"},
	    1);
}

static void
cookie_when_both_sides_agree_then_secure_stays(void **state)
{
	static const struct row both_https[] =
	    {
		{"a=b; Secure; SameSite=None; Path=/",
		    "a=b; Secure; SameSite=None; Path=/api/"},
		{"__Secure-a=b; Secure; Path=/",
		    "__Secure-a=b; Secure; Path=/api/"},
		{"__Host-a=b; Secure; Path=/", SAME},
		{" __HOST-a=b; Secure; Path=/", SAME},
	    },
				both_http[] = {
				    {"a=b; Secure; Domain=x", "a=b; Secure"},
				    {"__Host-a=b; Secure; Path=/",
					"__Host-a=b; Secure; Path=/api/"},
				};
	struct rewrite rw = route;

	(void)state;
	rw.client_https = true;
	assert_rows(&rw, rewrite_set_cookie, both_https, COUNT(both_https));
	rw.client_https = false;
	rw.tls = false;
	assert_rows(&rw, rewrite_set_cookie, both_http, COUNT(both_http));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		location_when_the_client_speaks_http_then_the_scheme_is_its_own),
	    cmocka_unit_test(
		location_when_the_upstream_has_another_port_then_it_stays),
	    cmocka_unit_test(
		location_when_the_upstream_is_plain_then_the_scheme_stays),
	    cmocka_unit_test(location_when_routed_then_below_the_route),
	    cmocka_unit_test(
		location_when_the_route_is_the_root_then_no_other_host),
	    cmocka_unit_test(
		location_when_the_upstream_is_plain_then_https_of_it_stays),
	    cmocka_unit_test(
		location_when_the_path_of_the_request_is_odd_then_relative_stays),
	    cmocka_unit_test(location_when_there_is_no_room_then_failed),
	    cmocka_unit_test(
		cookie_when_the_client_speaks_http_then_not_secure),
	    cmocka_unit_test(cookie_when_routed_then_of_the_route),
	    cmocka_unit_test(cookie_when_both_sides_agree_then_secure_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz_target: any bytes as a request target or an authority.
 *
 * The first byte chooses: 'c' CONNECT, 'o' OPTIONS, 'g' GET, 'a' a Host value.
 * What is accepted lies inside the input, and says the same when it is put
 * together again from its parts.
 */
#include <stdlib.h>

#include "base/strbuf.h"
#include "proto/target.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
inside(struct span part, struct span whole)
{
	return part.p >= whole.p && part.n <= whole.n &&
	    part.p + part.n <= whole.p + whole.n;
}

static void
check_same(const struct authority *a, const struct authority *b)
{
	CHECK(span_eq(a->host, b->host) && a->port == b->port);
	CHECK(a->is_ip6 == b->is_ip6);
}

static void
check_authority(const struct authority *a, struct span in, uint16_t port)
{
	static const char never[] = "@/?#\\ []%\"<>^`{|}";
	struct authority b;
	const char *why;

	CHECK(inside(a->host, in) && inside(a->text, in));
	CHECK(a->host.n > 0 && a->host.n <= TARGET_HOST_MAX && a->port > 0);
	for (size_t i = 0; i < a->host.n; i++) {
		CHECK(a->host.p[i] > ' ' && a->host.p[i] < 0x7f);
		CHECK(!strchr(never, a->host.p[i]));
		CHECK(a->is_ip6 || a->host.p[i] != ':');
	}
	CHECK(target_authority(a->text, port, &b, &why) == 0);
	check_same(a, &b);
	CHECK(target_host_eq(a->host, b.host));
}

static void
check_absolute(struct span method, const struct target *t, struct span in)
{
	struct strbuf url;
	struct target u;
	const char *why;
	uint16_t port = 80;

	if (span_ieq(t->scheme, SPAN("https")))
		port = 443;
	check_authority(&t->authority, in, port);
	strbuf_init(&url, SIZE_MAX);
	strbuf_span(&url, t->scheme);
	strbuf_lit(&url, "://");
	strbuf_span(&url, t->authority.text);
	if (!span_eq(t->path, SPAN("*")))
		strbuf_span(&url, t->path);
	CHECK(target_parse(method, strbuf_view(&url), &u, &why) == 0);
	check_same(&t->authority, &u.authority);
	CHECK(span_eq(t->path, u.path) && t->query_only == u.query_only);
	strbuf_free(&url);
}

static void
check_target(struct span method, struct span in)
{
	const char *why = NULL;
	struct target t;

	if (target_parse(method, in, &t, &why) != 0) {
		CHECK(why != NULL);
		return;
	}
	CHECK(memchr(in.p, '#', in.n) == NULL);
	CHECK((t.form == TARGET_AUTHORITY) == span_eq(method, SPAN("CONNECT")));
	switch (t.form) {
	case TARGET_AUTHORITY:
		CHECK(t.authority.has_port);
		check_authority(&t.authority, in, 0);
		break;
	case TARGET_ABSOLUTE:
		check_absolute(method, &t, in);
		break;
	case TARGET_ORIGIN:
		CHECK(t.path.p[0] == '/' && span_eq(t.path, in));
		break;
	case TARGET_ASTERISK:
		CHECK(span_eq(in, SPAN("*")));
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in;
	struct authority a;
	const char *why;

	if (size == 0)
		return 0;
	in = (struct span){(const char *)data + 1, size - 1};
	switch (data[0]) {
	case 'a':
		if (target_authority(in, 80, &a, &why) == 0)
			check_authority(&a, in, 80);
		break;
	case 'c':
		check_target(SPAN("CONNECT"), in);
		break;
	case 'o':
		check_target(SPAN("OPTIONS"), in);
		break;
	default:
		check_target(SPAN("GET"), in);
		break;
	}
	return 0;
}

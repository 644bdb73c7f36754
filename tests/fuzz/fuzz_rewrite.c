/* SPDX-License-Identifier: MIT */
/*
 * fuzz_rewrite: any bytes as a Location or a Set-Cookie.
 *
 * The bits of the first byte: 1 a route, 2 the client speaks TLS, 4 the
 * upstream does, 8 the root as route, 16 a cookie. A path that was made lies
 * below its route and stays there when it is made again from it, no byte comes
 * out that did not go in or belongs to the route, and a cookie never gains an
 * attribute.
 */
#include <stdlib.h>

#include "proto/rewrite.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t
count(struct span s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == c;
	return n;
}

static bool
ask_h2(void *arg, struct span host, uint16_t port)
{
	(void)arg;
	CHECK(host.n > 0 && port > 0);
	return span_ieq(host, SPAN("h2"));
}

/* No segment of a path is a dot segment, in any spelling. */
static void
check_no_dots(struct span path)
{
	struct span segment;

	while (span_cut(&path, '/', &segment)) {
		char plain[3] = "";
		size_t n = 0;

		while (segment.n > 0 && n < sizeof(plain)) {
			size_t used = 1;

			plain[n] = segment.p[0];
			if (span_istarts(segment, SPAN("%2e"))) {
				plain[n] = '.';
				used = 3;
			}
			n++;
			segment.p += used;
			segment.n -= used;
		}
		CHECK(n != 1 || plain[0] != '.');
		CHECK(n != 2 || plain[0] != '.' || plain[1] != '.');
	}
}

static void
check_location(const struct rewrite *rw, struct span in, struct span out)
{
	struct span path = out;

	if (span_eq(in, out))
		return;
	if (rw->kind == REWRITE_SCHEME || !span_starts(out, rw->route)) {
		CHECK(span_starts(out, SPAN("https://")) ||
		    span_starts(out, SPAN("http://")));
		return;
	}
	for (path.n = 0; path.n < out.n; path.n++) {
		if (out.p[path.n] == '?' || out.p[path.n] == '#')
			break;
	}
	CHECK(!span_starts(path, SPAN("//")));
	path.p += rw->route.n - 1;
	path.n -= rw->route.n - 1;
	if (rw->route.n == 1 && span_starts(path, SPAN("/.//"))) {
		path.p += 2;
		path.n -= 2;
	}
	check_no_dots(path);
}

static void
check_cookie(struct span in, struct span out)
{
	struct span a = in, b = out;

	CHECK(count(out, ';') <= count(in, ';'));
	(void)span_cut(&in, ';', &a);
	(void)span_cut(&out, ';', &b);
	CHECK(span_eq(a, b));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rewrite rw = {
	    .route = SPAN("/r/s/"),
	    .host = SPAN("h"),
	    .path = SPAN("/a/b/c"),
	    .originated = ask_h2,
	};
	struct strbuf out;
	struct span in;

	if (size == 0)
		return 0;
	rw.kind = data[0] & 1 ? REWRITE_ROUTE : REWRITE_SCHEME;
	rw.client_https = data[0] & 2;
	rw.tls = data[0] & 4;
	rw.port = rw.tls ? 443 : 80;
	if (data[0] & 8)
		rw.route = SPAN("/");
	in = (struct span){(const char *)data + 1, size - 1};
	strbuf_init(&out, SIZE_MAX);
	strbuf_lit(&out, "x");
	if (data[0] & 16)
		rewrite_set_cookie(&rw, in, &out);
	else
		rewrite_location(&rw, in, &out);
	CHECK(!out.failed && out.n >= 1 && out.p[0] == 'x');
	if (data[0] & 16)
		check_cookie(in, (struct span){out.p + 1, out.n - 1});
	else
		check_location(&rw, in, (struct span){out.p + 1, out.n - 1});
	strbuf_free(&out);
	return 0;
}

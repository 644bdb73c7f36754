/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c: URLs and cookies of a server, for a client that reaches it by
 * another scheme or another path.
 *
 * Decides which references mean the server, and how the client has to spell
 * them. It refuses to know who asked and what is done with the answer: whether
 * anything is rewritten at all is its caller's to say.
 *
 *     https://api.test/v1/x   SCHEME  http://api.test/v1/x
 *                             ROUTE   /route/v1/x
 */
#include "proto/rewrite.h"

#include "proto/octet.h"
#include "proto/target.h"

static struct span
span_from(struct span s, size_t at)
{
	return (struct span){s.p + at, s.n - at};
}

/* The bytes before the first one that is among `ends`. */
static struct span
span_until(struct span s, const char *ends)
{
	size_t n = 0;

	while (n < s.n && (s.p[n] == '\0' || !strchr(ends, s.p[n])))
		n++;
	return (struct span){s.p, n};
}

/*
 * Bytes that clients take for others: the URL standard of browsers reads a
 * backslash as "/", and drops tabs.
 */
static bool
is_odd(struct span value)
{
	struct span path = span_until(value, "?#");

	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.p[i];

		if (c < 0x20 || c == 0x7f)
			return true;
	}
	return path.n > 0 && memchr(path.p, '\\', path.n) != NULL;
}

/* Bytes of the scheme that s begins with, RFC 3986 3.1; 0: none. */
static size_t
scheme_bytes(struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i], low = (char)(c | 0x20);

		if (c == ':')
			return i;
		if (low >= 'a' && low <= 'z')
			continue;
		if (i == 0 ||
		    (!octet_is_digit(c) && c != '+' && c != '-' && c != '.'))
			return 0;
	}
	return 0;
}

/* A reference with an authority. */
struct url {
	bool https;
	bool bare; /* "//host/...": it has no scheme of its own */
	struct authority a;
	struct span rest; /* path, query and fragment; may be empty */
};

static bool
read_url(const struct rewrite *rw, struct span s, struct url *ret)
{
	size_t n = scheme_bytes(s);
	struct span scheme = {s.p, n}, text;
	const char *why;

	ret->bare = n == 0;
	ret->https = ret->bare ? rw->tls : span_ieq(scheme, SPAN("https"));
	if (!ret->bare) {
		if (!ret->https && !span_ieq(scheme, SPAN("http")))
			return false;
		s = span_from(s, n + 1);
	}
	if (!span_starts(s, SPAN("//")))
		return false;
	s = span_from(s, 2);
	text = span_until(s, "/?#");
	ret->rest = span_from(s, text.n);
	return target_authority(text, ret->https ? 443 : 80, &ret->a, &why) ==
	    0;
}

/* A segment of `dots` dots, each of them possibly as "%2e". */
static bool
is_dots(struct span segment, size_t dots)
{
	while (segment.n > 0 && dots > 0) {
		if (segment.p[0] == '.')
			segment = span_from(segment, 1);
		else if (span_istarts(segment, SPAN("%2e")))
			segment = span_from(segment, 3);
		else
			return false;
		dots--;
	}
	return segment.n == 0 && dots == 0;
}

/*
 * Appends "/" and a segment for each segment of s, dot segments resolved; none
 * takes away what stood before `floor`. last: s is the end of the path.
 */
static void
put_segments(struct strbuf *out, size_t floor, struct span s, bool last)
{
	struct span segment;
	bool up;

	while (span_cut(&s, '/', &segment)) {
		up = is_dots(segment, 2);
		if (!up && !is_dots(segment, 1)) {
			strbuf_char(out, '/');
			strbuf_span(out, segment);
			continue;
		}
		while (up && out->n > floor)
			up = out->p[--out->n] != '/';
		if (last && s.p == NULL)
			strbuf_char(out, '/');
	}
}

/*
 * A route of "/" adds nothing to a path that begins with "//", which would name
 * a host then: "/." goes before it (RFC 3986 4.2, 5.3).
 */
static void
guard_path(struct strbuf *out, size_t floor)
{
	char *path = out->p + floor;
	size_t n = out->n - floor;

	if (n < 2 || path[0] != '/' || path[1] != '/')
		return;
	strbuf_lit(out, "/.");
	if (out->failed)
		return;
	path = out->p + floor;
	memmove(path + 2, path, n);
	path[0] = '/';
	path[1] = '.';
}

/*
 * The path of ref below the route, then its query and fragment. Its path is
 * relative to the directory `from`, which begins with "/" or is empty.
 */
static void
put_routed(const struct rewrite *rw, struct span from, struct span ref,
    struct strbuf *out)
{
	struct span path = span_until(ref, "?#");
	size_t floor;

	strbuf_put(out, rw->route.p, rw->route.n - 1);
	floor = out->n;
	if (from.n > 0)
		put_segments(out, floor, span_from(from, 1), false);
	if (path.n > 0 && path.p[0] == '/')
		put_segments(out, floor, span_from(path, 1), true);
	else
		put_segments(out, floor, path, true);
	if (rw->route.n == 1)
		guard_path(out, floor);
	strbuf_span(out, span_from(ref, path.n));
}

static bool
is_default_port(uint16_t port, bool https)
{
	return port == (https ? 443 : 80);
}

/* Does the URL lead to the upstream, by way of the route? */
static bool
is_routed(const struct rewrite *rw, const struct url *u)
{
	if (!target_host_eq(u->a.host, rw->host) || (u->https && !rw->tls))
		return false;
	return u->a.port == rw->port ||
	    (is_default_port(rw->port, rw->tls) &&
		is_default_port(u->a.port, u->https));
}

/* Does the same URL with http lead through us to where this one does? */
static bool
is_originated(const struct rewrite *rw, const struct url *u)
{
	/* Port 80 of http is taken for 443 of https. */
	if (!rw->tls || !u->https || u->a.port == 80)
		return false;
	if (u->a.port == rw->port && target_host_eq(u->a.host, rw->host))
		return true;
	return rw->originated != NULL &&
	    rw->originated(rw->arg, u->a.host, u->a.port);
}

static void
put_url(const struct rewrite *rw, struct span value, const struct url *u,
    struct strbuf *out)
{
	bool https = rw->kind == REWRITE_ROUTE && rw->client_https;

	if (rw->kind == REWRITE_ROUTE && is_routed(rw, u)) {
		put_routed(rw, (struct span){NULL, 0}, u->rest, out);
		return;
	}
	if (rw->kind == REWRITE_SCHEME && is_originated(rw, u)) {
		if (!u->bare) {
			strbuf_lit(out, "http://");
			strbuf_span(out, u->a.text);
			value = u->rest;
		}
	} else if (u->bare && u->https != https) {
		strbuf_span(out, u->https ? SPAN("https:") : SPAN("http:"));
	}
	strbuf_span(out, value);
}

/* A path relative to that of the request, and out of its directory. */
static bool
is_climbing(struct span path)
{
	struct span segment;

	while (span_cut(&path, '/', &segment)) {
		if (is_dots(segment, 2))
			return true;
	}
	return false;
}

/* "/a/b" of "/a/b/c". */
static struct span
directory(struct span path)
{
	while (path.n > 0 && path.p[path.n - 1] != '/')
		path.n--;
	if (path.n > 0)
		path.n--;
	return path;
}

/* The forms of RFC 3986 4.2; false: it is none that is rewritten. */
static bool
put_reference(const struct rewrite *rw, struct span value, struct strbuf *out)
{
	struct span from = {NULL, 0};
	struct url u;

	if (scheme_bytes(value) > 0 || span_starts(value, SPAN("//"))) {
		if (!read_url(rw, value, &u))
			return false;
		put_url(rw, value, &u, out);
		return true;
	}
	if (rw->kind != REWRITE_ROUTE)
		return false;
	if (value.p[0] != '/') {
		if (rw->path.n == 0 || rw->path.p[0] != '/' ||
		    !is_climbing(span_until(value, "?#")))
			return false;
		from = directory(rw->path);
	}
	put_routed(rw, from, value, out);
	return true;
}

void
rewrite_location(const struct rewrite *rw, struct span value,
    struct strbuf *out)
{
	if (value.n == 0 || is_odd(value) || !put_reference(rw, value, out))
		strbuf_span(out, value);
}

/* One attribute of a cookie: name [ "=" value ], RFC 6265 5.2. */
static bool
attribute_is(struct span attribute, struct span name)
{
	struct span rest = attribute, part;

	return span_cut(&rest, '=', &part) && span_ieq(span_trim(part), name);
}

/* Its value with what surrounds it; p NULL: none. */
static struct span
attribute_value(struct span attribute)
{
	struct span rest = attribute, part;

	(void)span_cut(&rest, '=', &part);
	return rest;
}

static bool
is_secure(struct span cookie)
{
	struct span attribute;

	(void)span_cut(&cookie, ';', &attribute);
	while (span_cut(&cookie, ';', &attribute)) {
		if (attribute_is(attribute, SPAN("secure")))
			return true;
	}
	return false;
}

/* What only a Secure cookie may have. */
static bool
needs_secure(struct span attribute)
{
	if (attribute_is(attribute, SPAN("secure")) ||
	    attribute_is(attribute, SPAN("partitioned")))
		return true;
	return attribute_is(attribute, SPAN("samesite")) &&
	    span_ieq(span_trim(attribute_value(attribute)), SPAN("none"));
}

/* A Path in its attribute, with the route before it. */
static void
put_cookie_path(const struct rewrite *rw, struct span attribute,
    struct strbuf *out)
{
	struct span value = span_trim(attribute_value(attribute));

	if (value.n > 0 && value.p[0] == '"')
		value = span_from(value, 1);
	if (value.n == 0 || value.p[0] != '/') {
		strbuf_span(out, attribute);
		return;
	}
	strbuf_put(out, attribute.p, (size_t)(value.p - attribute.p));
	strbuf_put(out, rw->route.p, rw->route.n - 1);
	strbuf_span(out, span_from(attribute, (size_t)(value.p - attribute.p)));
}

void
rewrite_set_cookie(const struct rewrite *rw, struct span value,
    struct strbuf *out)
{
	bool route = rw->kind == REWRITE_ROUTE;
	bool https = route && rw->client_https;
	bool strip = rw->tls && !https && is_secure(value);
	struct span attribute;

	if (https && span_istarts(span_trim(value), SPAN("__host-"))) {
		strbuf_span(out, value);
		return;
	}
	if (span_cut(&value, ';', &attribute))
		strbuf_span(out, attribute);
	while (span_cut(&value, ';', &attribute)) {
		if ((strip && needs_secure(attribute)) ||
		    (route && attribute_is(attribute, SPAN("domain"))))
			continue;
		strbuf_char(out, ';');
		if (route && attribute_is(attribute, SPAN("path")))
			put_cookie_path(rw, attribute, out);
		else
			strbuf_span(out, attribute);
	}
}

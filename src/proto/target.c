/* SPDX-License-Identifier: MIT */
/*
 * target.c: takes request targets and Host values apart.
 *
 * Decides which host and port a request names, and refuses every spelling that
 * two parsers might read differently: userinfo, percent-encoded hosts, bare
 * IPv6 addresses, fragments. It refuses to know whether the host exists or may
 * be asked, and what the path means: the path's bytes are never touched.
 *
 *     http://  api.test:8080  /a?b
 *     scheme   authority      path      (what follows the authority begins
 *                                        with "/" or "?", or is empty)
 */
#include "proto/target.h"

#include <arpa/inet.h>

#include "proto/octet.h"

static int
fault(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -1;
}

static struct span
span_from(struct span s, size_t at)
{
	return (struct span){s.p + at, s.n - at};
}

/* The place of the first `c`, or s.n. */
static size_t
find(struct span s, char c)
{
	const char *at = s.n ? memchr(s.p, c, s.n) : NULL;

	return at ? (size_t)(at - s.p) : s.n;
}

static bool
is_ip6(struct span s)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr ignored;

	if (s.n == 0 || s.n >= sizeof(text) || memchr(s.p, 0, s.n) != NULL)
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return inet_pton(AF_INET6, text, &ignored) == 1;
}

static int
check_name(struct span s, const char **ret_why)
{
	char before = '.';

	if (s.n == 0)
		return fault(ret_why, "no host name");
	if (s.n > TARGET_HOST_MAX)
		return fault(ret_why, "host name too long");
	for (size_t i = 0; i < s.n; i++) {
		if (!octet_is(s.p[i], OCTET_HOST))
			return fault(ret_why,
			    s.p[i] == '@' ? "user information before the host"
					  : "byte that no host name has");
		if (s.p[i] == '.' && before == '.')
			return fault(ret_why, "empty label in a host name");
		before = s.p[i];
	}
	return 0;
}

/* Takes the host off the front of s; *ret_end is where the rest begins. */
static int
take_host(struct span s, struct authority *a, size_t *ret_end,
    const char **ret_why)
{
	size_t end;

	if (s.n == 0 || s.p[0] != '[') {
		*ret_end = find(s, ':');
		a->host = (struct span){s.p, *ret_end};
		return check_name(a->host, ret_why);
	}
	end = find(s, ']');
	if (end == s.n)
		return fault(ret_why, "bracket is not closed");
	a->host = (struct span){s.p + 1, end - 1};
	if (!is_ip6(a->host))
		return fault(ret_why, "no IPv6 address in the brackets");
	a->is_ip6 = true;
	*ret_end = end + 1;
	return 0;
}

int
target_authority(struct span s, uint16_t default_port, struct authority *ret,
    const char **ret_why)
{
	struct authority a = {.port = default_port, .text = s};
	uint64_t port;
	size_t end;

	if (take_host(s, &a, &end, ret_why) != 0)
		return -1;
	if (end == s.n) {
		if (default_port == 0)
			return fault(ret_why, "no port");
		*ret = a;
		return 0;
	}
	if (s.p[end] != ':')
		return fault(ret_why, "text after the host that is no port");
	if (span_u64(span_from(s, end + 1), &port) != 0)
		return fault(ret_why, "port is not a number");
	if (port < 1 || port > UINT16_MAX)
		return fault(ret_why, "port is not in 1 to 65535");
	a.has_port = true;
	a.port = (uint16_t)port;
	if (a.port == default_port)
		a.text.n = end;
	*ret = a;
	return 0;
}

/* The default port of a scheme that is spoken here, or 0. */
static uint16_t
scheme_port(struct span scheme)
{
	if (span_ieq(scheme, SPAN("http")))
		return 80;
	return span_ieq(scheme, SPAN("https")) ? 443 : 0;
}

/* Takes scheme "://" off the front of s. */
static int
take_scheme(struct span s, struct target *t, struct span *ret_rest,
    uint16_t *ret_port, const char **ret_why)
{
	size_t colon;

	if (span_starts(s, SPAN("http://"))) { /* nearly always */
		t->scheme = (struct span){s.p, 4};
		*ret_port = 80;
		*ret_rest = span_from(s, 7);
		return 0;
	}
	colon = find(s, ':');
	if (!span_starts(span_from(s, colon), SPAN("://")))
		return fault(ret_why, "target is no path and no http URL");
	t->scheme = (struct span){s.p, colon};
	*ret_port = scheme_port(t->scheme);
	if (*ret_port == 0)
		return fault(ret_why, "scheme is neither http nor https");
	*ret_rest = span_from(s, colon + 3);
	return 0;
}

/* scheme "://" authority path-abempty [ "?" query ] */
static int
parse_absolute(struct span method, struct span s, struct target *t,
    const char **ret_why)
{
	struct span rest;
	uint16_t port;
	size_t end;

	if (take_scheme(s, t, &rest, &port, ret_why) != 0)
		return -1;
	for (end = 0; end < rest.n; end++) {
		if (rest.p[end] == '/' || rest.p[end] == '?')
			break;
	}
	if (target_authority((struct span){rest.p, end}, port, &t->authority,
		ret_why) != 0)
		return -1;
	t->path = span_from(rest, end);
	t->query_only = t->path.n > 0 && t->path.p[0] == '?';
	if (t->path.n == 0)
		t->path =
		    span_eq(method, SPAN("OPTIONS")) ? SPAN("*") : SPAN("/");
	return 0;
}

int
target_parse(struct span method, struct span s, struct target *ret,
    const char **ret_why)
{
	struct target t = {.form = TARGET_ABSOLUTE};

	if (s.n == 0)
		return fault(ret_why, "empty target");
	if (find(s, '#') < s.n)
		return fault(ret_why, "fragment in the target");
	if (span_eq(method, SPAN("CONNECT"))) {
		t.form = TARGET_AUTHORITY;
		if (target_authority(s, 0, &t.authority, ret_why) != 0)
			return -1;
	} else if (s.p[0] == '/') {
		t.form = TARGET_ORIGIN;
		t.path = s;
	} else if (span_eq(s, SPAN("*"))) {
		if (!span_eq(method, SPAN("OPTIONS")))
			return fault(ret_why, "\"*\" is for OPTIONS only");
		t.form = TARGET_ASTERISK;
		t.path = s;
	} else if (parse_absolute(method, s, &t, ret_why) != 0) {
		return -1;
	}
	*ret = t;
	return 0;
}

int
target_host_check(const struct head *h, const struct target *t,
    const char **ret_why)
{
	struct span host = head_get(h, FIELD_HOST);
	struct authority ignored;

	if (!head_has(h, FIELD_HOST))
		return h->minor == 0 ? 0 : fault(ret_why, "no Host");
	if (head_repeats(h, FIELD_HOST))
		return fault(ret_why, "more than one Host");
	/* Read once is enough, and as a rule they agree. */
	if (host.n > 0 && span_eq(host, t->authority.text))
		return 0;
	if (host.n == 0) {
		if (t->form != TARGET_ORIGIN)
			return 0;
		return fault(ret_why, "neither target nor Host name a host");
	}
	return target_authority(host, 80, &ignored, ret_why);
}

static struct span
without_dot(struct span s)
{
	if (s.n > 0 && s.p[s.n - 1] == '.')
		s.n--;
	return s;
}

void
target_authority_put(struct strbuf *out, struct span host, uint16_t port,
    uint16_t default_port)
{
	bool is_ip6 = find(host, ':') < host.n;

	if (is_ip6)
		strbuf_char(out, '[');
	strbuf_span(out, host);
	if (is_ip6)
		strbuf_char(out, ']');
	if (port != default_port) {
		strbuf_char(out, ':');
		strbuf_u64(out, port);
	}
}

bool
target_host_eq(struct span a, struct span b)
{
	return span_ieq(without_dot(a), without_dot(b));
}

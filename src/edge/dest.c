/* SPDX-License-Identifier: MIT */
/*
 * dest.c: the configuration's lists, applied to one peer or destination.
 *
 * Decides what an address stands for: one that a translator or a tunnel takes
 * apart to find an IPv4 address leads to that address. Which addresses are
 * denied, by class or by block, it leaves to the configuration.
 */
#include "edge/dest.h"

#include "edge/conf_value.h"
#include "policy/pattern.h"

bool
dest_client_allowed(const struct conf *c, const struct sockaddr *sa)
{
	struct in6_addr a;

	if (sa->sa_family == AF_UNIX)
		return true;
	return conf_in6_of(sa, &a) && conf_client_allowed(c, &a);
}

bool
dest_host_allowed(const struct conf *c, struct span host, uint16_t port,
    bool *ret_forced)
{
	enum conf_access access = conf_host_access(c, host, port);

	*ret_forced = access == CONF_ALLOWED;
	return access != CONF_DENIED;
}

/*
 * Prefixes of IPv6 addresses whose last four bytes are an IPv4 one. NAT64's
 * well-known prefix and 6to4 are followed by conf_addr_allowed; these are the
 * rarer ones.
 */
static const struct {
	unsigned char prefix[12];
	unsigned char prefix_n; /* bytes */
	unsigned char flip;     /* its bytes are XORed with this */
} carriers[] = {
    /* RFC 4291 2.5.5.1: IPv4-compatible, which Linux tunnels by itself */
    {{0}, 12, 0},
    /* RFC 2765 2.1: IPv4-translated, ::ffff:0:a.b.c.d */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 12, 0},
    /* RFC 8215: NAT64 of a site's own, 64:ff9b:1::/48; most use a /96 in it */
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 6, 0},
    /* RFC 4380 4: Teredo, 2001::/32, the client's */
    {{0x20, 1, 0, 0}, 4, 0xff},
};

static bool
carried_by(const struct in6_addr *a, unsigned i, struct in6_addr *ret)
{
	if (memcmp(a->s6_addr, carriers[i].prefix, carriers[i].prefix_n) != 0)
		return false;
	if (IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a))
		return false; /* not 0.0.0.0 and 0.0.0.1 */
	*ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	for (unsigned k = 0; k < 4; k++)
		ret->s6_addr[12 + k] =
		    (uint8_t)(a->s6_addr[12 + k] ^ carriers[i].flip);
	return true;
}

bool
dest_addr_allowed(const struct conf *c, const struct sockaddr *sa)
{
	struct in6_addr a, inner;

	if (!conf_in6_of(sa, &a) || !conf_addr_allowed(c, &a))
		return false;
	/* What is allowed by name of its own is not looked into. */
	if (c->allow.all || conf_nets_have(&c->allow.nets, &a))
		return true;
	for (unsigned i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++) {
		if (carried_by(&a, i, &inner) && !conf_addr_allowed(c, &inner))
			return false;
	}
	return true;
}

bool
dest_literal(struct span host, struct in6_addr *ret)
{
	const char *why;

	return value_address(host, ret, &why) == 0;
}

static bool
literal_allowed(const struct conf *c, struct span host)
{
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6};

	return !dest_literal(host, &sa.sin6_addr) ||
	    dest_addr_allowed(c, (const struct sockaddr *)&sa);
}

/* RFC 6761 6.3 */
static bool
is_localhost(struct span host)
{
	const struct span own = SPAN("localhost");
	char ip6[PATTERN_IP6_BYTES];
	struct span plain = pattern_host(host, ip6);

	if (plain.n > own.n && plain.p[plain.n - own.n - 1] == '.')
		plain = (struct span){plain.p + plain.n - own.n, own.n};
	return span_ieq(plain, own);
}

bool
dest_unresolved_allowed(const struct conf *c, struct span host)
{
	if (is_localhost(host))
		return literal_allowed(c, SPAN("127.0.0.1")) &&
		    literal_allowed(c, SPAN("::1"));
	return literal_allowed(c, host);
}

static uint16_t
port_of(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)sa)->sin_port;
	return ((const struct sockaddr_in6 *)(const void *)sa)->sin6_port;
}

static bool
is_loopback(const struct in6_addr *a)
{
	return IN6_IS_ADDR_LOOPBACK(a) ||
	    (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

static bool
is_wildcard(const struct in6_addr *a)
{
	static const struct in6_addr any4 = {
	    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}}};

	return IN6_IS_ADDR_UNSPECIFIED(a) || IN6_ARE_ADDR_EQUAL(a, &any4);
}

bool
dest_is_self(const struct conf *c, const struct sockaddr *sa)
{
	struct in6_addr to, own;

	if (!conf_in6_of(sa, &to))
		return false;
	for (size_t i = 0; i < c->nlisten; i++) {
		const struct sockaddr *at = (const void *)&c->listen[i].addr;

		if (c->listen[i].unix_path || !conf_in6_of(at, &own) ||
		    port_of(at) != port_of(sa))
			continue;
		if (IN6_ARE_ADDR_EQUAL(&own, &to) || is_wildcard(&to) ||
		    (is_wildcard(&own) && is_loopback(&to)))
			return true;
	}
	return false;
}

static bool
literal_is_self(const struct conf *c, struct span host, uint16_t port)
{
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6,
	    .sin6_port = htons(port)};

	return dest_literal(host, &sa.sin6_addr) &&
	    dest_is_self(c, (const struct sockaddr *)&sa);
}

bool
dest_host_is_self(const struct conf *c, struct span host, uint16_t port)
{
	if (is_localhost(host))
		return literal_is_self(c, SPAN("127.0.0.1"), port) ||
		    literal_is_self(c, SPAN("::1"), port);
	return literal_is_self(c, host, port);
}

/* Does this pattern name the port, and the host? */
static bool
names_port(const char *text, struct span host, uint16_t port)
{
	struct pattern p;

	if (pattern_parse(span_of(text), &p) != NULL || p.port != port)
		return false;
	if (!p.is_wildcard)
		return span_ieq(host, p.host);
	if (host.n <= p.host.n + 1)
		return false;
	host.p += host.n - p.host.n - 1;
	host.n = p.host.n + 1;
	return host.p[0] == '.' &&
	    span_ieq((struct span){host.p + 1, host.n - 1}, p.host);
}

bool
dest_connect_port_allowed(const struct conf *c, struct span host, uint16_t port)
{
	const struct conf_service *s;
	char ip6[PATTERN_IP6_BYTES];
	struct span plain;

	if (port == 0)
		return false;
	if (conf_connect_port_allowed(c, port))
		return true;
	s = conf_service_of(c, host, port);
	plain = pattern_host(host, ip6);
	for (size_t i = 0; i < s->nhosts; i++) {
		if (names_port(s->hosts[i], plain, port))
			return true;
	}
	return false;
}

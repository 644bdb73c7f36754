/* SPDX-License-Identifier: MIT */
/*
 * conf_net.c: addresses, blocks, and who may talk to whom.
 *
 * Decides whether an address lies in a block and whether a client or a
 * destination is allowed. It knows no names of blocks: classes are expanded
 * when the file is read (conf_set_proxy.c).
 *
 * An IPv4 address has several spellings in IPv6. The mapped one is the same
 * address for everybody and is kept so; two more (NAT64, 6to4) lead to the
 * IPv4 host through a translator, so what is denied is denied there as well.
 */
#include <arpa/inet.h>

#include "edge/conf_value.h"
#include "policy/pattern.h"

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0xff, 0xff};

static void
map_v4(const void *v4, struct in6_addr *ret)
{
	memcpy(ret->s6_addr, mapped_prefix, sizeof(mapped_prefix));
	memcpy(ret->s6_addr + 12, v4, 4);
}

bool
conf_net_has(const struct conf_net *net, const struct in6_addr *a)
{
	unsigned bytes = net->bits / 8, bits = net->bits % 8;

	if (memcmp(net->addr.s6_addr, a->s6_addr, bytes) != 0)
		return false;
	if (bits == 0)
		return true;
	return ((net->addr.s6_addr[bytes] ^ a->s6_addr[bytes]) >> (8 - bits)) ==
	    0;
}

bool
conf_nets_have(const struct conf_nets *nets, const struct in6_addr *a)
{
	for (size_t i = 0; i < nets->n; i++) {
		if (conf_net_has(&nets->v[i], a))
			return true;
	}
	return false;
}

bool
conf_in6_of(const struct sockaddr *sa, struct in6_addr *ret)
{
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		map_v4(&in.sin_addr, ret);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		*ret = in6.sin6_addr;
		return true;
	}
	return false;
}

bool
conf_client_allowed(const struct conf *c, const struct in6_addr *a)
{
	return conf_nets_have(&c->allow_clients, a);
}

bool
conf_connect_port_allowed(const struct conf *c, uint16_t port)
{
	for (size_t i = 0; i < c->nconnect_ports; i++) {
		if (c->connect_ports[i] == port)
			return true;
	}
	return c->connect_any;
}

/*
 * With "deny_destinations = *" a name is denied at once only where no allowed
 * block could still have its address.
 */
enum conf_access
conf_host_access(const struct conf *c, struct span host, uint16_t port)
{
	if (c->allow.all || rules_find_host(&c->allow.hosts, host, port))
		return CONF_ALLOWED;
	if (rules_find_host(&c->deny.hosts, host, port))
		return CONF_DENIED;
	if (c->deny.all && c->allow.nets.n == 0)
		return CONF_DENIED;
	return CONF_ASK_ADDRESS;
}

bool
conf_places_name(const struct conf_places *places, struct span host,
    uint16_t port)
{
	struct in6_addr addr;
	const char *why;

	if (places == NULL)
		return false;
	return places->all || rules_find_host(&places->hosts, host, port) ||
	    (value_address(host, &addr, &why) == 0 &&
		conf_nets_have(&places->nets, &addr));
}

/*
 * The IPv4 address inside a NAT64 (RFC 6052 2.1, 64:ff9b::/96) or 6to4 (RFC
 * 3056, 2002::/16) address.
 */
static bool
embedded_v4(const struct in6_addr *a, struct in6_addr *ret)
{
	static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};

	if (memcmp(a->s6_addr, nat64, sizeof(nat64)) == 0) {
		map_v4(a->s6_addr + 12, ret);
		return true;
	}
	if (a->s6_addr[0] == 0x20 && a->s6_addr[1] == 0x02) {
		map_v4(a->s6_addr + 2, ret);
		return true;
	}
	return false;
}

bool
conf_addr_allowed(const struct conf *c, const struct in6_addr *a)
{
	struct in6_addr inner;

	if (c->allow.all || conf_nets_have(&c->allow.nets, a))
		return true;
	if (c->deny.all || conf_nets_have(&c->deny.nets, a))
		return false;
	return !embedded_v4(a, &inner) || conf_addr_allowed(c, &inner);
}

int
value_port(struct span s, uint16_t *ret, const char **ret_why)
{
	uint64_t v;

	if (span_u64(s, &v) != 0 || v < 1 || v > 65535) {
		*ret_why = "a port is a number from 1 to 65535";
		return -1;
	}
	*ret = (uint16_t)v;
	return 0;
}

int
value_address(struct span s, struct in6_addr *ret, const char **ret_why)
{
	char text[INET6_ADDRSTRLEN];
	struct in_addr v4;

	if (s.n > 0 && s.n < sizeof(text) && !memchr(s.p, '\0', s.n)) {
		memcpy(text, s.p, s.n);
		text[s.n] = '\0';
		if (inet_pton(AF_INET, text, &v4) == 1) {
			map_v4(&v4, ret);
			return 0;
		}
		if (inet_pton(AF_INET6, text, ret) == 1)
			return 0;
	}
	*ret_why = "it is no IPv4 or IPv6 address";
	return -1;
}

static bool
has_bits_after(const struct in6_addr *a, unsigned from)
{
	for (unsigned i = from; i < 128; i++) {
		if (a->s6_addr[i / 8] & (0x80u >> i % 8))
			return true;
	}
	return false;
}

int
value_net(struct span s, struct conf_net *ret, const char **ret_why)
{
	struct conf_net net = {.bits = 128};
	struct span rest = s, addr;

	if (!span_cut(&rest, '/', &addr) ||
	    value_address(addr, &net.addr, ret_why) != 0)
		return -1;
	if (rest.p != NULL) {
		unsigned base = memchr(addr.p, ':', addr.n) ? 0 : 96;
		uint64_t bits;

		if (span_u64(rest, &bits) != 0 || bits > 128 - base) {
			*ret_why = "the prefix length is no number from 0 to "
				   "32 (IPv4) or 128 (IPv6)";
			return -1;
		}
		net.bits = base + (unsigned)bits;
	}
	if (has_bits_after(&net.addr, net.bits)) {
		*ret_why = "the address has bits beyond its prefix length";
		return -1;
	}
	*ret = net;
	return 0;
}

/* Splits HOST:PORT, [v6]:PORT, [v6], v6; *ret_port.p is NULL without a port. */
static int
split_endpoint(struct span s, struct span *ret_host, struct span *ret_port,
    const char **ret_why)
{
	*ret_port = (struct span){.p = NULL};
	if (s.n > 0 && s.p[0] == '[') {
		const char *end = memchr(s.p, ']', s.n);

		if (end == NULL || (end + 1 < s.p + s.n && end[1] != ':')) {
			*ret_why = "brackets enclose an IPv6 address";
			return -1;
		}
		*ret_host = (struct span){s.p + 1, (size_t)(end - s.p - 1)};
		if (end + 1 < s.p + s.n)
			*ret_port = (struct span){end + 2,
			    (size_t)(s.p + s.n - end - 2)};
		if (!memchr(ret_host->p, ':', ret_host->n)) {
			*ret_why = "brackets enclose an IPv6 address";
			return -1;
		}
		return 0;
	}
	const char *colon = s.n ? memchr(s.p, ':', s.n) : NULL;
	*ret_host = s;
	/* A second colon makes it a bare IPv6 address. */
	if (colon != NULL && memrchr(s.p, ':', s.n) == colon) {
		ret_host->n = (size_t)(colon - s.p);
		*ret_port =
		    (struct span){colon + 1, (size_t)(s.p + s.n - colon - 1)};
	}
	return 0;
}

int
value_endpoint(struct span s, int default_port, int min_port,
    struct in6_addr *ret_addr, uint16_t *ret_port, const char **ret_why)
{
	struct span host, port;
	uint64_t number;

	if (split_endpoint(s, &host, &port, ret_why) != 0)
		return -1;
	if (port.p == NULL && default_port < 0) {
		*ret_why = "the port is missing";
		return -1;
	}
	if (host.n == 0 || span_eq(host, SPAN("*"))) {
		*ret_why = "no address; every one is 0.0.0.0 and [::]";
		return -1;
	}
	if (span_ieq(host, SPAN("localhost"))) {
		*ret_why = "an address, not a name; 127.0.0.1 or [::1]";
		return -1;
	}
	struct in6_addr addr;
	if (value_address(host, &addr, ret_why) != 0)
		return -1;
	number = (uint64_t)(default_port < 0 ? 0 : default_port);
	if (port.p != NULL &&
	    (span_u64(port, &number) != 0 || number < (unsigned)min_port ||
		number > 65535)) {
		*ret_why = min_port ? "a port is a number from 1 to 65535"
				    : "a port is a number from 0 to 65535";
		return -1;
	}
	*ret_addr = addr;
	*ret_port = (uint16_t)number;
	return 0;
}

int
value_plain_host(struct span s, struct span *ret_host, uint16_t *ret_port,
    const char **ret_why)
{
	struct span rest = s;
	struct pattern p;

	*ret_why = pattern_parse(s, &p);
	if (*ret_why == NULL && (p.is_any || p.is_wildcard))
		*ret_why = "a wildcard is no host";
	if (*ret_why != NULL)
		return -1;
	bool bracket = s.p[0] == '[';
	if (bracket)
		rest = (struct span){s.p + 1, s.n - 1};
	(void)span_cut(&rest, bracket ? ']' : ':', ret_host);
	*ret_port = p.port;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Decides which host patterns are sane and how hosts are spelt for comparing.
 * It does not know what a pattern is for.
 *
 * IPv6 addresses have many spellings; they are compared as ':' and 32 hex
 * digits, which no host name looks like.
 */
#include "policy/pattern.h"

#include "proto/octet.h"

/* --- IPv6 addresses ------------------------------------------------------ */

struct ip6 {
	unsigned n; /* groups read */
	int gap;    /* the group that "::" stands before; -1: none */
	uint16_t g[8];
};

/* One group of 1 to 4 digits off the front of *s. */
static bool
ip6_group(struct span *s, struct ip6 *ip)
{
	unsigned v = 0;
	size_t i = 0;

	if (ip->n == 8)
		return false;
	for (; i < s->n && octet_hex(s->p[i]) >= 0; i++) {
		if (i == 4)
			return false;
		v = v * 16 + (unsigned)octet_hex(s->p[i]);
	}
	if (i == 0)
		return false;
	ip->g[ip->n++] = (uint16_t)v;
	*s = (struct span){s->p + i, s->n - i};
	return true;
}

/* A dotted tail (RFC 4291 2.2, third form): two groups. */
static bool
ip6_dotted(struct span s, struct ip6 *ip)
{
	struct span part;
	uint64_t octet;
	uint32_t v = 0;
	unsigned n = 0;

	while (span_cut(&s, '.', &part)) {
		if (part.n > 3 || span_u64(part, &octet) != 0 || octet > 255)
			return false;
		v = v << 8 | (uint32_t)octet;
		n++;
	}
	if (n != 4 || ip->n > 6)
		return false;
	ip->g[ip->n++] = (uint16_t)(v >> 16);
	ip->g[ip->n++] = (uint16_t)v;
	return true;
}

/* The ':' after a group, or "::". False where no more groups may follow. */
static bool
ip6_colon(struct span *s, struct ip6 *ip)
{
	if (span_starts(*s, SPAN("::"))) {
		if (ip->gap >= 0)
			return false;
		ip->gap = (int)ip->n;
		*s = (struct span){s->p + 2, s->n - 2};
		return true;
	}
	if (s->n < 2 || s->p[0] != ':' || ip->n == 0)
		return false;
	*s = (struct span){s->p + 1, s->n - 1};
	return true;
}

static bool
ip6_parse(struct span s, struct ip6 *ip)
{
	*ip = (struct ip6){.gap = -1};
	if (s.n > 0 && s.p[0] == ':' && !ip6_colon(&s, ip))
		return false;
	while (s.n > 0) {
		if (memchr(s.p, '.', s.n) && !memchr(s.p, ':', s.n)) {
			if (!ip6_dotted(s, ip))
				return false;
			break;
		}
		if (!ip6_group(&s, ip) || (s.n > 0 && !ip6_colon(&s, ip)))
			return false;
	}
	return ip->gap < 0 ? ip->n == 8 : ip->n < 8;
}

/* Every spelling of one address gives the same text. */
static bool
ip6_text(struct span s, char ret[PATTERN_IP6_BYTES])
{
	struct ip6 ip;
	unsigned zeros, at = 0;
	char *p = ret;

	/* Nearly all hosts are names. */
	if (s.n == 0 || !memchr(s.p, ':', s.n) || !ip6_parse(s, &ip))
		return false;
	zeros = 8 - ip.n;
	*p++ = ':';
	for (unsigned i = 0; i < 8; i++) {
		bool in_gap = ip.gap >= 0 && i >= (unsigned)ip.gap &&
		    i < (unsigned)ip.gap + zeros;
		uint16_t g = in_gap ? 0 : ip.g[at++];

		for (int shift = 12; shift >= 0; shift -= 4)
			*p++ = "0123456789abcdef"[g >> shift & 15];
	}
	return true;
}

/* --- patterns ------------------------------------------------------------ */

static bool
is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z');
}

static const char *
label_fault(struct span label)
{
	if (label.n == 0)
		return "empty label in the host name";
	if (label.n > 63)
		return "label of more than 63 characters";
	for (size_t i = 0; i < label.n; i++) {
		char c = label.p[i];

		if (c == '*')
			return "'*' stands for whole labels at the front only";
		if (!is_alnum(c) && c != '-' && c != '_')
			return "a host name has letters, digits, '-' and '_'";
	}
	if (label.p[0] == '-' || label.p[label.n - 1] == '-')
		return "label begins or ends with '-'";
	return NULL;
}

static struct span
without_dot(struct span host)
{
	if (host.n > 1 && host.p[host.n - 1] == '.')
		host.n--;
	return host;
}

static const char *
host_fault(struct span host, bool is_wildcard)
{
	struct span rest = host, label;
	uint64_t number;

	if (host.n == 0)
		return "no host name";
	if (host.n > PATTERN_HOST_MAX)
		return "host name of more than 253 characters";
	while (span_cut(&rest, '.', &label)) {
		const char *why = label_fault(label);

		if (why)
			return why;
	}
	/* label is the last one: all digits, then it is an IPv4 address. */
	if (is_wildcard && span_u64(label, &number) == 0)
		return "'*' can't stand for a part of an address";
	return NULL;
}

static const char *
port_fault(struct span s, uint16_t *ret)
{
	uint64_t port;

	if (span_u64(s, &port) != 0 || port < 1 || port > 65535)
		return "a port is a number from 1 to 65535";
	*ret = (uint16_t)port;
	return NULL;
}

static const char *
ip6_pattern(struct span s, struct pattern *ret)
{
	const char *end = memchr(s.p, ']', s.n);
	struct span inner, after;

	if (!end)
		return "'[' without ']'";
	inner = (struct span){s.p + 1, (size_t)(end - s.p) - 1};
	after = (struct span){end + 1, s.n - inner.n - 2};
	if (!ip6_text(inner, ret->ip6))
		return "no IPv6 address in the brackets";
	ret->host = (struct span){ret->ip6, PATTERN_IP6_BYTES};
	if (after.n == 0)
		return NULL;
	if (after.p[0] != ':')
		return "only a port may follow ']'";
	return port_fault((struct span){after.p + 1, after.n - 1}, &ret->port);
}

static const char *
name_pattern(struct span s, struct pattern *ret)
{
	struct span rest = s, port;
	const char *why;

	if (!span_cut(&rest, ':', &ret->host))
		return "no host name";
	if (span_cut(&rest, ':', &port)) {
		if (rest.p)
			return "an IPv6 address needs brackets";
		why = port_fault(port, &ret->port);
		if (why)
			return why;
	}
	if (span_starts(ret->host, SPAN("*."))) {
		ret->is_wildcard = true;
		ret->host.p += 2;
		ret->host.n -= 2;
	}
	ret->host = without_dot(ret->host);
	return host_fault(ret->host, ret->is_wildcard);
}

const char *
pattern_parse(struct span s, struct pattern *ret)
{
	*ret = (struct pattern){0};
	if (s.n == 0)
		return "no host name";
	if (span_eq(s, SPAN("*"))) {
		ret->is_any = true;
		return NULL;
	}
	if (s.p[0] == '[')
		return ip6_pattern(s, ret);
	return name_pattern(s, ret);
}

struct span
pattern_host(struct span host, char ip6[PATTERN_IP6_BYTES])
{
	if (ip6_text(host, ip6))
		return (struct span){ip6, PATTERN_IP6_BYTES};
	return without_dot(host);
}

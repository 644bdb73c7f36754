/* SPDX-License-Identifier: MIT */
/*
 * redirect.c: asks the kernel where a connection was meant to go. It decides
 * whether there is such a place; whether we may go there is for others.
 */
#include "redirect.h"

#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "base/mem.h"
#include "ways.h"

/*
 * Also without a rule connection tracking knows an answer: the address that was
 * connected to, which is the socket's own then.
 */
static bool
original(int fd, const struct sockaddr_storage *own,
    struct sockaddr_storage *ret)
{
	const struct sockaddr_in6 *a6 = (const void *)own, *b6 = (void *)ret;
	const struct sockaddr_in *a4 = (const void *)own, *b4 = (void *)ret;
	socklen_t n = sizeof(*ret);

	if (own->ss_family == AF_INET) {
		n = sizeof(*b4);
		return getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, ret, &n) ==
		    0 &&
		    (a4->sin_port != b4->sin_port ||
			a4->sin_addr.s_addr != b4->sin_addr.s_addr);
	}
	n = sizeof(*b6);
	return getsockopt(fd, IPPROTO_IPV6, IP6T_SO_ORIGINAL_DST, ret, &n) ==
	    0 &&
	    (a6->sin6_port != b6->sin6_port ||
		!IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr));
}

struct redirect *
redirect_find(int fd, const struct sockaddr *peer, const struct hash_key *k,
    const char **ret_why)
{
	struct sockaddr_storage own, to;
	const struct sockaddr_in6 *in6 = (const void *)&to;
	const struct sockaddr_in *in4 = (const void *)&to;
	socklen_t n = sizeof(own);
	struct redirect *r;

	memset(&own, 0, sizeof(own));
	memset(&to, 0, sizeof(to));
	*ret_why = "no netfilter rule has redirected it";
	if (getsockname(fd, (struct sockaddr *)&own, &n) < 0 ||
	    !original(fd, &own, &to))
		return NULL;
	*ret_why = "out of memory";
	r = mem_zalloc(sizeof(*r));
	if (!r)
		return NULL;
	r->way = ways_name(k, peer, (struct sockaddr *)&to);
	if (to.ss_family == AF_INET) {
		r->port = ntohs(in4->sin_port);
		inet_ntop(AF_INET, &in4->sin_addr, r->host, sizeof(r->host));
	} else {
		r->port = ntohs(in6->sin6_port);
		inet_ntop(AF_INET6, &in6->sin6_addr, r->host, sizeof(r->host));
	}
	return r;
}

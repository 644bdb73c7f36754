/* SPDX-License-Identifier: MIT */
/*
 * redirect: a connection that was meant for somebody else, and that netfilter
 * gave to a transparent listener of ours (REDIRECT or DNAT).
 */
#ifndef AB_REDIRECT_H
#define AB_REDIRECT_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/hash.h"

struct redirect {
	uint64_t way;                /* its two ends: see ways.h */
	uint16_t port;               /* where it was meant to go */
	char host[INET6_ADDRSTRLEN]; /* the same: an address as text */
};

/*
 * Of the accepted TCP socket fd, whose client is peer. NULL: nobody redirected
 * it, or no memory; *ret_why says so, static. The caller owns the result
 * (mem_free).
 */
AB_MUST struct redirect *redirect_find(int fd, const struct sockaddr *peer,
    const struct hash_key *k, const char **ret_why);

#endif

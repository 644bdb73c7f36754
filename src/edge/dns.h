/* SPDX-License-Identifier: MIT */
/*
 * dns: questions to name servers, one address family of one name at a time,
 * and the hosts file. One per worker: c-ares on the worker's event loop, its
 * time-outs in the worker's timer heap. Internal to the resolver.
 *
 * c-ares can't take a single question back, so a struct dns_ask lives until its
 * done was called.
 */
#ifndef AB_DNS_H
#define AB_DNS_H

#include <event2/event.h>
#include <sys/socket.h>

#include "base/timer.h"

#define DNS_ADDRS_MAX 16   /* of one family; more are left out */
#define DNS_NAME_SIZE 512  /* bytes of a name with a search domain and a NUL */
#define DNS_TRIES     3    /* per server; each waits twice as long */

struct dns; /* opaque */

enum dns_status {
	DNS_FOUND,
	DNS_NONE,      /* no such name, or it has no such addresses: final */
	DNS_FAILED,    /* no server, no answer, no sense in it: may pass */
	DNS_NO_MEMORY,
	DNS_STOPPED,   /* dns_free came first */
};

struct dns_found {
	unsigned n;
	int64_t ttl_ms; /* the shortest of them, aliases on the way included */
	unsigned char v[DNS_ADDRS_MAX][16]; /* IPv4: the first 4 bytes */
};

struct dns_ask { /* embedded by who asks */
	int family;  /* AF_INET or AF_INET6, set by who asks */
	enum dns_status status;
	struct dns_found found;
	/* May be called from within dns_query; must not call dns_free. */
	void (*done)(struct dns_ask *ask);
};

/*
 * servers: comma list of ADDRESS[:PORT], v6 in brackets; "": the system's.
 * timeout_ms: of one question in all, for which the tries are cut to fit.
 * NULL: could not be set up, *ret_why is static.
 */
struct dns *dns_new(struct event_base *base, struct timers *timers,
    const int64_t *now_ms, const char *servers, int64_t timeout_ms,
    const char **ret_why);
void dns_free(struct dns *d); /* takes NULL; all under way end as DNS_STOPPED */

void dns_query(struct dns *d, const char *name, struct dns_ask *ask);

/*
 * The i-th full name to look for `name` under, as resolv.conf says (search,
 * ndots; a trailing dot ends all searching). False: there are no more.
 */
bool dns_candidate(const struct dns *d, const char *name, unsigned i,
    char ret[DNS_NAME_SIZE]);

/*
 * What the hosts file says, at once; ttl_ms is 0. False: the name is not in
 * it. "localhost" always is (RFC 6761 6.3).
 */
bool dns_hosts(struct dns *d, const char *name,
    struct dns_found *ret_v6, struct dns_found *ret_v4);

#endif

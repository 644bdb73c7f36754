/* SPDX-License-Identifier: MIT */
/*
 * resolve: host names to addresses, one resolver per worker, asynchronous
 * (c-ares: TTLs, TCP fallback, /etc/hosts, resolv.conf), with a bounded cache
 * that keeps an answer no longer than its TTL and cache_ttl_max. Questions for
 * the same name that are under way are asked once. Failures are not kept.
 *
 * resolv.conf is read when the resolver is made and when it is reconfigured,
 * the hosts file whenever the cache has no answer.
 */
#ifndef AB_RESOLVE_H
#define AB_RESOLVE_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/timer.h"

#define RESOLVE_ADDRS_MAX     16   /* of one name; more are left out */
#define RESOLVE_QUESTIONS_MAX 4096 /* names under way; more fail */
/* How long an answer waits for its IPv6 addresses (RFC 8305 3). */
#define RESOLVE_GRACE_MS 50
/* An answer that lacks a family for that or a failure is not kept longer, nor
 * is what the hosts file says. */
#define RESOLVE_PARTIAL_MS 1000

struct resolve_addr {
	struct sockaddr_storage sa; /* port 0 */
	socklen_t len;
};

/* Shared by reference count within one worker's thread. */
struct resolve_addrs {
	unsigned refs;
	unsigned n; /* >= 1; order of RFC 8305 4: families in turn, IPv6 first */
	struct resolve_addr v[];
};
void resolve_addrs_put(struct resolve_addrs *a); /* takes NULL */

enum resolve_error {
	RESOLVE_OK,
	RESOLVE_NO_NAME, /* NXDOMAIN, or no addresses: final */
	RESOLVE_FAILED,  /* SERVFAIL, timeout, no server: may pass */
	RESOLVE_NO_MEMORY,
};

struct resolver_cfg {
	/* Comma list of IP[:port], v6 with a port in brackets; "": the
	 * system's. Read during the call only. */
	const char *servers;
	int64_t timeout_ms;       /* of one question in all */
	int64_t cache_ttl_max_ms; /* 0: no cache */
	unsigned cache_names_max; /* LRU bound; 0: no cache */
};

struct resolver; /* opaque */

/* One question; embedded by who asks. In a list while it waits. */
struct resolve_query {
	struct list link;
	/* Set by who asks. Called once, from timers_run, never from
	 * resolver_ask itself; may ask and cancel, this query too, and free it.
	 * addrs: a reference for the callee, NULL on an error. */
	void (*done)(struct resolve_query *q, enum resolve_error err,
	    struct resolve_addrs *addrs);
};

/* NULL: c-ares could not be set up (*ret_why, static). `now_ms` is read at use;
 * base, timers and now_ms are borrowed until resolver_free. */
struct resolver *resolver_new(struct event_base *base, struct timers *timers,
    const int64_t *now_ms, const struct resolver_cfg *cfg, const char **ret_why);
/* Takes NULL. No query may be waiting; not from within a done. */
void resolver_free(struct resolver *r);
/*
 * After a reload: new servers and limits, resolv.conf is read again, the cache
 * is dropped, what is under way is asked anew and keeps its time limit. Logs
 * where that can't be had, and goes on with what it has. Not from within a
 * done.
 */
void resolver_reconfigure(struct resolver *r, const struct resolver_cfg *cfg);

/*
 * Literals (IPv4 dotted, IPv6 without brackets), names of the hosts file and
 * cached names: RESOLVE_OK and *ret_addrs at once, q->done is not called. Else
 * *ret_addrs is NULL: with RESOLVE_OK q->done will be called, with an error it
 * will not. What is no host name (letters, digits, '-', '_') is RESOLVE_NO_NAME.
 * Names are compared without case. "localhost" and all below it never leave the
 * machine (RFC 6761 6.3), names below "onion" do not exist (RFC 7686 2).
 */
enum resolve_error resolver_ask(struct resolver *r, const char *host,
    struct resolve_query *q, struct resolve_addrs **ret_addrs);
/* Fine when not waiting, and on a zeroed one. */
void resolve_cancel(struct resolve_query *q);

#endif

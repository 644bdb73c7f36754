/* SPDX-License-Identifier: MIT */
/*
 * ways: the connections that this process has made, by their two ends, so that
 * one that netfilter led back to us is known when it comes in.
 *
 * Only kept where there is a transparent listener; shared by all workers.
 */
#ifndef AB_WAYS_H
#define AB_WAYS_H

#include <pthread.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/map.h"

struct ways {
	bool on;
	pthread_mutex_t lock;
	struct map map; /* struct way */
};

struct way { /* part of who owns the connection; zeroed: not listed */
	struct map_node node;
	bool listed;
};

AB_MUST int ways_init(struct ways *s, bool on); /* 0, or -1 out of memory */
void ways_free(struct ways *s);

/* The name of a connection. IPv4 and IPv6 addresses only. */
uint64_t ways_name(const struct hash_key *k, const struct sockaddr *from,
    const struct sockaddr *to);

/* Lists the connected socket fd, until ways_del. */
void ways_add(struct ways *s, struct way *w, const struct hash_key *k, int fd);
void ways_del(struct ways *s, struct way *w); /* fine when not listed */
bool ways_have(struct ways *s, uint64_t name);

#endif

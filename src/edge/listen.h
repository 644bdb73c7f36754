/* SPDX-License-Identifier: MIT */
/*
 * listen: the sockets that clients come in by. Each worker has its own TCP
 * sockets (SO_REUSEPORT); a unix socket is one, shared by all.
 */
#ifndef AB_LISTEN_H
#define AB_LISTEN_H

#include "worker.h"

/* The process's listening sockets, bound before any worker starts. */
struct listen_set {
	int *fds;       /* owns; fds[worker * n + i] for conf->listen[i] */
	size_t n;
	unsigned workers;
	size_t made;    /* bound so far: conf->listen[0, made) is ours to unlink */
};

/* 0, or -1 with a log line that names the address: exit code 2. Port 0 is
 * replaced by the one chosen; every address is logged. */
AB_MUST int listen_open(struct listen_set *s, const struct conf *c,
    unsigned workers);
void listen_free(struct listen_set *s, const struct conf *c);

/* Starts accepting in this worker; takes over its descriptors. 0 or -1. */
AB_MUST int listen_start(struct worker *w, struct listen_set *s);
void listen_stop(struct worker *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fleet: clients that ask the same thing at the same time, each on its own
 * connection, the next request when the last one is answered.
 *
 *   FREE -> DIALLING -> [KNOCKING ->] [SHAKING ->] ASKING -> QUIET
 *             ^            CONNECT       TLS       |  |      (once)
 *             +------------------------------------+--+
 *              closed, or fresh                     next request
 */
#ifndef AB_BENCH_FLEET_H
#define AB_BENCH_FLEET_H

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct fleet_cfg {
	struct sockaddr_in to; /* a proxy, or the origin */
	struct span knock;     /* CONNECT, first on each connection; empty: none */
	struct span request;   /* borrowed, as is knock, until fleet_free */
	SSL_CTX *tls;          /* borrowed, as well; NULL: none is spoken */
	bool resume;           /* a client takes its last TLS session up */
	unsigned width;        /* connections */
	uint64_t max_requests; /* then it is done */
	bool fresh;            /* a connection for each request */
	bool once;             /* a request for each connection, which stays */
};

struct fleet_tally {
	uint64_t answers; /* 200 */
	uint64_t refused; /* another status */
	uint64_t broken;  /* no connection, or no complete answer */
	uint64_t bytes;   /* received */
	uint64_t dials;
	uint64_t shakes;  /* TLS handshakes */
	uint64_t resumed; /* of them, without a certificate */
};

struct client;

struct fleet {
	struct fleet_cfg cfg;
	struct fleet_tally tally;
	struct client *clients; /* owned: cfg.width of them */
	char *buf;              /* owned: what was just received */
	int epoll;
	unsigned dialled;     /* clients that have begun */
	unsigned dialling;    /* of them, not connected yet */
	uint64_t asked;       /* requests sent, or given up before */
	uint64_t finished;    /* of them, answered or broken */
	uint32_t *latency_us; /* owned: of answers, as far as there is room */
	size_t nlatency;
};

AB_MUST int fleet_init(struct fleet *f, const struct fleet_cfg *cfg);
void fleet_free(struct fleet *f);

/* Forgets what was counted; the connections go on. */
void fleet_count_anew(struct fleet *f);
/* Waits for events, not beyond `until_ns`, and handles them. */
void fleet_turn(struct fleet *f, uint64_t until_ns);
/* All requests are made, or too many broke for it to make sense. */
bool fleet_done(const struct fleet *f);
/* Sorts the latencies; the one that the share `q` of the answers did not
 * exceed. 0: no answers. */
uint32_t fleet_latency_us(struct fleet *f, double q);

#endif

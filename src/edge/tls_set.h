/* SPDX-License-Identifier: MIT */
/*
 * tls_set: what the files that a configuration names hold, ready for use:
 * authorities to trust, client certificates, the CA of intercepted hosts, the
 * certificate of tls: listeners. Made once with its configuration, freed with
 * it, and only read in between, by all workers.
 */
#ifndef AB_TLS_SET_H
#define AB_TLS_SET_H

#include <openssl/ssl.h>

#include "conf.h"

struct mint;

/* How TLS is spoken to some upstreams. */
struct tls_upstream {
	_Atomic(SSL_CTX *) ctx; /* see tls_upstream_context */
	int min_version;
	uint64_t id; /* of this process, never used again */
	const struct conf_file *ca, *cert, *key; /* borrows: from the conf */
};

/* Who wants to know of a session that can be taken up later: the owner (see
 * tls_set_owner) of sessions with upstreams. */
struct tls_keeper {
	/* Takes over a reference. */
	void (*keep)(struct tls_keeper *k, SSL_SESSION *s);
};

struct tls_set {
	uint64_t id;
	int min_version;             /* TLS1_2_VERSION or TLS1_3_VERSION */
	struct mint *mint;           /* owns; NULL: nothing is intercepted */
	SSL_CTX *listen;             /* owns; NULL: no tls: listener */
	struct tls_upstream **upstream; /* owns */
	size_t nupstream;
	bool secrets;                /* a private key is in memory */
};

/*
 * Reads what c names into c->tls and gives each service its tls_upstream. 0;
 * else -1 with a problem for each file that can't be used: where it is named,
 * what is wrong, what to do.
 */
AB_MUST int tls_set_load(struct conf *c, struct conf_problems *problems);
void tls_set_free(struct tls_set *s); /* takes NULL */
/* Made when it is first asked for, by whichever thread; NULL: no memory. */
SSL_CTX *tls_upstream_context(struct tls_upstream *u);
/* One session ticket for each client (RFC 8446 4.6.1), under a key of the process
 * that every worker and every context has: 0 or -1. */
AB_MUST int tls_set_tickets(SSL_CTX *ctx);

#endif

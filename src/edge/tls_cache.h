/* SPDX-License-Identifier: MIT */
/*
 * tls_cache: TLS sessions with upstreams that may be taken up again (RFC 8446
 * 2.2), of one worker; the one unused longest goes first. A session is taken
 * out when it is used: a TLS 1.3 ticket is for one connection (RFC 8446 C.4),
 * and the server sends the next one. So there are several for one server:
 * connections that are made at the same time take one each.
 */
#ifndef AB_TLS_CACHE_H
#define AB_TLS_CACHE_H

#include <openssl/ssl.h>

#include "base/list.h"
#include "base/map.h"

#define TLS_CACHE_MAX     1024 /* sessions; about 2 KB each */
#define TLS_CACHE_KEY_MAX 16   /* with one key */

struct tls_cache {
	struct map sessions; /* struct tls_cached */
	struct list oldest;  /* the same, oldest first */
	uint64_t last;       /* how many ever came */
	unsigned n;
};

AB_MUST int tls_cache_init(struct tls_cache *c);
void tls_cache_free(struct tls_cache *c); /* fine when zeroed */
/* The newest. key: hash of server and context. A reference for the caller, or
 * NULL. */
SSL_SESSION *tls_cache_take(struct tls_cache *c, uint64_t key);
/* Takes over a reference. */
void tls_cache_put(struct tls_cache *c, uint64_t key, SSL_SESSION *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * mint: certificates for intercepted hosts, made as they are asked for and
 * signed by the user's own CA. All of them have one key, made at the start.
 *
 * A struct mint never changes once it is made: all threads use one at once.
 */
#ifndef AB_MINT_H
#define AB_MINT_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/span.h"

/* Seconds that a leaf is good for after it was made, where the CA is. */
#define MINT_LIFE_S   (INT64_C(7) * 86400)
/* One with less than this left is made anew. */
#define MINT_RENEW_S  (MINT_LIFE_S / 2)
/* A leaf is good since so long before it was made: clocks differ. */
#define MINT_BEFORE_S (INT64_C(1) * 86400)

struct mint; /* opaque */

/*
 * Takes references to both. NULL, with *ret_why (static), where no client
 * would take a leaf of this CA: it is no CA (RFC 5280 4.2.1.9), may not sign
 * certificates (4.2.1.3), is not valid now, the key is not its own; or for
 * want of memory.
 */
AB_MUST struct mint *mint_new(X509 *ca, EVP_PKEY *ca_key,
    const char **ret_why);
void mint_free(struct mint *m); /* takes NULL */

/*
 * A certificate for one host (RFC 5280, RFC 9525): a DNS name in A-labels, no
 * trailing dot, '_' is allowed, '*' is not; or an IPv4 or IPv6 address without
 * brackets. The caller owns it. now_s: of the wall clock.
 * NULL: no such host can have one (longer than 253 bytes, a byte that a name
 * can't hold), the CA is not valid at now_s, or there is no memory.
 */
AB_MUST X509 *mint_leaf(const struct mint *m, const char *host, int64_t now_s);

/* The key of all leaves, and the CA: borrowed, until mint_free. */
EVP_PKEY *mint_key(const struct mint *m);
X509 *mint_ca(const struct mint *m);

/*
 * Would clients take a leaf for this host (as above), by the CA's name
 * constraints (RFC 5280 4.2.1.10)? False for a host that can't have a leaf,
 * too, and without memory.
 */
bool mint_permits(const struct mint *m, const char *host);
/* The same for any host that a pattern (policy/pattern.h) is about. */
bool mint_permits_pattern(const struct mint *m, const char *pattern);

#endif

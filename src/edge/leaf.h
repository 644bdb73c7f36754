/* SPDX-License-Identifier: MIT */
/*
 * leaf: server contexts for intercepted hosts, of one worker: each with a
 * certificate minted for one host, ready for use. The one unused longest goes
 * first; one whose certificate is past half of its life is minted anew.
 *
 * The handshake is refused (unrecognized_name) where the client's SNI names
 * another host than the one that it had asked a tunnel to.
 */
#ifndef AB_LEAF_H
#define AB_LEAF_H

#include <openssl/ssl.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "tls_set.h"

#define LEAF_MAX 512 /* hosts; some 17 KB each */

struct leafs {
	struct map hosts;   /* struct leaf */
	struct list oldest; /* the same, unused longest first */
	unsigned n;
	uint64_t set;       /* tls_set.id that they were made from */
};

AB_MUST int leafs_init(struct leafs *l);
void leafs_free(struct leafs *l); /* fine when zeroed */
/*
 * The context for a host (lower case, no trailing dot; or a literal address).
 * Valid until the next call; SSL_new takes a reference of its own. now_s: wall
 * clock. NULL: no memory.
 */
SSL_CTX *leafs_get(struct leafs *l, const struct tls_set *set,
    const struct hash_key *key, const char *host, int64_t now_s);

#endif

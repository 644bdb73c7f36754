/* SPDX-License-Identifier: MIT */
/*
 * auth_id: what stands for a user, a password and the hash that it is checked
 * against, where none of them may be kept: HMAC-SHA256 with a key that this
 * process has drawn.
 */
#ifndef AB_AUTH_ID_H
#define AB_AUTH_ID_H

#include <openssl/types.h>

#include "base/span.h"

#define AUTH_ID_BYTES 32

struct auth_id {
	unsigned char b[AUTH_ID_BYTES];
};

/* Makes them, for one thread. Zeroed: not ready. */
struct auth_ids {
	EVP_MAC_CTX *mac; /* owns */
};

/* 0, or -1 no memory. */
AB_MUST int auth_ids_init(struct auth_ids *ids,
    const unsigned char key[AUTH_ID_BYTES]);
void auth_ids_free(struct auth_ids *ids); /* fine when zeroed */
/* None of the spans may have a NUL in it. 0, or -1 no memory. */
AB_MUST int auth_ids_make(struct auth_ids *ids, struct span user,
    struct span password, struct span hash, struct auth_id *ret);

#endif

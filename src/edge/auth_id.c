/* SPDX-License-Identifier: MIT */
/*
 * auth_id decides that two logins are the same one. It refuses to know whether
 * they are good.
 */
#include "edge/auth_id.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

int
auth_ids_init(struct auth_ids *ids, const unsigned char key[AUTH_ID_BYTES])
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
	char digest[] = "SHA256";
	OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
	    OSSL_PARAM_construct_end(),
	};

	EVP_MAC_free(mac);
	if (!ctx || EVP_MAC_init(ctx, key, AUTH_ID_BYTES, params) != 1) {
		EVP_MAC_CTX_free(ctx);
		return -1;
	}
	ids->mac = ctx;
	return 0;
}

void
auth_ids_free(struct auth_ids *ids)
{
	EVP_MAC_CTX_free(ids->mac);
	ids->mac = NULL;
}

static bool
add(EVP_MAC_CTX *mac, struct span s)
{
	return EVP_MAC_update(mac, (const unsigned char *)s.p, s.n) == 1;
}

int
auth_ids_make(struct auth_ids *ids, struct span user, struct span password,
    struct span hash, struct auth_id *ret)
{
	static const struct span end = {"", 1};
	EVP_MAC_CTX *mac = ids->mac;
	size_t n;

	/* Without a key: with the one that it has, from the beginning. */
	if (EVP_MAC_init(mac, NULL, 0, NULL) != 1 || !add(mac, user) ||
	    !add(mac, end) || !add(mac, password) || !add(mac, end) ||
	    !add(mac, hash) ||
	    EVP_MAC_final(mac, ret->b, &n, sizeof(ret->b)) != 1)
		return -1;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * mint_rig: CAs of all kinds, made in memory, and the verifying of what they
 * sign, as strictly as OpenSSL can.
 */
#ifndef AB_MINT_RIG_H
#define AB_MINT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/span.h"

#define RIG_DAY 86400

static inline int64_t
rig_now(void)
{
	return time(NULL);
}

struct rig_ext {
	int nid;
	const char *value; /* as in openssl.cnf */
};

struct rig_ca {
	X509 *cert;
	EVP_PKEY *key;
};

/* What a good CA says of itself. */
#define RIG_CA_EXTS                                                 \
	{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},      \
	{NID_key_usage, "critical,keyCertSign,cRLSign"},            \
	{NID_subject_key_identifier, "hash"}

static inline void
rig_add_ext(X509 *cert, struct rig_ext e)
{
	X509V3_CTX ctx;
	X509_EXTENSION *x;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
	x = X509V3_EXT_conf_nid(NULL, &ctx, e.nid, e.value);
	assert_non_null(x);
	assert_int_equal(X509_add_ext(cert, x, -1), 1);
	X509_EXTENSION_free(x);
}

/* Valid from and until so many seconds from now; exts end with nid 0. */
static inline struct rig_ca
rig_ca_valid(EVP_PKEY *key, const struct rig_ext *exts, long from, long until)
{
	struct rig_ca ca = {X509_new(), key};
	X509_NAME *name;
	int alone;

	assert_non_null(ca.cert);
	assert_non_null(key);
	name = X509_get_subject_name(ca.cert);
	assert_int_equal(X509_set_version(ca.cert, X509_VERSION_3), 1);
	assert_int_equal(
	    ASN1_INTEGER_set(X509_get_serialNumber(ca.cert), 7), 1);
	assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)"rig CA", -1, -1, 0), 1);
	assert_int_equal(X509_set_issuer_name(ca.cert, name), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(ca.cert), from));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(ca.cert), until));
	assert_int_equal(X509_set_pubkey(ca.cert, key), 1);
	for (; exts->nid != 0; exts++)
		rig_add_ext(ca.cert, *exts);
	alone = EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519;
	assert_true(X509_sign(ca.cert, key, alone ? NULL : EVP_sha256()) > 0);
	return ca;
}

static inline struct rig_ca
rig_ca(EVP_PKEY *key, const struct rig_ext *exts)
{
	return rig_ca_valid(key, exts, -RIG_DAY, 3650L * RIG_DAY);
}

static inline void
rig_ca_free(struct rig_ca *ca)
{
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
}

/* X509_V_OK or why not; host: a name, or an address where is_ip. */
static inline int
rig_verify(X509 *ca, X509 *leaf, const char *host, bool is_ip)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *param;
	int error;

	assert_true(store && ctx);
	assert_int_equal(X509_STORE_add_cert(store, ca), 1);
	assert_int_equal(X509_STORE_CTX_init(ctx, store, leaf, NULL), 1);
	param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_CHECK_SS_SIGNATURE);
	assert_int_equal(X509_STORE_CTX_set_purpose(ctx,
	    X509_PURPOSE_SSL_SERVER), 1);
	if (is_ip)
		assert_int_equal(X509_VERIFY_PARAM_set1_ip_asc(param, host), 1);
	else
		assert_int_equal(X509_VERIFY_PARAM_set1_host(param, host, 0),
		    1);
	(void)X509_verify_cert(ctx);
	error = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return error;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * mint.c: one leaf at a time.
 *
 * Decides what a leaf says and which CA is worth signing with. It knows no
 * files (ca.c) and keeps no leaf: who asks does that.
 *
 * All that leaves have in common is encoded once, by mint_new, and copied into
 * each. So the threads read what nobody writes; of the CA's certificate no
 * more is touched than what was looked up here first, since OpenSSL fills in a
 * certificate's caches on first use.
 */
#include "edge/mint.h"

#include <openssl/err.h>
#include <time.h>

#include "base/mem.h"
#include "edge/cert.h"

enum { EXT_BASIC, EXT_USAGE, EXT_PURPOSE, EXT_SUBJECT, EXT_ISSUER, EXT_COUNT };

struct mint {
	X509 *ca;                       /* a reference */
	EVP_PKEY *ca_key;               /* a reference */
	EVP_PKEY *key;                  /* a reference */
	X509_NAME *issuer;              /* owns */
	X509_EXTENSION *ext[EXT_COUNT]; /* owns */
	NAME_CONSTRAINTS *constraints;  /* owns; NULL: none */
	const EVP_MD *digest;           /* NULL: the signature has its own */
	int64_t from_s, until_s;        /* the CA's validity */
};

/* --- the CA --------------------------------------------------------------- */

static bool
epoch_of(const ASN1_TIME *t, int64_t *ret)
{
	struct tm tm;

	if (!t || !ASN1_TIME_to_tm(t, &tm))
		return false;
	*ret = timegm(&tm);
	return true;
}

/* Also has OpenSSL fill in the caches of the certificate. */
static const char *
check_ca(X509 *ca, EVP_PKEY *key)
{
	if (X509_check_purpose(ca, -1, 0) != 1 ||
	    (X509_get_extension_flags(ca) & EXFLAG_INVALID))
		return "the certificate's extensions can't be read";
	if (!(X509_get_extension_flags(ca) & EXFLAG_CA))
		return "the certificate is not a CA's (basicConstraints)";
	if (!(X509_get_key_usage(ca) & KU_KEY_CERT_SIGN))
		return "the CA may not sign certificates (keyUsage)";
	if (!X509_check_private_key(ca, key))
		return "the key does not belong to the CA's certificate";
	if (X509_cmp_current_time(X509_get0_notBefore(ca)) >= 0)
		return "the CA's certificate is not valid yet";
	if (X509_cmp_current_time(X509_get0_notAfter(ca)) <= 0)
		return "the CA's certificate has expired";
	return NULL;
}

static X509_EXTENSION *
server_auth(void)
{
	EXTENDED_KEY_USAGE *list = sk_ASN1_OBJECT_new_null();
	ASN1_OBJECT *purpose = OBJ_nid2obj(NID_server_auth); /* static */
	X509_EXTENSION *e = NULL;

	if (list && purpose && sk_ASN1_OBJECT_push(list, purpose) > 0)
		e = X509V3_EXT_i2d(NID_ext_key_usage, 0, list);
	sk_ASN1_OBJECT_free(list);
	return e;
}

static bool
prepare(struct mint *m)
{
	/* digitalSignature: all that an EC key does in TLS. */
	static const int usage[] = {0, -1};
	int at;

	m->ext[EXT_BASIC] = cert_basic_constraints(-1);
	m->ext[EXT_USAGE] = cert_key_usage(usage);
	m->ext[EXT_PURPOSE] = server_auth();
	m->ext[EXT_SUBJECT] = cert_subject_key(m->key);
	m->ext[EXT_ISSUER] = cert_authority_key(m->ca);
	for (int i = 0; i < EXT_COUNT; i++) {
		if (!m->ext[i])
			return false;
	}
	m->issuer = X509_NAME_dup(X509_get_subject_name(m->ca));
	/* at: -1, there is none; -2, there are two. */
	m->constraints =
	    X509_get_ext_d2i(m->ca, NID_name_constraints, &at, NULL);
	m->digest = cert_digest(m->ca_key);
	/* Encodes the name, so that no reader has to: it would keep that. */
	return m->issuer && i2d_X509_NAME(m->issuer, NULL) > 0 &&
	    (m->constraints || at == -1) &&
	    epoch_of(X509_get0_notBefore(m->ca), &m->from_s) &&
	    epoch_of(X509_get0_notAfter(m->ca), &m->until_s);
}

struct mint *
mint_new(X509 *ca, EVP_PKEY *ca_key, const char **ret_why)
{
	const char *why = check_ca(ca, ca_key);
	struct mint *m = why ? NULL : mem_zalloc(sizeof(*m));
	X509 *probe = NULL;

	if (why)
		goto out;
	why = "no leaf could be made (out of memory, or a key that can't sign)";
	if (!m || !X509_up_ref(ca))
		goto out;
	m->ca = ca;
	if (!EVP_PKEY_up_ref(ca_key))
		goto out;
	m->ca_key = ca_key;
	m->key = EVP_EC_gen("P-256");
	/* What signs once signs always. */
	if (m->key && prepare(m))
		probe = mint_leaf(m, "localhost", time(NULL));
	X509_free(probe);
	if (probe)
		return m;
out:
	ERR_clear_error();
	mint_free(m);
	*ret_why = why;
	return NULL;
}

void
mint_free(struct mint *m)
{
	if (!m)
		return;
	for (int i = 0; i < EXT_COUNT; i++)
		X509_EXTENSION_free(m->ext[i]);
	X509_NAME_free(m->issuer);
	NAME_CONSTRAINTS_free(m->constraints);
	X509_free(m->ca);
	EVP_PKEY_free(m->ca_key);
	EVP_PKEY_free(m->key);
	mem_free(m);
}

/* --- a leaf --------------------------------------------------------------- */

/* No longer than the CA, which at now_s must be valid. */
static bool
set_validity(const struct mint *m, X509 *leaf, int64_t now_s)
{
	int64_t from = now_s - MINT_BEFORE_S;
	int64_t until = now_s + MINT_LIFE_S;

	if (from < m->from_s)
		from = m->from_s;
	if (until > m->until_s)
		until = m->until_s;
	return now_s >= m->from_s && now_s < m->until_s &&
	    cert_set_validity(leaf, from, until);
}

static bool
fill(const struct mint *m, X509 *leaf, const struct cert_host *host,
    int64_t now_s)
{
	if (!X509_set_version(leaf, X509_VERSION_3) || !cert_set_serial(leaf) ||
	    !set_validity(m, leaf, now_s) ||
	    !X509_set_issuer_name(leaf, m->issuer) ||
	    !X509_set_pubkey(leaf, m->key))
		return false;
	for (int i = 0; i < EXT_COUNT; i++) {
		if (!X509_add_ext(leaf, m->ext[i], -1))
			return false;
	}
	return cert_set_host(leaf, host);
}

X509 *
mint_leaf(const struct mint *m, const char *host, int64_t now_s)
{
	struct cert_host name;
	X509 *leaf;

	if (!cert_host_read(host, &name))
		return NULL;
	leaf = X509_new();
	if (leaf && fill(m, leaf, &name, now_s) &&
	    X509_sign(leaf, m->ca_key, m->digest))
		return leaf;
	ERR_clear_error();
	X509_free(leaf);
	return NULL;
}

EVP_PKEY *
mint_key(const struct mint *m)
{
	return m->key;
}

X509 *
mint_ca(const struct mint *m)
{
	return m->ca;
}

bool
mint_permits(const struct mint *m, const char *host)
{
	struct cert_host name;

	return cert_host_read(host, &name) &&
	    cert_permits(m->constraints, &name, m->key);
}

bool
mint_permits_pattern(const struct mint *m, const char *pattern)
{
	return cert_permits_pattern(m->constraints, pattern, m->key);
}

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

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "base/mem.h"
#include "policy/pattern.h"

#define SERIAL_BITS 159 /* 20 octets, positive: RFC 5280 4.1.2.2 */
#define LABEL_MAX 63    /* bytes: RFC 1035 2.3.4 */

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

/* --- the host ------------------------------------------------------------- */

struct name {
	unsigned char ip[16];
	int ip_n; /* bytes of ip; 0: a DNS name */
	struct span dns;
};

static bool
is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool
is_dns_name(struct span s)
{
	size_t label = 0;

	if (s.n > PATTERN_HOST_MAX)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' && label > 0)
			label = 0;
		else if (!is_name_byte(s.p[i]) || ++label > LABEL_MAX)
			return false;
	}
	return label > 0;
}

static bool
read_name(const char *host, struct name *ret)
{
	*ret = (struct name){.dns = span_of(host)};
	if (inet_pton(AF_INET, host, ret->ip) == 1)
		ret->ip_n = 4;
	else if (inet_pton(AF_INET6, host, ret->ip) == 1)
		ret->ip_n = 16;
	return ret->ip_n > 0 || is_dns_name(ret->dns);
}

/* --- what all leaves have in common --------------------------------------- */

static X509_EXTENSION *
basic_constraints(void)
{
	BASIC_CONSTRAINTS *b = BASIC_CONSTRAINTS_new(); /* no CA: the default */
	X509_EXTENSION *e = NULL;

	if (b)
		e = X509V3_EXT_i2d(NID_basic_constraints, 1, b);
	BASIC_CONSTRAINTS_free(b);
	return e;
}

static X509_EXTENSION *
key_usage(void)
{
	ASN1_BIT_STRING *bits = ASN1_BIT_STRING_new();
	X509_EXTENSION *e = NULL;

	/* Bit 0: digitalSignature, all that an EC key does in TLS. */
	if (bits && ASN1_BIT_STRING_set_bit(bits, 0, 1))
		e = X509V3_EXT_i2d(NID_key_usage, 1, bits);
	ASN1_BIT_STRING_free(bits);
	return e;
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

/* RFC 5280 4.2.1.2 (1): the SHA-1 of the key's bits. */
static ASN1_OCTET_STRING *
key_id(const X509 *cert)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	ASN1_OCTET_STRING *id = ASN1_OCTET_STRING_new();
	unsigned n;

	if (id && X509_pubkey_digest(cert, EVP_sha1(), sum, &n) &&
	    ASN1_OCTET_STRING_set(id, sum, (int)n))
		return id;
	ASN1_OCTET_STRING_free(id);
	return NULL;
}

static X509_EXTENSION *
subject_key(EVP_PKEY *key)
{
	X509 *holder = X509_new();
	ASN1_OCTET_STRING *id = NULL;
	X509_EXTENSION *e = NULL;

	if (holder && X509_set_pubkey(holder, key))
		id = key_id(holder);
	if (id)
		e = X509V3_EXT_i2d(NID_subject_key_identifier, 0, id);
	ASN1_OCTET_STRING_free(id);
	X509_free(holder);
	return e;
}

static X509_EXTENSION *
authority_key(X509 *ca)
{
	const ASN1_OCTET_STRING *own = X509_get0_subject_key_id(ca);
	AUTHORITY_KEYID *a = AUTHORITY_KEYID_new();
	X509_EXTENSION *e = NULL;

	if (a)
		a->keyid = own ? ASN1_OCTET_STRING_dup(own) : key_id(ca);
	if (a && a->keyid)
		e = X509V3_EXT_i2d(NID_authority_key_identifier, 0, a);
	AUTHORITY_KEYID_free(a);
	return e;
}

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

/* A longer key of the CA is not weakened by a short digest. */
static const EVP_MD *
digest_for(EVP_PKEY *key)
{
	char name[64] = "";

	if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC) {
		if (EVP_PKEY_get_bits(key) > 384)
			return EVP_sha512();
		return EVP_PKEY_get_bits(key) > 256 ? EVP_sha384()
						    : EVP_sha256();
	}
	if (EVP_PKEY_get_default_digest_name(key, name, sizeof(name)) <= 0 ||
	    strcmp(name, "UNDEF") == 0)
		return NULL;
	return EVP_get_digestbyname(name);
}

static bool
prepare(struct mint *m)
{
	int at;

	m->ext[EXT_BASIC] = basic_constraints();
	m->ext[EXT_USAGE] = key_usage();
	m->ext[EXT_PURPOSE] = server_auth();
	m->ext[EXT_SUBJECT] = subject_key(m->key);
	m->ext[EXT_ISSUER] = authority_key(m->ca);
	for (int i = 0; i < EXT_COUNT; i++) {
		if (!m->ext[i])
			return false;
	}
	m->issuer = X509_NAME_dup(X509_get_subject_name(m->ca));
	/* at: -1, there is none; -2, there are two. */
	m->constraints =
	    X509_get_ext_d2i(m->ca, NID_name_constraints, &at, NULL);
	m->digest = digest_for(m->ca_key);
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

static bool
set_serial(X509 *leaf)
{
	BIGNUM *n = BN_new();
	bool ok;

	/* The top bit set: never 0, and all of one length. */
	ok = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY);
	if (ok)
		ok = BN_to_ASN1_INTEGER(n, X509_get_serialNumber(leaf)) != NULL;
	BN_free(n);
	return ok;
}

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
	    ASN1_TIME_set(X509_getm_notBefore(leaf), (time_t)from) &&
	    ASN1_TIME_set(X509_getm_notAfter(leaf), (time_t)until);
}

/* Only a DNS name that fits (ub-common-name) is the subject, too. */
static bool
has_subject(const struct name *name)
{
	return name->ip_n == 0 && name->dns.n <= ub_common_name;
}

static bool
set_subject(X509 *leaf, const struct name *name)
{
	return X509_NAME_add_entry_by_NID(X509_get_subject_name(leaf),
		   NID_commonName, MBSTRING_UTF8,
		   (const unsigned char *)name->dns.p, (int)name->dns.n, -1,
		   0) == 1;
}

static GENERAL_NAME *
general_name(const struct name *name)
{
	GENERAL_NAME *g = GENERAL_NAME_new();
	ASN1_STRING *s = ASN1_STRING_type_new(
	    name->ip_n > 0 ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
	const void *p = name->ip_n > 0 ? (const void *)name->ip : name->dns.p;
	int n = name->ip_n > 0 ? name->ip_n : (int)name->dns.n;

	if (!g || !s || !ASN1_STRING_set(s, p, n)) {
		GENERAL_NAME_free(g);
		ASN1_STRING_free(s);
		return NULL;
	}
	GENERAL_NAME_set0_value(g, name->ip_n > 0 ? GEN_IPADD : GEN_DNS, s);
	return g;
}

/* Critical where there is no subject: RFC 5280 4.2.1.6. */
static bool
add_name(X509 *leaf, const struct name *name)
{
	GENERAL_NAMES *list = GENERAL_NAMES_new();
	GENERAL_NAME *g = general_name(name);
	bool ok = false;

	if (list && g && sk_GENERAL_NAME_push(list, g) > 0) {
		g = NULL;
		ok = X509_add1_ext_i2d(leaf, NID_subject_alt_name, list,
			 !has_subject(name), X509V3_ADD_DEFAULT) == 1;
	}
	GENERAL_NAME_free(g);
	GENERAL_NAMES_free(list);
	return ok;
}

static bool
fill(const struct mint *m, X509 *leaf, const struct name *name, int64_t now_s)
{
	if (!X509_set_version(leaf, X509_VERSION_3) || !set_serial(leaf) ||
	    !set_validity(m, leaf, now_s) ||
	    !X509_set_issuer_name(leaf, m->issuer) ||
	    !X509_set_pubkey(leaf, m->key))
		return false;
	if (has_subject(name) && !set_subject(leaf, name))
		return false;
	for (int i = 0; i < EXT_COUNT; i++) {
		if (!X509_add_ext(leaf, m->ext[i], -1))
			return false;
	}
	return add_name(leaf, name);
}

X509 *
mint_leaf(const struct mint *m, const char *host, int64_t now_s)
{
	struct name name;
	X509 *leaf;

	if (!read_name(host, &name))
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
	X509 *leaf = mint_leaf(m, host, m->from_s);
	bool yes = false;

	/* The check reads what X509_check_purpose looks up. */
	if (leaf && X509_check_purpose(leaf, -1, 0) == 1)
		yes = !m->constraints ||
		    NAME_CONSTRAINTS_check(leaf, m->constraints) == X509_V_OK;
	ERR_clear_error();
	X509_free(leaf);
	return yes;
}

/* SPDX-License-Identifier: MIT */
/*
 * cert.c: names, identifiers and extensions of certificates.
 *
 * Decides how each is written. Which of them a certificate has is decided by
 * who makes it.
 */
#include "edge/cert.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <time.h>

#include "policy/pattern.h"
#include "proto/octet.h"

#define SERIAL_BITS 159 /* 20 octets, positive */
#define LABEL_MAX 63    /* bytes: RFC 1035 2.3.4 */

/* --- hosts ---------------------------------------------------------------- */

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
is_name_byte(char c)
{
	return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
	    c == '-' || c == '_';
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

bool
cert_host_read(const char *host, struct cert_host *ret)
{
	*ret = (struct cert_host){.dns = span_of(host)};
	if (inet_pton(AF_INET, host, ret->ip) == 1)
		ret->ip_n = 4;
	else if (inet_pton(AF_INET6, host, ret->ip) == 1)
		ret->ip_n = 16;
	return ret->ip_n > 0 || is_dns_name(ret->dns);
}

/* ':' and 32 hex digits, as pattern_host writes it. */
static void
read_ip6(const struct pattern *p, struct cert_host *ret)
{
	for (int i = 0; i < 16; i++) {
		unsigned high = (unsigned)octet_hex(p->host.p[1 + 2 * i]);
		unsigned low = (unsigned)octet_hex(p->host.p[2 + 2 * i]);

		ret->ip[i] = (unsigned char)(high << 4 | low);
	}
	ret->ip_n = 16;
}

void
cert_host_of(const struct pattern *p, struct cert_host *ret)
{
	char text[INET_ADDRSTRLEN] = "";

	*ret = (struct cert_host){.ip_n = 0};
	if (p->host.p == p->ip6) {
		read_ip6(p, ret);
		return;
	}
	if (!p->is_wildcard && p->host.n < sizeof(text))
		memcpy(text, p->host.p, p->host.n);
	if (inet_pton(AF_INET, text, ret->ip) == 1)
		ret->ip_n = 4;
	else
		ret->dns = p->host;
}

bool
cert_name(const struct cert_host *h, GENERAL_NAME *ret)
{
	bool is_ip = h->ip_n > 0;
	ASN1_STRING *s = ASN1_STRING_type_new(
	    is_ip ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
	char name[PATTERN_HOST_MAX];
	size_t n;

	for (n = 0; n < h->dns.n && n < sizeof(name); n++)
		name[n] = lower(h->dns.p[n]);
	if (!s ||
	    !ASN1_STRING_set(s, is_ip ? (const void *)h->ip : name,
		is_ip ? h->ip_n : (int)n)) {
		ASN1_STRING_free(s);
		return false;
	}
	GENERAL_NAME_set0_value(ret, is_ip ? GEN_IPADD : GEN_DNS, s);
	return true;
}

/*
 * An address is no common name: with name constraints OpenSSL would hold it
 * against those of DNS names.
 */
static bool
has_subject(const struct cert_host *h)
{
	return h->ip_n == 0 && h->dns.n <= ub_common_name;
}

static bool
set_subject(X509 *cert, const struct cert_host *h)
{
	return X509_NAME_add_entry_by_NID(X509_get_subject_name(cert),
		   NID_commonName, MBSTRING_UTF8,
		   (const unsigned char *)h->dns.p, (int)h->dns.n, -1, 0) == 1;
}

/* The alternative name is critical where there is no subject (4.2.1.6). */
bool
cert_set_host(X509 *cert, const struct cert_host *h)
{
	GENERAL_NAMES *list = GENERAL_NAMES_new();
	GENERAL_NAME *name = GENERAL_NAME_new();
	bool ok = false;

	if (list && name && cert_name(h, name) &&
	    sk_GENERAL_NAME_push(list, name) > 0) {
		name = NULL;
		ok = X509_add1_ext_i2d(cert, NID_subject_alt_name, list,
			 !has_subject(h), X509V3_ADD_DEFAULT) == 1;
	}
	GENERAL_NAME_free(name);
	GENERAL_NAMES_free(list);
	return ok && (!has_subject(h) || set_subject(cert, h));
}

bool
cert_permits(NAME_CONSTRAINTS *constraints, const struct cert_host *h,
    EVP_PKEY *key)
{
	X509 *cert;
	bool yes = false;

	if (!constraints)
		return true;
	/* OpenSSL looks into a whole certificate only, hence the signature;
	 * X509_check_purpose has it read what the check compares. */
	cert = X509_new();
	if (cert && X509_set_version(cert, X509_VERSION_3) &&
	    cert_set_validity(cert, 0, 0) && X509_set_pubkey(cert, key) &&
	    cert_set_host(cert, h) && X509_sign(cert, key, cert_digest(key)) &&
	    X509_check_purpose(cert, -1, 0) == 1)
		yes = NAME_CONSTRAINTS_check(cert, constraints) == X509_V_OK;
	X509_free(cert);
	ERR_clear_error();
	return yes;
}

bool
cert_permits_pattern(NAME_CONSTRAINTS *constraints, const char *pattern,
    EVP_PKEY *key)
{
	char below[PATTERN_HOST_MAX + sizeof("any.")] = "any.";
	struct cert_host host = {.dns = SPAN("any.example")};
	struct pattern p;

	if (pattern_parse(span_of(pattern), &p) != NULL)
		return false;
	if (!p.is_any)
		cert_host_of(&p, &host);
	if (p.is_wildcard) {
		size_t n = strlen(below);

		memcpy(below + n, host.dns.p, host.dns.n);
		host.dns = (struct span){below, n + host.dns.n};
	}
	return cert_permits(constraints, &host, key);
}

/* --- numbers and dates ---------------------------------------------------- */

bool
cert_set_serial(X509 *cert)
{
	BIGNUM *n = BN_new();
	bool ok;

	/* The top bit set: never 0, and all of one length. */
	ok = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY);
	if (ok)
		ok = BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert)) != NULL;
	BN_free(n);
	return ok;
}

bool
cert_set_validity(X509 *cert, int64_t from_s, int64_t until_s)
{
	return ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)from_s) &&
	    ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)until_s);
}

/* --- extensions ----------------------------------------------------------- */

X509_EXTENSION *
cert_basic_constraints(int path_len)
{
	BASIC_CONSTRAINTS *b = BASIC_CONSTRAINTS_new(); /* of no CA */
	X509_EXTENSION *e = NULL;

	if (b && path_len >= 0) {
		b->ca = 0xff; /* DER's TRUE; OpenSSL writes what stands here */
		b->pathlen = ASN1_INTEGER_new();
		if (!b->pathlen || !ASN1_INTEGER_set(b->pathlen, path_len))
			goto out;
	}
	if (b)
		e = X509V3_EXT_i2d(NID_basic_constraints, 1, b);
out:
	BASIC_CONSTRAINTS_free(b);
	return e;
}

X509_EXTENSION *
cert_key_usage(const int *bits)
{
	ASN1_BIT_STRING *set = ASN1_BIT_STRING_new();
	X509_EXTENSION *e = NULL;

	for (; set && *bits >= 0; bits++) {
		if (!ASN1_BIT_STRING_set_bit(set, *bits, 1))
			goto out;
	}
	if (set)
		e = X509V3_EXT_i2d(NID_key_usage, 1, set);
out:
	ASN1_BIT_STRING_free(set);
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

X509_EXTENSION *
cert_subject_key(EVP_PKEY *key)
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

X509_EXTENSION *
cert_authority_key(const X509 *ca)
{
	ASN1_OCTET_STRING *own =
	    X509_get_ext_d2i(ca, NID_subject_key_identifier, NULL, NULL);
	AUTHORITY_KEYID *a = AUTHORITY_KEYID_new();
	X509_EXTENSION *e = NULL;

	if (!own)
		own = key_id(ca);
	if (a && own) {
		a->keyid = own;
		own = NULL;
		e = X509V3_EXT_i2d(NID_authority_key_identifier, 0, a);
	}
	ASN1_OCTET_STRING_free(own);
	AUTHORITY_KEYID_free(a);
	return e;
}

/* A longer key is not weakened by a short digest. */
const EVP_MD *
cert_digest(EVP_PKEY *key)
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

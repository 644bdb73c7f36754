/* SPDX-License-Identifier: MIT */
/*
 * cert: the parts that certificates are made of, for a CA (ca.h) and for its
 * leaves (mint.h). What is returned is the caller's; NULL or false: no memory.
 */
#ifndef AB_CERT_H
#define AB_CERT_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/span.h"

struct pattern;

/* Whom a certificate, or a name constraint, is for. */
struct cert_host {
	struct span dns;      /* borrows */
	unsigned char ip[16]; /* in network order */
	int ip_n;             /* 4 or 16; 0: a DNS name */
};

/* The host as a name of a certificate: a DNS name in small letters, or the
 * bytes of an address. */
AB_MUST bool cert_name(const struct cert_host *h, GENERAL_NAME *ret);

/*
 * An address without brackets, or a DNS name: labels of letters, digits, '-'
 * and '_', 253 bytes at most. False: neither.
 */
AB_MUST bool cert_host_read(const char *host, struct cert_host *ret);

/* What a pattern that is not "*" is about; of a wildcard, what follows "*.".
 * Borrows what the pattern was parsed from. */
void cert_host_of(const struct pattern *p, struct cert_host *ret);

/*
 * Do these constraints (RFC 5280 4.2.1.10; NULL: none) let a certificate for
 * the host pass? `key` is any that can sign, what it signs is thrown away.
 */
AB_MUST bool cert_permits(NAME_CONSTRAINTS *constraints,
    const struct cert_host *h, EVP_PKEY *key);

/*
 * The same for any host that a pattern is about; for "*", for one that nobody
 * would name. False for what is no pattern.
 */
AB_MUST bool cert_permits_pattern(NAME_CONSTRAINTS *constraints,
    const char *pattern, EVP_PKEY *key);

/* Without a common name where the host does not fit one, which a DNS name of
 * 64 bytes or less does. */
AB_MUST bool cert_set_host(X509 *cert, const struct cert_host *h);

/* 159 random bits (RFC 5280 4.1.2.2). */
AB_MUST bool cert_set_serial(X509 *cert);
AB_MUST bool cert_set_validity(X509 *cert, int64_t from_s, int64_t until_s);

/* path_len < 0: no CA. */
AB_MUST X509_EXTENSION *cert_basic_constraints(int path_len);
/* Bits of RFC 5280 4.2.1.3: 0 is digitalSignature; ends with -1. */
AB_MUST X509_EXTENSION *cert_key_usage(const int *bits);
AB_MUST X509_EXTENSION *cert_subject_key(EVP_PKEY *key);
/* Of who signs: its own identifier, else the one that its key gives. */
AB_MUST X509_EXTENSION *cert_authority_key(const X509 *ca);

/* What to sign with; NULL: the key's algorithm needs none. */
const EVP_MD *cert_digest(EVP_PKEY *key);

#endif

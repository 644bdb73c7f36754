/* SPDX-License-Identifier: MIT */
/*
 * ca: the user's own certificate authority: how it is made, and how its files,
 * and those of any private key, are read. A key file that others can read is
 * refused.
 */
#ifndef AB_CA_H
#define AB_CA_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/span.h"

/* What is wrong, where, and what to do, in one line; nothing of a key. */
struct ca_problem {
	char text[1024];
};

/*
 * The first private key of a PEM file, unencrypted. The mode must be 0600 or
 * less; a file of root's may be 0640, for a daemon in its group.
 * 0, the caller owns *ret_key; or -1.
 */
AB_MUST int ca_load_key(const char *path, EVP_PKEY **ret_key,
    struct ca_problem *ret_problem);

/* The first certificate of a PEM file. 0, the caller owns it; or -1. */
AB_MUST int ca_load_cert(const char *path, X509 **ret_cert,
    struct ca_problem *ret_problem);

/*
 * A certificate and its key, which may be in one file (both paths the same).
 * Whether it can sign for hosts is mint_new's to say.
 * 0, the caller owns both; or -1.
 */
AB_MUST int ca_load(const char *cert_path, const char *key_path,
    X509 **ret_cert, EVP_PKEY **ret_key, struct ca_problem *ret_problem);

#define CA_DAYS_MAX  36500
#define CA_NAME_MAX  64 /* bytes: ub-common-name, RFC 5280 A.1 */

struct ca_spec {
	const char *name;         /* its common name, UTF-8 */
	const X509_NAME *subject; /* not NULL: this instead */
	const char *const *hosts; /* patterns (policy/pattern.h) of all that it
	                           * may sign for; "*" among them: any */
	size_t nhosts;            /* 1 or more */
	unsigned days;            /* 1..CA_DAYS_MAX */
};

/* EC P-256. NULL: no memory. */
AB_MUST EVP_PKEY *ca_make_key(void);

/*
 * A CA's certificate, signed with its own key, for leaves only (pathlen 0). Its
 * name constraints (critical, RFC 5280 4.2.1.10) let hosts pass and nothing
 * else. They know no wildcards: a name permits all names below it, and *.NAME
 * permits NAME.
 * The caller owns it. NULL: a pattern, the name or the days are wrong, or there
 * is no memory.
 */
AB_MUST X509 *ca_make(const struct ca_spec *spec, EVP_PKEY *key, int64_t now_s,
    struct ca_problem *ret_problem);

#endif

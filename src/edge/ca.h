/* SPDX-License-Identifier: MIT */
/*
 * ca: the files of the user's own certificate authority, and of any private
 * key. A key file that others can read is refused.
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

#endif

/* SPDX-License-Identifier: MIT */
/* pem: certificates and keys as text, in memory that is wiped after use. */
#ifndef AB_PEM_H
#define AB_PEM_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/span.h"

/* Modes of the files that they go to. */
#define PEM_CERT_MODE 0644
#define PEM_KEY_MODE  0600

/* A certificate, a key, or one after the other; NULL leaves it out. NULL: no
 * memory. */
AB_MUST BIO *pem_of(X509 *cert, EVP_PKEY *key);
struct span pem_text(BIO *pem); /* borrows until pem_free */
void pem_free(BIO *pem);        /* takes NULL */

#endif

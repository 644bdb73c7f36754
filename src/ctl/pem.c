/* SPDX-License-Identifier: MIT */
#include "ctl/pem.h"

#include <openssl/crypto.h>
#include <openssl/pem.h>

BIO *
pem_of(X509 *cert, EVP_PKEY *key)
{
	BIO *pem = BIO_new(BIO_s_mem());

	if (pem && (!cert || PEM_write_bio_X509(pem, cert)) &&
	    (!key ||
		PEM_write_bio_PrivateKey(pem, key, NULL, NULL, 0, NULL, NULL)))
		return pem;
	pem_free(pem);
	return NULL;
}

struct span
pem_text(BIO *pem)
{
	char *p = NULL;
	long n = BIO_get_mem_data(pem, &p);

	return (struct span){p, n > 0 ? (size_t)n : 0};
}

void
pem_free(BIO *pem)
{
	char *p = NULL;
	long n = pem ? BIO_get_mem_data(pem, &p) : 0;

	if (n > 0)
		OPENSSL_cleanse(p, (size_t)n);
	BIO_free(pem);
}

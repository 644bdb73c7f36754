/* SPDX-License-Identifier: MIT */
/*
 * ca.c: certificates and keys out of files.
 *
 * Decides which files are fit to be read, and says what to do about one that
 * is not. Nothing is asked of a terminal: a daemon has none. A file is checked
 * when it is open, so that it can't be another one that is read.
 */
#include "edge/ca.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>

#include "edge/file_text.h"

#define FILE_MAX_BYTES 262144 /* a bundle of all CAs there are has as much */

static void fail(struct ca_problem *ret, const char *fmt, ...) AB_PRINTF(2, 3);

static void
fail(struct ca_problem *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(ret->text, sizeof(ret->text), fmt, ap);
	va_end(ap);
}

static int
read_file(const char *path, struct file_text *ret, struct ca_problem *problem)
{
	const char *why;

	if (file_text_read(path, FILE_MAX_BYTES, ret, &why) == 0)
		return 0;
	fail(problem, "%s: %s", path, why);
	return -1;
}

/* --- a key ---------------------------------------------------------------- */

static int
check_mode(const char *path, const struct file_text *t,
    struct ca_problem *problem)
{
	mode_t others = t->owner == 0 ? 0037 : 0077;

	if (!(t->mode & others))
		return 0;
	fail(problem,
	    "%s: its mode is %04o, so others than its owner can use this "
	    "private key: chmod 600 %s",
	    path, (unsigned)t->mode, path);
	return -1;
}

/* Called where a key is encrypted. */
static int
no_password(char *buf, int size, int writing, void *asked)
{
	(void)buf;
	(void)size;
	(void)writing;
	*(bool *)asked = true;
	return -1;
}

static EVP_PKEY *
parse_key(const struct file_text *t, bool *ret_encrypted)
{
	BIO *bio = BIO_new_mem_buf(t->p, (int)t->n);
	EVP_PKEY *key = NULL;

	*ret_encrypted = false;
	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, no_password,
		    ret_encrypted);
	BIO_free(bio);
	ERR_clear_error();
	return key;
}

int
ca_load_key(const char *path, EVP_PKEY **ret_key, struct ca_problem *problem)
{
	EVP_PKEY *key = NULL;
	bool encrypted;
	struct file_text t;

	if (read_file(path, &t, problem) < 0)
		return -1;
	if (check_mode(path, &t, problem) < 0)
		goto out;
	key = parse_key(&t, &encrypted);
	if (key)
		*ret_key = key;
	else if (encrypted)
		fail(problem,
		    "%s: the private key is encrypted, and there is nobody to "
		    "ask for its password: openssl pkey -in %s -out NEW, with "
		    "mode 0600",
		    path, path);
	else
		fail(problem, "%s: no private key in PEM here", path);
out:
	file_text_free(&t);
	return key ? 0 : -1;
}

/* --- a certificate -------------------------------------------------------- */

int
ca_load_cert(const char *path, X509 **ret_cert, struct ca_problem *problem)
{
	bool ignored = false;
	X509 *cert = NULL;
	struct file_text t;
	BIO *bio;

	if (read_file(path, &t, problem) < 0)
		return -1;
	bio = BIO_new_mem_buf(t.p, (int)t.n);
	if (bio)
		cert = PEM_read_bio_X509(bio, NULL, no_password, &ignored);
	BIO_free(bio);
	file_text_free(&t);
	ERR_clear_error();
	if (!cert) {
		fail(problem, "%s: no certificate in PEM here", path);
		return -1;
	}
	*ret_cert = cert;
	return 0;
}

int
ca_load(const char *cert_path, const char *key_path, X509 **ret_cert,
    EVP_PKEY **ret_key, struct ca_problem *problem)
{
	EVP_PKEY *key;
	X509 *cert;

	if (ca_load_cert(cert_path, &cert, problem) < 0)
		return -1;
	if (ca_load_key(key_path, &key, problem) < 0) {
		X509_free(cert);
		return -1;
	}
	if (!X509_check_private_key(cert, key)) {
		ERR_clear_error();
		X509_free(cert);
		EVP_PKEY_free(key);
		fail(problem, "%s: not the key of the certificate in %s",
		    key_path, cert_path);
		return -1;
	}
	*ret_cert = cert;
	*ret_key = key;
	return 0;
}

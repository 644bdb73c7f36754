/* SPDX-License-Identifier: MIT */
/*
 * ca_renew.c: the certificate of a CA, given out and made anew.
 *
 * Decides what of a CA is kept when it is renewed: its key, its name and the
 * owner of its files.
 */
#include "ctl/ca_cmd.h"

#include <errno.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ca_find.h"
#include "ctl/ctl.h"
#include "ctl/newfile.h"
#include "ctl/pem.h"
#include "ctl/say.h"
#include "ctl/trust.h"
#include "edge/ca.h"

/* --- export --------------------------------------------------------------- */

/* Nothing that a certificate must not take the place of. */
static bool
is_ours(const char *path, const struct stat *st)
{
	struct stat own;

	return path && stat(path, &own) == 0 && own.st_dev == st->st_dev &&
	    own.st_ino == st->st_ino;
}

/* A device or a pipe stays one. */
static int
write_into(const char *path, struct span text)
{
	FILE *to = fopen(path, "we");
	bool good;

	if (!to)
		return say_no_file(path);
	good = fwrite(text.p, 1, text.n, to) == text.n;
	if (fclose(to) == 0 && good)
		return CTL_OK;
	return say_no_file(path);
}

static int
write_file(const char *path, struct span text)
{
	struct newfile file = {.path = NULL};
	int code = CTL_OK;

	if (newfile_write(&file, path, text, PEM_CERT_MODE, NULL) < 0 ||
	    newfile_replace(&file) < 0)
		code = say_no_file(path);
	newfile_drop(&file);
	return code;
}

static int
write_out(const struct ca_find *f, const char *path, struct span text)
{
	char real[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0)
		return write_file(path, text);
	if (!S_ISREG(st.st_mode))
		return write_into(path, text);
	if (is_ours(f->cert, &st) || is_ours(f->key, &st)) {
		fprintf(stderr,
		    "abidectl: --out %s: this is a file of the CA itself; name "
		    "another one\n",
		    path);
		return CTL_WRONG;
	}
	/* A link stays one; what it leads to is replaced. */
	if (!realpath(path, real))
		return say_no_file(path);
	return write_file(real, text);
}

static int export(const struct ca_find *f, X509 *cert, const struct args *args)
{
	BIO *bio = BIO_new(BIO_s_mem());
	struct span text;
	int code = CTL_OK;

	if (!bio ||
	    !((args->given & ARG_DER) ? i2d_X509_bio(bio, cert)
				      : PEM_write_bio_X509(bio, cert))) {
		BIO_free(bio);
		return say_no_memory();
	}
	text = pem_text(bio);
	if (args->out)
		code = write_out(f, args->out, text);
	else
		(void)fwrite(text.p, 1, text.n, stdout); /* ctl_main looks */
	BIO_free(bio);
	return code;
}

int
ca_cmd_export(const struct args *args)
{
	struct ca_problem problem;
	struct ca_find f;
	X509 *cert = NULL;
	int code = ca_find(args, 0, &f);

	if (code == CTL_OK && ca_load_cert(f.cert, &cert, &problem) < 0)
		code = say_no_ca(f.cert, problem.text);
	if (code == CTL_OK)
		code = export(&f, cert, args);
	X509_free(cert);
	ca_find_free(&f);
	return code;
}

/* --- renew ---------------------------------------------------------------- */

/* The old one under another name, which the one before it may have had. */
static int
keep_old(const char *path, char old[PATH_MAX])
{
	int n = snprintf(old, PATH_MAX, "%s.old", path);

	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (unlink(old) < 0 && errno != ENOENT)
		return -1;
	return link(path, old);
}

/* NULL, or the file that it failed with: errno. */
static const char *
swap(struct newfile *file, const char *path, char old[PATH_MAX])
{
	if (keep_old(path, old) < 0)
		return old;
	return newfile_replace(file) < 0 ? path : NULL;
}

/* Where the key is in the same file it is written along. */
static int
replace(const char *path, X509 *cert, EVP_PKEY *key, char old[PATH_MAX])
{
	struct newfile file = {.path = NULL};
	BIO *pem = pem_of(cert, key);
	const char *failed = path;
	struct stat st;
	int code = CTL_OK;

	if (!pem)
		return say_no_memory();
	if (stat(path, &st) == 0 &&
	    newfile_write(&file, path, pem_text(pem), st.st_mode & 07777,
		&st) == 0)
		failed = swap(&file, path, old);
	if (failed)
		code = say_no_file(failed);
	newfile_drop(&file);
	pem_free(pem);
	return code;
}

static void
tell_renewed(X509 *cert, X509 *before, const char *path, const char *old)
{
	puts("The CA has a new certificate:\n");
	ca_cmd_print(cert, stdout);
	printf("  certificate  %s (the old one: %s)\n\n"
	       "abided takes it up at its next start or SIGHUP. Clients that "
	       "trust the old one\ngo on until it expires, but for its hosts "
	       "only: have them trust the new one.\nThe old one was:\n\n",
	    path, old);
	ca_cmd_print(before, stdout);
	fputc('\n', stdout);
	trust_print(path, stdout);
}

static int
renew(const struct ca_find *f, const struct args *args, X509 *before,
    EVP_PKEY *key)
{
	struct ca_spec spec = {
	    .subject = X509_get_subject_name(before),
	    .hosts = f->hosts,
	    .nhosts = f->nhosts,
	    .days = args->days,
	};
	char path[PATH_MAX], old[PATH_MAX];
	struct ca_problem problem;
	X509 *cert;
	int code;

	/* A link stays one; what it leads to is replaced. */
	if (!realpath(f->cert, path))
		return say_no_file(f->cert);
	cert = ca_make(&spec, key, time(NULL), &problem);
	if (!cert) {
		fprintf(stderr, "abidectl: %s\n", problem.text);
		return CTL_WRONG;
	}
	code =
	    replace(path, cert, strcmp(f->cert, f->key) == 0 ? key : NULL, old);
	if (code == CTL_OK)
		tell_renewed(cert, before, path, old);
	X509_free(cert);
	return code;
}

static int
check_own(const char *path, X509 *cert)
{
	if (X509_self_signed(cert, 0) == 1)
		return CTL_OK;
	fprintf(stderr,
	    "abidectl: %s: another CA has issued this one; renew it there\n",
	    path);
	return CTL_WRONG;
}

int
ca_cmd_renew(const struct args *args)
{
	struct ca_problem problem;
	struct ca_find f;
	EVP_PKEY *key = NULL;
	X509 *cert = NULL;
	int code = ca_find(args, CA_FIND_KEY | CA_FIND_HOSTS, &f);

	if (code == CTL_OK)
		code = ca_cmd_check_hosts(&f);
	if (code == CTL_OK && ca_load(f.cert, f.key, &cert, &key, &problem) < 0)
		code = say_no_ca(f.cert, problem.text);
	if (code == CTL_OK)
		code = check_own(f.cert, cert);
	if (code == CTL_OK)
		code = renew(&f, args, cert, key);
	X509_free(cert);
	EVP_PKEY_free(key);
	ca_find_free(&f);
	return code;
}

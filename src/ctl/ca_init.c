/* SPDX-License-Identifier: MIT */
/*
 * ca_init.c: a CA where there was none.
 *
 * Decides that nothing is overwritten, and what an operator is told. What a
 * CA's certificate says is edge/ca.h's.
 */
#include "ctl/ca_cmd.h"

#include <errno.h>
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

/* --- what is there ------------------------------------------------------- */

static bool
is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int
check_absent(const struct ca_find *f)
{
	bool cert = is_there(f->cert), key = is_there(f->key);

	if (!cert && !key)
		return CTL_OK;
	fprintf(stderr, "abidectl: %s is there already, and is not overwritten",
	    cert ? f->cert : f->key);
	if (cert && key)
		fputs("; see 'abidectl ca show', and 'abidectl ca renew' for a "
		      "new certificate",
		    stderr);
	else
		fprintf(stderr,
		    ", but there is no %s; move it away if it is "
		    "of no use",
		    cert ? f->key : f->cert);
	fputc('\n', stderr);
	return CTL_WRONG;
}

int
ca_cmd_check_hosts(const struct ca_find *f)
{
	if (f->nhosts == 0) {
		fputs("abidectl: a CA needs hosts that it may sign for: give "
		      "tls = intercept to a service in the configuration, or "
		      "--host here\n",
		    stderr);
		return CTL_WRONG;
	}
	for (size_t i = 0; i < f->nhosts; i++) {
		if (strcmp(f->hosts[i], "*") == 0)
			fputs("abidectl: warning: for host * the CA may sign "
			      "for every host there is; whoever gets its key "
			      "can stand in for any of them. Name hosts if you "
			      "can.\n",
			    stderr);
	}
	return CTL_OK;
}

/* --- the files ----------------------------------------------------------- */

/* Another init may have been quicker. */
static int
no_name(const char *path)
{
	if (errno != EEXIST)
		return say_no_file(path);
	fprintf(stderr,
	    "abidectl: %s is there already, and is not overwritten\n", path);
	return CTL_WRONG;
}

/* Either both have their names in the end, or neither has. */
static int
publish(struct newfile *cert, struct newfile *key)
{
	if (newfile_publish(key) < 0)
		return no_name(key->path);
	if (newfile_publish(cert) < 0) {
		int code = no_name(cert->path);

		(void)unlink(key->path);
		return code;
	}
	return CTL_OK;
}

static int
write_two(const struct ca_find *f, X509 *x, EVP_PKEY *k)
{
	struct newfile cert = {.path = NULL}, key = {.path = NULL};
	BIO *cert_pem = pem_of(x, NULL), *key_pem = pem_of(NULL, k);
	int code;

	if (!cert_pem || !key_pem)
		code = say_no_memory();
	else if (newfile_write(&key, f->key, pem_text(key_pem), PEM_KEY_MODE,
		     NULL) < 0)
		code = say_no_file(f->key);
	else if (newfile_write(&cert, f->cert, pem_text(cert_pem),
		     PEM_CERT_MODE, NULL) < 0)
		code = say_no_file(f->cert);
	else
		code = publish(&cert, &key);
	newfile_drop(&cert);
	newfile_drop(&key);
	pem_free(cert_pem);
	pem_free(key_pem);
	return code;
}

static int
write_one(const struct ca_find *f, X509 *x, EVP_PKEY *k)
{
	struct newfile both = {.path = NULL};
	BIO *pem = pem_of(x, k);
	int code = CTL_OK;

	if (!pem)
		code = say_no_memory();
	else if (newfile_write(&both, f->cert, pem_text(pem), PEM_KEY_MODE,
		     NULL) < 0)
		code = say_no_file(f->cert);
	else if (newfile_publish(&both) < 0)
		code = no_name(f->cert);
	newfile_drop(&both);
	pem_free(pem);
	return code;
}

/* --- what is told -------------------------------------------------------- */

static void
tell_conf(const struct ca_find *f, const char *cert, const char *key)
{
	const struct conf *c = f->conf;

	if (c && !f->no_paths && strcmp(c->ca_cert.path, f->cert) == 0 &&
	    strcmp(c->ca_key.path, f->key) == 0)
		return;
	printf("Have this in the configuration (%s):\n\n    [tls]\n"
	       "    ca_cert = %s\n    ca_key = %s\n\n",
	    f->conf_path, cert, key);
}

/* The configuration takes absolute paths only. */
static const char *
absolute(const char *path, char buf[PATH_MAX])
{
	return realpath(path, buf) ? buf : path;
}

static void
tell_made(const struct ca_find *f, X509 *x)
{
	char cert_buf[PATH_MAX], key_buf[PATH_MAX];
	const char *cert = absolute(f->cert, cert_buf);
	const char *key = absolute(f->key, key_buf);

	puts("This CA was made:\n");
	ca_cmd_print(x, stdout);
	printf("  certificate  %s\n"
	       "  private key  %s (mode 0600; it stays here)\n\n",
	    cert, key);
	if (geteuid() == 0) {
		fputs("If abided runs as a user of its own, its group may read "
		      "the key, too:\n\n    chgrp GROUP ",
		    stdout);
		say_word(key, stdout);
		fputs(" && chmod 640 ", stdout);
		say_word(key, stdout);
		fputs("\n\n", stdout);
	}
	tell_conf(f, cert, key);
	trust_print(cert, stdout);
}

/* --- the command --------------------------------------------------------- */

static int
make_files(const struct ca_find *f, const struct ca_spec *spec)
{
	struct ca_problem problem;
	EVP_PKEY *key = ca_make_key();
	X509 *cert;
	int code;

	if (!key)
		return say_no_memory();
	cert = ca_make(spec, key, time(NULL), &problem);
	if (!cert) {
		fprintf(stderr, "abidectl: %s\n", problem.text);
		code = CTL_WRONG;
	} else {
		code = strcmp(f->cert, f->key) == 0 ? write_one(f, cert, key)
						    : write_two(f, cert, key);
	}
	if (code == CTL_OK)
		tell_made(f, cert);
	X509_free(cert);
	EVP_PKEY_free(key);
	return code;
}

/* "abided CA (HOSTNAME)", of what fits. */
static void
default_name(char ret[CA_NAME_MAX + 1])
{
	char host[CA_NAME_MAX - sizeof("abided CA ()") + 2] = "";

	if (gethostname(host, sizeof(host) - 1) < 0 && errno != ENAMETOOLONG)
		host[0] = '\0';
	(void)snprintf(ret, CA_NAME_MAX + 1, "abided CA (%s)",
	    host[0] ? host : "no name");
}

int
ca_cmd_init(const struct args *args)
{
	char name[CA_NAME_MAX + 1];
	struct ca_find f;
	int code = ca_find(args, CA_FIND_KEY | CA_FIND_HOSTS, &f);

	default_name(name);
	if (code == CTL_OK)
		code = ca_cmd_check_hosts(&f);
	if (code == CTL_OK)
		code = check_absent(&f);
	if (code == CTL_OK) {
		struct ca_spec spec = {
		    .name = args->name ? args->name : name,
		    .hosts = f.hosts,
		    .nhosts = f.nhosts,
		    .days = args->days,
		};

		code = make_files(&f, &spec);
	}
	ca_find_free(&f);
	return code;
}

/* SPDX-License-Identifier: MIT */
/*
 * ca_find.c: command line, configuration, defaults, in this order.
 *
 * Decides where the files of the CA are and for which hosts it is. It opens
 * none of them.
 */
#include "ctl/ca_find.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "ctl/ctl.h"

#define FOLDER AB_SYSCONFDIR "/abided"
#define CERT_DEFAULT FOLDER "/ca.pem"
#define KEY_DEFAULT FOLDER "/ca.key"

/*
 * With files in [tls] where the configuration may have none: a service that is
 * to be intercepted is an error without them, but here they come about.
 */
static struct conf *
load_as_if_made(const char *path, const struct args *a,
    struct conf_problems *problems)
{
	static char tls[] = "tls", cert[] = "ca_cert", key[] = "ca_key";
	static char cert_path[] = CERT_DEFAULT, key_path[] = KEY_DEFAULT;
	size_t n = a->over.n;
	struct conf_override *all = mem_must_zalloc((n + 2) * sizeof(*all));
	struct conf *c;

	if (n > 0)
		memcpy(all, a->over.v, n * sizeof(*all));
	all[n] = (struct conf_override){tls, cert, cert_path, "-s"};
	all[n + 1] = (struct conf_override){tls, key, key_path, "-s"};
	c = conf_load(path, all, n + 2, problems);
	mem_free(all);
	return c;
}

/* What is wrong with the files that the configuration does name is not for a
 * new CA to mend, and was hidden by the names put in their place. */
static bool
only_wants_ca(const struct conf_problems *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!strstr(p->v[i], CONF_WANTS_CA))
			return false;
	}
	return true;
}

static int
load(const struct args *a, struct ca_find *f)
{
	struct conf_problems first = {.n = 0}, second = {.n = 0};
	const char *path = args_conf_path(a);

	f->conf = conf_load(path, a->over.v, a->over.n, &first);
	if (!f->conf) {
		f->no_paths = true;
		f->conf = load_as_if_made(path, a, &second);
	} else if (!f->conf->ca_cert.path) {
		f->no_paths = true;
	}
	if (!f->conf) {
		conf_problems_print(&second, stderr);
	} else if (!only_wants_ca(&first)) {
		conf_problems_print(&first, stderr);
		conf_unref(f->conf);
		f->conf = NULL;
	}
	conf_problems_free(&first);
	conf_problems_free(&second);
	return f->conf ? CTL_OK : CTL_WRONG;
}

static void
find_files(const struct args *a, struct ca_find *f)
{
	if (a->cert) {
		f->cert = a->cert;
		f->key = a->key;
	} else if (f->conf && f->conf->ca_cert.path) {
		f->cert = f->conf->ca_cert.path;
		f->key = f->conf->ca_key.path;
	} else {
		f->cert = CERT_DEFAULT;
		f->key = KEY_DEFAULT;
	}
}

static size_t
count_hosts(const struct args *a, const struct conf *c)
{
	size_t n = a->nhosts;

	for (size_t i = 0; c && i < c->nservices; i++)
		n += c->services[i]->nhosts;
	return n;
}

static void
find_hosts(const struct args *a, struct ca_find *f)
{
	const struct conf *c = f->conf;

	f->hosts = mem_must_zalloc((count_hosts(a, c) + 1) * sizeof(*f->hosts));
	for (size_t i = 0; i < a->nhosts; i++)
		f->hosts[f->nhosts++] = a->hosts[i];
	for (size_t i = 0; a->nhosts == 0 && c && i < c->nservices; i++) {
		const struct conf_service *s = c->services[i];

		for (size_t k = 0; k < s->nhosts; k++) {
			if (s->tls == CONF_TLS_INTERCEPT)
				f->hosts[f->nhosts++] = s->hosts[k];
		}
	}
}

int
ca_find(const struct args *a, unsigned needs, struct ca_find *ret)
{
	/* What is all on the command line needs no configuration. */
	bool all = a->cert && !a->conf_path &&
	    (a->nhosts > 0 || !(needs & CA_FIND_HOSTS));

	*ret = (struct ca_find){
	    .conf_path = a->conf_path ? a->conf_path : ARGS_CONF_DEFAULT};
	if (((needs & CA_FIND_KEY) && a->cert && !a->key) ||
	    (a->key && !a->cert)) {
		fprintf(stderr, "abidectl: %s; give both\n",
		    a->cert ? "--cert without --key" : "--key without --cert");
		return CTL_WRONG;
	}
	if (!all && load(a, ret) != CTL_OK)
		return CTL_WRONG;
	find_files(a, ret);
	find_hosts(a, ret);
	return CTL_OK;
}

void
ca_find_free(struct ca_find *f)
{
	mem_free(f->hosts);
	conf_unref(f->conf);
}

/* SPDX-License-Identifier: MIT */
/*
 * tls_set decides how the files of a configuration become contexts, and says
 * what is wrong with one. It refuses to know which connection uses which.
 */
#include "tls_set.h"

#include <errno.h>
#include <glob.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "ca.h"
#include "conf_problem.h"
#include "mint.h"
#include "tls.h"

static uint64_t
next_id(void)
{
	static atomic_ullong last;

	return atomic_fetch_add(&last, 1) + 1;
}

static struct conf_where
place_of(const struct conf_file *f)
{
	return (struct conf_where){.file = f->where};
}

static int
problem(struct conf_problems *p, const struct conf_file *f, const char *key,
    const char *text)
{
	conf_problem(p, place_of(f), "%s: %s", key, text);
	return -1;
}

/* "PATH: what: why": the file's fault, or the first thing that OpenSSL noted:
 * those above it only say that something went wrong below. */
static int
openssl_problem(struct conf_problems *p, const struct conf_file *f,
    const char *key, const char *what)
{
	const char *why = ERR_reason_error_string(ERR_peek_error());

	if (access(f->path, R_OK) < 0)
		why = strerror(errno);
	conf_problem(p, place_of(f), "%s: %s: %s: %s", key, f->path, what,
	    why ? why : "no reason known");
	ERR_clear_error();
	return -1;
}

/* --- session tickets ------------------------------------------------------ */

static unsigned char ticket_key[80];
static int ticket_key_res;

static void
make_ticket_key(void)
{
	ticket_key_res =
	    RAND_priv_bytes(ticket_key, sizeof(ticket_key)) == 1 ? 0 : -1;
}

int
tls_set_tickets(SSL_CTX *ctx)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, make_ticket_key);
	if (ticket_key_res < 0)
		return -1;
	SSL_CTX_set_num_tickets(ctx, 1);
	return SSL_CTX_set_tlsext_ticket_keys(ctx, ticket_key,
		   sizeof(ticket_key)) == 1
	    ? 0
	    : -1;
}

/* --- upstreams ------------------------------------------------------------ */

/* A session came that may be taken up again: RFC 8446 4.6.1. */
static int
keep_session(SSL *ssl, SSL_SESSION *s)
{
	struct tls_keeper *k = tls_owner_of(ssl);

	tls_was_told(ssl);
	if (!k || !SSL_SESSION_is_resumable(s))
		return 0;
	k->keep(k, s);
	return 1;
}

/* Whether OpenSSL finds a root in the system's directory by itself, by the hash
 * of its name, when one is needed. */
static bool
has_hashed_dir(void)
{
	const char *dir = getenv(X509_get_default_cert_dir_env());
	glob_t found;
	char pattern[4096];
	bool any;

	if (getenv(X509_get_default_cert_file_env()))
		return false; /* who names a file means that file */
	if (!dir)
		dir = X509_get_default_cert_dir();
	if (snprintf(pattern, sizeof(pattern), "%s/????????.0", dir) >=
	    (int)sizeof(pattern))
		return false;
	any = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
	globfree(&found);
	return any;
}

/* A store that is missing makes each handshake fail, and say why. To read the
 * whole of it takes 30 ms and 1.5 MB. */
static void
trust_system(SSL_CTX *ctx)
{
	if (has_hashed_dir())
		(void)SSL_CTX_set_default_verify_dir(ctx);
	else
		(void)SSL_CTX_set_default_verify_paths(ctx);
	ERR_clear_error();
}

static int
trust(SSL_CTX *ctx, const struct conf_file *ca, struct conf_problems *p)
{
	if (SSL_CTX_load_verify_file(ctx, ca->path) == 1)
		return 0;
	return openssl_problem(p, ca, "upstream_ca",
	    "no certificates can be read from it");
}

static int
identify(SSL_CTX *ctx, const struct conf_file *cert,
    const struct conf_file *key, const char *cert_name, const char *key_name,
    struct conf_problems *p)
{
	struct ca_problem why;
	EVP_PKEY *pkey;
	int res = 0;

	if (SSL_CTX_use_certificate_chain_file(ctx, cert->path) != 1)
		return openssl_problem(p, cert, cert_name,
		    "no certificate can be read from it");
	if (ca_load_key(key->path, &pkey, &why) < 0)
		return problem(p, key, key_name, why.text);
	/* A key of another kind would be put beside the certificate's own. */
	if (!X509_check_private_key(SSL_CTX_get0_certificate(ctx), pkey) ||
	    SSL_CTX_use_PrivateKey(ctx, pkey) != 1)
		res = openssl_problem(p, key, key_name,
		    "it is not the key of that certificate");
	EVP_PKEY_free(pkey);
	return res;
}

static SSL_CTX *
upstream_context(const struct tls_upstream *u)
{
	SSL_CTX *ctx = tls_context(TLS_client_method(), u->min_version);

	if (!ctx)
		return NULL;
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(ctx,
	    SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, keep_session);
	if (!u->ca->path)
		trust_system(ctx);
	return ctx;
}

SSL_CTX *
tls_upstream_context(struct tls_upstream *u)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	SSL_CTX *ctx = atomic_load(&u->ctx);

	if (ctx)
		return ctx;
	pthread_mutex_lock(&lock);
	ctx = atomic_load(&u->ctx);
	if (!ctx) {
		ctx = upstream_context(u);
		atomic_store(&u->ctx, ctx);
	}
	pthread_mutex_unlock(&lock);
	return ctx;
}

/* What names no file waits until somebody needs it. */
static int
upstream_fill(struct tls_set *s, struct tls_upstream *u,
    struct conf_problems *p)
{
	SSL_CTX *ctx;

	u->id = next_id();
	u->min_version = s->min_version;
	if (!u->ca->path && !u->cert->path)
		return 0;
	ctx = tls_upstream_context(u);
	if (!ctx) {
		conf_problem_no_memory(p);
		return -1;
	}
	if (u->ca->path && trust(ctx, u->ca, p) < 0)
		return -1;
	if (!u->cert->path)
		return 0;
	s->secrets = true;
	return identify(ctx, u->cert, u->key, "upstream_cert", "upstream_key",
	    p);
}

static bool
same_path(const struct conf_file *a, const struct conf_file *b)
{
	return a->path == b->path ||
	    (a->path && b->path && strcmp(a->path, b->path) == 0);
}

static struct tls_upstream *
upstream_find(struct tls_set *s, const struct conf_service *of)
{
	for (size_t i = 0; i < s->nupstream; i++) {
		struct tls_upstream *u = s->upstream[i];

		if (same_path(u->ca, &of->upstream_ca) &&
		    same_path(u->cert, &of->upstream_cert) &&
		    same_path(u->key, &of->upstream_key))
			return u;
	}
	return NULL;
}

/* Services that say the same share one context, and its sessions. */
static int
upstream_bind(struct tls_set *s, struct conf_service *of,
    struct conf_problems *p)
{
	struct tls_upstream *u = upstream_find(s, of);

	if (!u) {
		u = mem_zalloc(sizeof(*u));
		if (!u) {
			conf_problem_no_memory(p);
			return -1;
		}
		s->upstream[s->nupstream++] = u;
		u->ca = &of->upstream_ca;
		u->cert = &of->upstream_cert;
		u->key = &of->upstream_key;
		if (upstream_fill(s, u, p) < 0)
			return -1;
	}
	of->tls_upstream = u;
	return 0;
}

static int
load_upstreams(struct tls_set *s, struct conf *c, struct conf_problems *p)
{
	int res;

	s->upstream = mem_zalloc((c->nservices + 1) * sizeof(*s->upstream));
	if (!s->upstream) {
		conf_problem_no_memory(p);
		return -1;
	}
	res = upstream_bind(s, &c->defaults, p);
	for (size_t i = 0; i < c->nservices; i++)
		if (upstream_bind(s, c->services[i], p) < 0)
			res = -1;
	return res;
}

/* --- our own side --------------------------------------------------------- */

/* A leaf that the CA may not sign for is refused by every client. */
static int
check_host(const struct tls_set *s, const struct conf *c,
    const struct conf_service *of, const char *pattern, struct conf_problems *p)
{
	if (mint_permits_pattern(s->mint, pattern))
		return 0;
	conf_problem(p, place_of(&c->ca_cert),
	    "ca_cert: %s: its name constraints don't let it sign for "
	    "%s of service '%s'; make it anew with: abidectl ca renew",
	    c->ca_cert.path, pattern, of->name);
	return -1;
}

static int
check_hosts(const struct tls_set *s, const struct conf *c,
    struct conf_problems *p)
{
	int res = 0;

	for (size_t i = 0; i < c->nservices; i++) {
		const struct conf_service *of = c->services[i];

		if (of->tls != CONF_TLS_INTERCEPT)
			continue;
		for (size_t k = 0; k < of->nhosts; k++)
			if (check_host(s, c, of, of->hosts[k], p) < 0)
				res = -1;
	}
	return res;
}

/* Before there is a CA, that is what is to be told. */
static int
no_ca(const struct conf *c, const struct ca_problem *bad,
    struct conf_problems *p)
{
	bool none = access(c->ca_cert.path, F_OK) < 0 && errno == ENOENT;

	conf_problem(p, place_of(&c->ca_cert), "ca_cert and ca_key: %s%s",
	    bad->text, none ? "; make a CA with: abidectl ca init" : "");
	return -1;
}

static int
load_mint(struct tls_set *s, const struct conf *c, struct conf_problems *p)
{
	struct ca_problem bad;
	EVP_PKEY *key;
	const char *why;
	X509 *ca;

	if (!c->ca_cert.path)
		return 0;
	if (ca_load(c->ca_cert.path, c->ca_key.path, &ca, &key, &bad) < 0)
		return no_ca(c, &bad, p);
	s->secrets = true;
	s->mint = mint_new(ca, key, &why);
	X509_free(ca);
	EVP_PKEY_free(key);
	if (s->mint)
		return check_hosts(s, c, p);
	conf_problem(p, place_of(&c->ca_cert),
	    "ca_cert: %s: %s; make a CA with: abidectl ca init",
	    c->ca_cert.path, why);
	return -1;
}

static int
load_listen(struct tls_set *s, const struct conf *c, struct conf_problems *p)
{
	static const unsigned char id[] = "abided listener";

	if (!c->listen_cert.path)
		return 0;
	s->listen = tls_context(TLS_server_method(), s->min_version);
	if (!s->listen || tls_set_tickets(s->listen) < 0 ||
	    SSL_CTX_set_session_id_context(s->listen, id, sizeof(id) - 1) !=
		1) {
		conf_problem_no_memory(p);
		return -1;
	}
	s->secrets = true;
	return identify(s->listen, &c->listen_cert, &c->listen_key,
	    "listen_cert", "listen_key", p);
}

int
tls_set_load(struct conf *c, struct conf_problems *problems)
{
	struct tls_set *s = mem_zalloc(sizeof(*s));
	int res = 0;

	if (!s) {
		conf_problem_no_memory(problems);
		return -1;
	}
	s->id = next_id();
	s->min_version =
	    c->min_version == CONF_TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
	if (load_upstreams(s, c, problems) < 0)
		res = -1;
	if (load_mint(s, c, problems) < 0)
		res = -1;
	if (load_listen(s, c, problems) < 0)
		res = -1;
	c->tls = s;
	return res;
}

void
tls_set_free(struct tls_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nupstream; i++) {
		SSL_CTX_free(s->upstream[i]->ctx);
		mem_free(s->upstream[i]);
	}
	mem_free(s->upstream);
	mint_free(s->mint);
	SSL_CTX_free(s->listen);
	mem_free(s);
}

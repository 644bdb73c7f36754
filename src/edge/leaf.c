/* SPDX-License-Identifier: MIT */
/*
 * leaf decides which minted certificates are kept, and whether a client may
 * have one. It refuses to know what stands in a certificate (mint).
 */
#include "leaf.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "mint.h"
#include "tls.h"

struct leaf {
	struct map_node node;
	struct list link; /* in leafs.oldest */
	SSL_CTX *ctx;     /* a reference */
	int64_t until_s;  /* wall clock; then it is minted anew */
	char host[];
};

int
leafs_init(struct leafs *l)
{
	*l = (struct leafs){0};
	list_init(&l->oldest);
	return map_init(&l->hosts);
}

static void
drop(struct leafs *l, struct leaf *leaf)
{
	map_del(&l->hosts, &leaf->node);
	list_del(&leaf->link);
	l->n--;
	SSL_CTX_free(leaf->ctx);
	mem_free(leaf);
}

static void
drop_all(struct leafs *l)
{
	struct list *it;

	while ((it = list_first(&l->oldest)))
		drop(l, AB_CONTAINER(it, struct leaf, link));
}

void
leafs_free(struct leafs *l)
{
	if (!l->oldest.next)
		return;
	drop_all(l);
	map_clear(&l->hosts);
	*l = (struct leafs){0};
}

/*
 * RFC 6066 3: SNI is a name, in any case. None is fine: the client has said
 * whom it wants when it asked for the tunnel. The owner of such a session is
 * that host.
 */
static int
check_name(SSL *ssl, int *alert, void *arg)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	const char *host = tls_owner_of(ssl);
	size_t n = name ? strlen(name) : 0;

	(void)arg;
	if (n > 1 && name[n - 1] == '.')
		n--; /* some clients leave it as it stands in the URL */
	if (!name || (n == strlen(host) && strncasecmp(name, host, n) == 0))
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* One leaf key for all, and tickets that any worker can read; a ticket of one
 * host is no good for another. */
static int
furnish(SSL_CTX *ctx, const struct tls_set *set, X509 *leaf, uint64_t hash)
{
	X509 *ca = mint_ca(set->mint);

	if (SSL_CTX_use_certificate(ctx, leaf) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, mint_key(set->mint)) != 1)
		return -1;
	/* Clients have the root; a CA below one must be shown. A chain is that
	 * of the certificate which was set last: not before it. */
	if (X509_NAME_cmp(X509_get_subject_name(ca),
		X509_get_issuer_name(ca)) != 0 &&
	    SSL_CTX_add1_chain_cert(ctx, ca) != 1)
		return -1;
	if (SSL_CTX_set_session_id_context(ctx, (const unsigned char *)&hash,
		sizeof(hash)) != 1 ||
	    tls_set_tickets(ctx) < 0)
		return -1;
	SSL_CTX_set_tlsext_servername_callback(ctx, check_name);
	return 0;
}

static SSL_CTX *
context_for(const struct tls_set *set, const char *host, uint64_t hash,
    int64_t now_s)
{
	X509 *leaf = mint_leaf(set->mint, host, now_s);
	SSL_CTX *ctx = NULL;

	if (leaf)
		ctx = tls_context(TLS_server_method(), set->min_version);
	if (ctx && furnish(ctx, set, leaf, hash) < 0) {
		SSL_CTX_free(ctx);
		ctx = NULL;
	}
	X509_free(leaf);
	return ctx;
}

static struct leaf *
find(const struct leafs *l, uint64_t hash, const char *host)
{
	struct map_node *n = map_find(&l->hosts, hash);

	for (; n; n = map_find_next(n)) {
		struct leaf *leaf = AB_CONTAINER(n, struct leaf, node);

		if (strcmp(leaf->host, host) == 0)
			return leaf;
	}
	return NULL;
}

static struct leaf *
add(struct leafs *l, const struct tls_set *set, uint64_t hash, const char *host,
    int64_t now_s)
{
	size_t n = strlen(host) + 1;
	struct leaf *leaf = mem_zalloc(sizeof(*leaf) + n);

	if (!leaf)
		return NULL;
	leaf->ctx = context_for(set, host, hash, now_s);
	if (!leaf->ctx) {
		mem_free(leaf);
		return NULL;
	}
	memcpy(leaf->host, host, n);
	leaf->until_s = now_s + MINT_RENEW_S;
	if (l->n >= LEAF_MAX)
		drop(l,
		    AB_CONTAINER(list_first(&l->oldest), struct leaf, link));
	map_add(&l->hosts, &leaf->node, hash);
	list_push_back(&l->oldest, &leaf->link);
	l->n++;
	return leaf;
}

SSL_CTX *
leafs_get(struct leafs *l, const struct tls_set *set,
    const struct hash_key *key, const char *host, int64_t now_s)
{
	uint64_t hash = hash_bytes(key, host, strlen(host));
	struct leaf *leaf;

	if (l->set != set->id)
		drop_all(l);
	l->set = set->id;
	leaf = find(l, hash, host);
	/* The wall clock may have jumped, either way. */
	if (leaf &&
	    (now_s >= leaf->until_s || now_s < leaf->until_s - MINT_RENEW_S)) {
		drop(l, leaf);
		leaf = NULL;
	}
	if (!leaf)
		leaf = add(l, set, hash, host, now_s);
	if (!leaf)
		return NULL;
	list_del(&leaf->link);
	list_push_back(&l->oldest, &leaf->link);
	return leaf->ctx;
}

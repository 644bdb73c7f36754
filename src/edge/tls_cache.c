/* SPDX-License-Identifier: MIT */
/*
 * tls_cache decides which session is kept. It refuses to know what may be done
 * with one: the key says with whom and under which rules it was made.
 */
#include "tls_cache.h"

#include "base/mem.h"

struct tls_cached {
	struct map_node node;
	struct list link;     /* in tls_cache.oldest */
	SSL_SESSION *session; /* a reference */
};

int
tls_cache_init(struct tls_cache *c)
{
	list_init(&c->oldest);
	c->n = 0;
	return map_init(&c->sessions);
}

static SSL_SESSION *
drop(struct tls_cache *c, struct tls_cached *it)
{
	SSL_SESSION *s = it->session;

	map_del(&c->sessions, &it->node);
	list_del(&it->link);
	c->n--;
	mem_free(it);
	return s;
}

void
tls_cache_free(struct tls_cache *c)
{
	struct list *it;

	if (!c->oldest.next)
		return;
	while ((it = list_first(&c->oldest)))
		SSL_SESSION_free(
		    drop(c, AB_CONTAINER(it, struct tls_cached, link)));
	map_clear(&c->sessions);
	*c = (struct tls_cache){0};
}

SSL_SESSION *
tls_cache_take(struct tls_cache *c, uint64_t key)
{
	struct map_node *n = map_find(&c->sessions, key);

	return n ? drop(c, AB_CONTAINER(n, struct tls_cached, node)) : NULL;
}

void
tls_cache_put(struct tls_cache *c, uint64_t key, SSL_SESSION *s)
{
	struct tls_cached *it = mem_zalloc(sizeof(*it));

	SSL_SESSION_free(tls_cache_take(c, key));
	if (!it) {
		SSL_SESSION_free(s);
		return;
	}
	if (c->n >= TLS_CACHE_MAX)
		SSL_SESSION_free(drop(c,
		    AB_CONTAINER(list_first(&c->oldest), struct tls_cached,
			link)));
	it->session = s;
	map_add(&c->sessions, &it->node, key);
	list_push_back(&c->oldest, &it->link);
	c->n++;
}

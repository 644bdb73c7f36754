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
	uint64_t serial;      /* it was the n-th that came */
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

static struct tls_cached *
cached(struct map_node *n)
{
	return AB_CONTAINER(n, struct tls_cached, node);
}

SSL_SESSION *
tls_cache_take(struct tls_cache *c, uint64_t key)
{
	struct map_node *n = map_find(&c->sessions, key), *best = n;

	for (; n; n = map_find_next(n))
		if (cached(n)->serial > cached(best)->serial)
			best = n;
	return best ? drop(c, cached(best)) : NULL;
}

/* One more with this key: the oldest of too many goes. */
static void
make_room(struct tls_cache *c, uint64_t key)
{
	struct map_node *n = map_find(&c->sessions, key), *worst = n;
	unsigned count = 0;

	for (; n; n = map_find_next(n), count++)
		if (cached(n)->serial < cached(worst)->serial)
			worst = n;
	if (count >= TLS_CACHE_KEY_MAX)
		SSL_SESSION_free(drop(c, cached(worst)));
	else if (c->n >= TLS_CACHE_MAX)
		SSL_SESSION_free(drop(c,
		    AB_CONTAINER(list_first(&c->oldest), struct tls_cached,
			link)));
}

void
tls_cache_put(struct tls_cache *c, uint64_t key, SSL_SESSION *s)
{
	struct tls_cached *it = mem_zalloc(sizeof(*it));

	if (!it) {
		SSL_SESSION_free(s);
		return;
	}
	make_room(c, key);
	it->session = s;
	it->serial = ++c->last;
	map_add(&c->sessions, &it->node, key);
	list_push_back(&c->oldest, &it->link);
	c->n++;
}

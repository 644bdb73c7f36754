/* SPDX-License-Identifier: MIT */
/*
 * ways.c: decides whether a connection is one of our own. It refuses to know
 * what follows from that.
 *
 *   we connect   from 192.0.2.7:40001  to 192.0.2.80:443   (listed)
 *   netfilter redirects it
 *   we accept    from 192.0.2.7:40001, meant for 192.0.2.80:443: the same
 */
#include "ways.h"

#include "conf.h"

int
ways_init(struct ways *s, bool on)
{
	*s = (struct ways){.on = on};
	if (on && map_init(&s->map) < 0)
		return -1;
	if (pthread_mutex_init(&s->lock, NULL) == 0)
		return 0;
	map_clear(&s->map);
	return -1;
}

void
ways_free(struct ways *s)
{
	map_clear(&s->map);
	pthread_mutex_destroy(&s->lock);
}

static uint16_t
port_of(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)sa)->sin_port;
	return ((const struct sockaddr_in6 *)(const void *)sa)->sin6_port;
}

uint64_t
ways_name(const struct hash_key *k, const struct sockaddr *from,
    const struct sockaddr *to)
{
	struct {
		struct in6_addr from, to;
		uint16_t from_port, to_port;
	} both;

	memset(&both, 0, sizeof(both));
	if (!conf_in6_of(from, &both.from) || !conf_in6_of(to, &both.to))
		return 0;
	both.from_port = port_of(from);
	both.to_port = port_of(to);
	return hash_bytes(k, &both, sizeof(both));
}

void
ways_add(struct ways *s, struct way *w, const struct hash_key *k, int fd)
{
	struct sockaddr_storage from, to;
	socklen_t n = sizeof(from), m = sizeof(to);

	memset(&from, 0, sizeof(from));
	memset(&to, 0, sizeof(to));
	if (!s->on || getsockname(fd, (struct sockaddr *)&from, &n) < 0 ||
	    getpeername(fd, (struct sockaddr *)&to, &m) < 0)
		return;
	pthread_mutex_lock(&s->lock);
	map_add(&s->map, &w->node,
	    ways_name(k, (struct sockaddr *)&from, (struct sockaddr *)&to));
	w->listed = true;
	pthread_mutex_unlock(&s->lock);
}

void
ways_del(struct ways *s, struct way *w)
{
	if (!w->listed)
		return;
	pthread_mutex_lock(&s->lock);
	map_del(&s->map, &w->node);
	pthread_mutex_unlock(&s->lock);
	w->listed = false;
}

bool
ways_have(struct ways *s, uint64_t name)
{
	bool have;

	pthread_mutex_lock(&s->lock);
	have = map_find(&s->map, name) != NULL;
	pthread_mutex_unlock(&s->lock);
	return have;
}

/* SPDX-License-Identifier: MIT */
/*
 * resolve_rig: a resolver that asks the name server of dns_rig, and askers
 * that note what they are told. Include it after cmocka.h.
 */
#ifndef AB_RESOLVE_RIG_H
#define AB_RESOLVE_RIG_H

#include "dns_rig.h"

#define TIMEOUT_MS 4000
#define TTL_MAX_MS 300000

struct asker {
	struct resolve_query q;
	unsigned told; /* times */
	enum resolve_error err;
	struct resolve_addrs *addrs;
	char text[1024]; /* the addresses, separated by ' ' */
	struct asker *victim; /* cancelled when this one is told */
};

static struct dns_rig rig;
static struct resolver *resolver;

static inline void
put_text(struct asker *a, const struct resolve_addrs *addrs)
{
	size_t n = 0;

	a->text[0] = '\0';
	for (unsigned i = 0; addrs != NULL && i < addrs->n; i++) {
		const struct sockaddr_storage *sa = &addrs->v[i].sa;
		bool v4 = sa->ss_family == AF_INET;
		char one[INET6_ADDRSTRLEN];

		assert_int_equal(addrs->v[i].len,
		    v4 ? sizeof(struct sockaddr_in)
		       : sizeof(struct sockaddr_in6));
		assert_non_null(inet_ntop(sa->ss_family,
		    v4 ? (const void *)&((const struct sockaddr_in *)sa)
			     ->sin_addr
		       : &((const struct sockaddr_in6 *)sa)->sin6_addr,
		    one, sizeof(one)));
		n += (size_t)snprintf(a->text + n, sizeof(a->text) - n, "%s%s",
		    i ? " " : "", one);
	}
}

static inline void
on_told(struct resolve_query *q, enum resolve_error err,
    struct resolve_addrs *addrs)
{
	struct asker *a = AB_CONTAINER(q, struct asker, q);

	assert_int_equal(err == RESOLVE_OK, addrs != NULL);
	a->told++;
	a->err = err;
	put_text(a, addrs);
	resolve_addrs_put(addrs);
	if (a->victim != NULL)
		resolve_cancel(&a->victim->q);
}

/* At once: 1; will be told: 0; else the error, negative. */
static inline int
ask(struct asker *a, const char *host)
{
	struct resolve_addrs *addrs = (void *)&rig; /* to be overwritten */
	enum resolve_error err;

	*a = (struct asker){.q = {.done = on_told}};
	err = resolver_ask(resolver, host, &a->q, &addrs);
	assert_int_equal(a->told, 0);
	put_text(a, addrs);
	if (addrs != NULL)
		assert_int_equal(err, RESOLVE_OK);
	resolve_addrs_put(addrs);
	return err != RESOLVE_OK ? -(int)err : addrs != NULL;
}

/* Asks, turns until told, and compares. */
static inline void
assert_told(const char *host, enum resolve_error err, const char *text)
{
	struct asker a;

	assert_int_equal(ask(&a, host), 0);
	assert_true(rig_until(&rig, &a.told, 1));
	assert_int_equal(a.err, err);
	assert_string_equal(a.text, text);
}

static inline void
assert_at_once(const char *host, const char *text)
{
	struct asker a;
	unsigned before = rig.nlog;

	assert_int_equal(ask(&a, host), 1);
	assert_string_equal(a.text, text);
	assert_int_equal(rig.nlog, before);
	resolve_cancel(&a.q);
}

/* Turns until all is quiet; the asker is still waiting. */
static inline void
assert_waiting(struct asker *a)
{
	rig_settle(&rig);
	assert_int_equal(a->told, 0);
}

static inline struct resolver_cfg
cfg_of(const struct dns_rig *server)
{
	return (struct resolver_cfg){.servers = server->servers,
	    .timeout_ms = TIMEOUT_MS,
	    .cache_ttl_max_ms = TTL_MAX_MS,
	    .cache_names_max = 100};
}

static inline void
rig_resolver(const struct rig_rule *rules)
{
	struct resolver_cfg cfg = cfg_of(&rig);
	const char *why;

	rig.rules = rules;
	resolver = resolver_new(
	    rig.base, &rig.timers, &rig.now_ms, &cfg, &why);
	assert_non_null(resolver);
}

static inline int
rig_set_up(void **state)
{
	(void)state;
	/* The search list of this machine must not show. */
	assert_int_equal(setenv("LOCALDOMAIN", "one.test two.test", 1), 0);
	assert_int_equal(setenv("RES_OPTIONS", "ndots:1", 1), 0);
	rig_init(&rig, NULL);
	return 0;
}

static inline int
rig_tear_down(void **state)
{
	(void)state;
	resolver_free(resolver);
	resolver = NULL;
	rig_free(&rig, true);
	return 0;
}

#endif

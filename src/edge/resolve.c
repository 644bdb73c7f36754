/* SPDX-License-Identifier: MIT */
/*
 * resolve.c: one question per name, whoever wants to know.
 *
 * Decides what is asked, how long an answer is waited for and kept, and when
 * askers are told. How a server is asked is dns.c's, the order of addresses
 * resolve_addrs.c's. It does not know what the addresses are for.
 *
 *	ask -> literal, cache, hosts file ---------------------> at once
 *	    -> a question under way for that name: joins it
 *	    -> a new question: A and AAAA of the first candidate (search list)
 *
 *	question: ASKING -> GONE
 *	ASKING  wakes when a server answered or its time is over, and then goes
 *	        on to the next candidate or tells its askers
 *	GONE    nobody can join it any more; c-ares still holds a side of it
 *
 * All is decided in the question's timer: c-ares may call back from within a
 * call of ours, and askers may do anything when they are told. An answer only
 * arms the timer for now. Questions go on when their askers leave; the cache
 * gets the answer.
 */
#include "edge/resolve.h"

#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "edge/dns.h"
#include "edge/resolve_addrs.h"
#include "edge/resolve_cache.h"
#include "edge/resolve_name.h"

struct resolver {
	struct event_base *base; /* borrows, as all three */
	struct timers *timers;
	const int64_t *now_ms;
	struct dns *dns; /* owns */
	int64_t timeout_ms;
	int64_t cache_ttl_max_ms;
	struct hash_key key;
	struct map asked;         /* name -> question that can be joined */
	struct list asking, gone; /* own their questions, by state */
	unsigned nquestions;      /* in both */
	struct resolve_cache cache;
};

enum question_state { QUESTION_ASKING, QUESTION_GONE };

struct question;
struct side { /* one address family of a question */
	struct dns_ask ask;
	struct question *question; /* the one it is part of */
};
enum { V6, V4, SIDES };

struct question {
	struct map_node node; /* in resolver.asked; ASKING only */
	struct list link;     /* in resolver.asking or resolver.gone */
	struct resolver *resolver;
	enum question_state state;
	struct list waiters; /* shares struct resolve_query */
	struct timer timer;  /* armed while ASKING */
	int64_t deadline_ms;
	int64_t until_ms; /* what is there then is the answer */
	struct side sides[SIDES];
	unsigned pending;   /* sides that dns has, and who tells the waiters */
	unsigned candidate; /* of the search list */
	bool failed;        /* a candidate could not be looked up */
	char name[];
};

/* --- the life of a question ----------------------------------------------- */

static void
question_free(struct question *q)
{
	list_del(&q->link);
	q->resolver->nquestions--;
	mem_free(q);
}

static void
question_move(struct question *q, enum question_state to)
{
	struct resolver *r = q->resolver;

	if (q->state == QUESTION_ASKING && to == QUESTION_GONE) {
		map_del(&r->asked, &q->node);
		timer_stop(r->timers, &q->timer);
	}
	list_del(&q->link);
	list_push_back(to == QUESTION_GONE ? &r->gone : &r->asking, &q->link);
	q->state = to;
}

/* Never fails while ASKING: the timer is armed. */
static void
wake_at(struct question *q, int64_t due_ms)
{
	if (timer_arm(q->resolver->timers, &q->timer, due_ms) != 0)
		(void)AB_NEVER(true);
}

static void
side_done(struct dns_ask *ask)
{
	struct question *q = AB_CONTAINER(ask, struct side, ask)->question;

	q->pending--;
	if (ask->status == DNS_STOPPED)
		return; /* who stopped it looks after the question */
	if (q->state == QUESTION_ASKING)
		wake_at(q, *q->resolver->now_ms);
	else if (q->pending == 0)
		question_free(q);
}

/* Asks for the candidate; false: there are no more. */
static bool
question_ask(struct question *q)
{
	struct resolver *r = q->resolver;
	char name[DNS_NAME_SIZE];

	if (!dns_candidate(r->dns, q->name, q->candidate, name))
		return false;
	q->until_ms = q->deadline_ms;
	q->pending = SIDES;
	/* A first: some servers answer in order, and AAAA has the grace. */
	dns_query(r->dns, name, &q->sides[V4].ask);
	dns_query(r->dns, name, &q->sides[V6].ask);
	return true;
}

/* Tells who waits. addrs: a reference, taken, or NULL. */
static void
question_end(struct question *q, enum resolve_error err,
    struct resolve_addrs *addrs)
{
	struct list *l;

	question_move(q, QUESTION_GONE);
	q->pending++; /* stays here until all are told */
	while ((l = list_first(&q->waiters)) != NULL) {
		struct resolve_query *w =
		    AB_CONTAINER(l, struct resolve_query, link);

		list_del(&w->link);
		w->done(w, err, addrs ? resolve_addrs_ref(addrs) : NULL);
	}
	resolve_addrs_put(addrs);
	if (--q->pending == 0)
		question_free(q);
}

static void
keep(struct resolver *r, const char *name, struct resolve_addrs *addrs,
    int64_t ttl_ms)
{
	struct span s = span_of(name);

	if (ttl_ms > r->cache_ttl_max_ms)
		ttl_ms = r->cache_ttl_max_ms;
	if (ttl_ms > 0)
		resolve_cache_put(&r->cache, s, hash_bytes(&r->key, s.p, s.n),
		    addrs, clock_add(*r->now_ms, ttl_ms));
}

/* The answer is what there is. */
static void
question_answer(struct question *q)
{
	const struct dns_found *v6 = &q->sides[V6].ask.found;
	const struct dns_found *v4 = &q->sides[V4].ask.found;
	int64_t ttl_ms = q->pending > 0 ? RESOLVE_PARTIAL_MS : INT64_MAX;
	struct resolve_addrs *addrs;

	for (unsigned i = 0; i < SIDES; i++) {
		const struct dns_ask *ask = &q->sides[i].ask;
		int64_t most_ms = INT64_MAX;

		if (ask->found.n > 0)
			most_ms = ask->found.ttl_ms;
		else if (ask->status != DNS_NONE)
			most_ms = RESOLVE_PARTIAL_MS;
		if (most_ms < ttl_ms)
			ttl_ms = most_ms;
	}
	addrs = resolve_addrs_new(v6, v4);
	if (addrs != NULL)
		keep(q->resolver, q->name, addrs, ttl_ms);
	question_end(q, addrs ? RESOLVE_OK : RESOLVE_NO_MEMORY, addrs);
}

/* This candidate has no addresses, or none that could be had. */
static void
question_next(struct question *q, int64_t now_ms)
{
	for (unsigned i = 0; i < SIDES; i++) {
		if (q->sides[i].ask.status != DNS_NONE)
			q->failed = true;
	}
	q->candidate++;
	if (now_ms >= q->deadline_ms)
		question_end(q, RESOLVE_FAILED, NULL);
	else if (!question_ask(q))
		question_end(q, q->failed ? RESOLVE_FAILED : RESOLVE_NO_NAME,
		    NULL);
}

/*
 * IPv6 addresses are waited for a moment only where there are others. IPv4
 * ones are waited for in any case: many a host has no way to the others.
 */
static void
question_wake(struct timer *t, int64_t now_ms)
{
	struct question *q = AB_CONTAINER(t, struct question, timer);
	unsigned n4 = q->sides[V4].ask.found.n, n6 = q->sides[V6].ask.found.n;

	/* First of all: the place in the heap was this timer's just now. */
	wake_at(q, q->deadline_ms);
	if (q->pending == 0) {
		if (n4 + n6 > 0)
			question_answer(q);
		else
			question_next(q, now_ms);
		return;
	}
	if (now_ms >= q->until_ms) {
		if (n4 + n6 > 0)
			question_answer(q);
		else
			question_end(q, RESOLVE_FAILED, NULL);
		return;
	}
	if (n4 > 0 && q->until_ms > clock_add(now_ms, RESOLVE_GRACE_MS))
		q->until_ms = clock_add(now_ms, RESOLVE_GRACE_MS);
	wake_at(q, q->until_ms);
}

/* Under way, or NULL out of memory. */
static struct question *
question_new(struct resolver *r, struct span name, uint64_t hash)
{
	struct question *q = mem_zalloc(sizeof(*q) + name.n + 1);

	if (q == NULL)
		return NULL;
	q->resolver = r;
	memcpy(q->name, name.p, name.n);
	list_init(&q->waiters);
	q->deadline_ms = clock_add(*r->now_ms, r->timeout_ms);
	for (unsigned i = 0; i < SIDES; i++) {
		q->sides[i].question = q;
		q->sides[i].ask.family = i == V4 ? AF_INET : AF_INET6;
		q->sides[i].ask.done = side_done;
	}
	timer_init(&q->timer, question_wake);
	if (timer_arm(r->timers, &q->timer, q->deadline_ms) != 0) {
		mem_free(q);
		return NULL;
	}
	r->nquestions++;
	list_init(&q->link);
	question_move(q, QUESTION_ASKING);
	map_add(&r->asked, &q->node, hash);
	(void)!question_ask(q); /* there is a first candidate */
	return q;
}

static struct question *
question_find(struct resolver *r, struct span name, uint64_t hash)
{
	struct map_node *node = map_find(&r->asked, hash);

	for (; node != NULL; node = map_find_next(node)) {
		struct question *q = AB_CONTAINER(node, struct question, node);

		if (span_eq(span_of(q->name), name))
			return q;
	}
	return NULL;
}

/* --- asking --------------------------------------------------------------- */

/* The hosts file has names without a trailing dot. */
static bool
find_in_hosts(struct resolver *r, struct span name, struct dns_found *ret_v6,
    struct dns_found *ret_v4)
{
	char text[RESOLVE_NAME_SIZE];
	struct dns_found none;

	if (name.p[name.n - 1] == '.')
		name.n--;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	if (dns_hosts(r->dns, text, ret_v6, ret_v4))
		return true;
	/* No hosts file, as in a container from scratch: no name server is
	 * asked for this one all the same (RFC 6761 6.3). */
	return span_eq(name, SPAN("localhost")) &&
	    resolve_addrs_literal("::1", ret_v6, &none) &&
	    resolve_addrs_literal("127.0.0.1", &none, ret_v4);
}

static enum resolve_error
join(struct resolver *r, struct span name, uint64_t hash,
    struct resolve_query *query)
{
	struct question *q = question_find(r, name, hash);

	if (q == NULL && r->nquestions >= RESOLVE_QUESTIONS_MAX)
		return RESOLVE_FAILED;
	if (q == NULL)
		q = question_new(r, name, hash);
	if (q == NULL)
		return RESOLVE_NO_MEMORY;
	list_push_back(&q->waiters, &query->link);
	return RESOLVE_OK;
}

enum resolve_error
resolver_ask(struct resolver *r, const char *host, struct resolve_query *q,
    struct resolve_addrs **ret_addrs)
{
	struct dns_found v6, v4;
	char text[RESOLVE_NAME_SIZE];
	struct span name;
	uint64_t hash;

	list_init(&q->link);
	*ret_addrs = NULL;
	if (resolve_addrs_literal(host, &v6, &v4)) {
		*ret_addrs = resolve_addrs_new(&v6, &v4);
		return *ret_addrs ? RESOLVE_OK : RESOLVE_NO_MEMORY;
	}
	if (!resolve_name(host, text))
		return RESOLVE_NO_NAME;
	name = span_of(text);
	hash = hash_bytes(&r->key, name.p, name.n);
	*ret_addrs = resolve_cache_find(&r->cache, name, hash, *r->now_ms);
	if (*ret_addrs != NULL)
		return RESOLVE_OK;
	if (!find_in_hosts(r, name, &v6, &v4))
		return join(r, name, hash, q);
	*ret_addrs = resolve_addrs_new(&v6, &v4);
	if (*ret_addrs == NULL)
		return RESOLVE_NO_MEMORY;
	keep(r, text, *ret_addrs, RESOLVE_PARTIAL_MS);
	return RESOLVE_OK;
}

void
resolve_cancel(struct resolve_query *q)
{
	if (q->link.next != NULL)
		list_del(&q->link);
}

/* --- the resolver --------------------------------------------------------- */

static void
set_limits(struct resolver *r, const struct resolver_cfg *cfg)
{
	r->timeout_ms = cfg->timeout_ms;
	r->cache_ttl_max_ms = cfg->cache_ttl_max_ms;
	resolve_cache_reset(&r->cache, cfg->cache_names_max);
}

struct resolver *
resolver_new(struct event_base *base, struct timers *timers,
    const int64_t *now_ms, const struct resolver_cfg *cfg, const char **ret_why)
{
	struct resolver *r = mem_zalloc(sizeof(*r));

	*ret_why = "out of memory";
	if (r == NULL)
		return NULL;
	r->base = base;
	r->timers = timers;
	r->now_ms = now_ms;
	list_init(&r->asking);
	list_init(&r->gone);
	/* Without a random key names may be chosen to collide; so be it. */
	if (getrandom(&r->key, sizeof(r->key), 0) < 0)
		log_warn("names are hashed without a secret: no randomness");
	if (resolve_cache_init(&r->cache) != 0 || map_init(&r->asked) != 0)
		goto out;
	set_limits(r, cfg);
	r->dns = dns_new(base, timers, now_ms, cfg->servers, cfg->timeout_ms,
	    ret_why);
	if (r->dns != NULL)
		return r;
out:
	resolver_free(r);
	return NULL;
}

/* What is left after dns_free: no side of any is pending. */
static void
free_questions(struct list *head)
{
	struct list *it, *tmp;

	LIST_EACH_SAFE(it, tmp, head) {
		struct question *q = AB_CONTAINER(it, struct question, link);

		(void)AB_NEVER(!list_empty(&q->waiters));
		timer_stop(q->resolver->timers, &q->timer);
		question_free(q);
	}
}

void
resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	dns_free(r->dns);
	free_questions(&r->asking);
	free_questions(&r->gone);
	map_clear(&r->asked);
	resolve_cache_free(&r->cache);
	mem_free(r);
}

void
resolver_reconfigure(struct resolver *r, const struct resolver_cfg *cfg)
{
	const char *why;
	struct list *it, *tmp;
	struct dns *old = r->dns;
	struct dns *dns = dns_new(r->base, r->timers, r->now_ms, cfg->servers,
	    cfg->timeout_ms, &why);

	set_limits(r, cfg);
	if (dns == NULL) {
		log_warn("name servers stay as they were: %s", why);
		return;
	}
	r->dns = dns;
	dns_free(old);
	free_questions(&r->gone);
	LIST_EACH_SAFE(it, tmp, &r->asking) {
		struct question *q = AB_CONTAINER(it, struct question, link);

		q->candidate = 0;
		q->failed = false;
		wake_at(q, q->deadline_ms);
		(void)!question_ask(q);
	}
}

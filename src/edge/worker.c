/* SPDX-License-Identifier: MIT */
/*
 * worker decides the order of one thread's work. It refuses to know what a
 * connection does in its turn.
 *
 *   loop:  sleep until a socket, the mailbox or the next timer
 *          callbacks (worker_enter: the clock is read once a turn)
 *          worker_turn: orders, engine, look-agains, burials
 */
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "client_login.h"
#include "dest.h"
#include "listen.h"
#include "upstream.h"

#define AGAIN_MAX 256  /* looked at again in one turn */
#define NAMES_MAX 4096 /* of the resolver's cache */
#define DRAIN_MARGIN_MS \
	500 /* parked ones are answered this much before the end */

void
worker_wake(struct worker *w)
{
	uint64_t one = 1;

	(void)!write(w->wake_fd, &one, sizeof(one));
}

void
worker_again(struct worker *w, struct again *a, void (*fn)(struct again *a))
{
	a->fn = fn;
	list_del(&a->link);
	list_push_back(&w->again, &a->link);
}

void
worker_bury(struct worker *w, struct corpse *c, void (*bury)(struct corpse *c))
{
	c->bury = bury;
	list_push_back(&w->dead, &c->link);
}

static void
worker_on_wake(evutil_socket_t fd, short what, void *arg)
{
	uint64_t n;

	(void)what;
	(void)!read(fd, &n, sizeof(n));
	worker_enter(arg);
}

static void
worker_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	uint64_t n;

	(void)what;
	(void)!read(fd, &n, sizeof(n));
	w->tick_ms = TIMER_NEVER;
	worker_enter(w);
}

static bool
worker_allowed(const struct sockaddr *sa, void *arg)
{
	const struct upstream *u = arg;

	/* Where a parent proxy is, an operator has said. */
	return u->x && !dest_is_self(u->x->conf, sa) &&
	    (u->x->forced || u->x->parent || dest_addr_allowed(u->x->conf, sa));
}

static struct resolver_cfg
worker_dns(const struct conf *c)
{
	return (struct resolver_cfg){
	    .servers = c->dns_servers,
	    .timeout_ms = c->dns_timeout_ms,
	    .cache_ttl_max_ms = c->dns_cache_ttl_max_ms,
	    .cache_names_max = NAMES_MAX,
	};
}

static int
worker_events(struct worker *w)
{
	struct event_config *cfg = event_config_new();

	if (!cfg)
		return -1;
	/* One thread per base: no locks. */
	event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
	event_config_require_features(cfg,
	    EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE);
	w->base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (!w->base)
		return -1;
	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	w->tick_fd =
	    timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (w->wake_fd < 0 || w->tick_fd < 0 ||
	    event_assign(&w->wake_ev, w->base, w->wake_fd, EV_READ | EV_PERSIST,
		worker_on_wake, w) < 0 ||
	    event_add(&w->wake_ev, NULL) < 0)
		return -1;
	if (event_assign(&w->tick_ev, w->base, w->tick_fd, EV_READ | EV_PERSIST,
		worker_on_tick, w) < 0)
		return -1;
	return event_add(&w->tick_ev, NULL);
}

int
worker_init(struct worker *w, struct proc *p, unsigned index)
{
	struct resolver_cfg dns = worker_dns(p->conf);
	const char *why = "out of memory";

	w->proc = p;
	w->index = index;
	w->wake_fd = w->tick_fd = -1;
	w->tick_ms = TIMER_NEVER;
	w->conf = conf_ref(p->conf);
	list_init(&w->listeners);
	list_init(&w->clients);
	list_init(&w->upstreams);
	list_init(&w->again);
	list_init(&w->dead);
	rng_seed(&w->rng, p->hash.k0 + index * 0x9e3779b97f4a7c15u);
	engine_init(&w->engine, &p->shared, index, &exchange_ports, w);
	w->engine.now_ms = clock_mono_ms();
	w->engine.grain_ms = 1;
	strbuf_init(&w->text, 256 * 1024);
	w->scratch = mem_alloc(WORKER_SCRATCH);
	w->scratch_out = mem_alloc(WORKER_SCRATCH);
	if (!w->scratch || !w->scratch_out || pool_init(&w->pool) < 0 ||
	    tls_cache_init(&w->sessions) < 0 || leafs_init(&w->leafs) < 0 ||
	    worker_events(w) < 0) {
		log_err("worker %u: cannot be set up: %s", index,
		    strerror(errno));
		return -1;
	}
	w->resolver = resolver_new(w->base, &w->engine.timers,
	    &w->engine.now_ms, &dns, &why);
	if (!w->resolver) {
		log_err("worker %u: no resolver: %s", index, why);
		return -1;
	}
	w->dialer = (struct dialer){
	    .base = w->base,
	    .timers = &w->engine.timers,
	    .now_ms = &w->engine.now_ms,
	    .resolver = w->resolver,
	    .allowed = worker_allowed,
	};
	return 0;
}

static void
worker_end_dead(struct worker *w)
{
	struct list *it;

	while ((it = list_first(&w->dead))) {
		struct corpse *c = AB_CONTAINER(it, struct corpse, link);

		list_del(it);
		c->bury(c);
	}
}

static void
worker_drop_clients(struct worker *w)
{
	struct list *it;

	while ((it = list_first(&w->clients)))
		client_drop(AB_CONTAINER(it, struct client, link));
	while ((it = list_first(&w->upstreams)))
		upstream_close(AB_CONTAINER(it, struct upstream, link));
}

void
worker_free(struct worker *w)
{
	listen_stop(w);
	worker_drop_clients(w);
	engine_turn(&w->engine);
	worker_end_dead(w);
	pool_clear(&w->pool);
	tls_cache_free(&w->sessions);
	leafs_free(&w->leafs);
	if (w->resolver)
		resolver_free(w->resolver);
	engine_free(&w->engine);
	if (w->wake_fd >= 0 && w->tick_fd >= 0) {
		event_del(&w->wake_ev);
		event_del(&w->tick_ev);
		(void)close(w->wake_fd);
		(void)close(w->tick_fd);
	}
	if (w->base)
		event_base_free(w->base);
	mem_free(w->scratch);
	mem_free(w->scratch_out);
	strbuf_free(&w->text);
	conf_unref(w->conf);
}

static void
worker_take_conf(struct worker *w)
{
	struct resolver_cfg dns;
	struct conf *old = w->conf;

	pthread_mutex_lock(&w->proc->conf_lock);
	w->conf = conf_ref(w->proc->conf);
	pthread_mutex_unlock(&w->proc->conf_lock);
	conf_unref(old);
	pool_clear_idle(&w->pool);
	dns = worker_dns(w->conf);
	resolver_reconfigure(w->resolver, &dns);
	engine_recheck(&w->engine);
	atomic_store(&w->conf_taken, w->conf->generation);
}

static void
worker_drain(struct worker *w, int64_t until_ms)
{
	struct list *it, *next;

	w->draining = true;
	listen_stop(w);
	pool_clear_idle(&w->pool);
	LIST_EACH_SAFE(it, next, &w->clients)
		client_drain(AB_CONTAINER(it, struct client, link));
	engine_drain(&w->engine, until_ms - DRAIN_MARGIN_MS);
}

/* What the main thread asked for. */
static void
worker_orders(struct worker *w)
{
	int64_t drain_ms = atomic_exchange(&w->want_drain_ms, 0);

	if (atomic_exchange(&w->want_conf, false))
		worker_take_conf(w);
	if (atomic_exchange(&w->want_logins, false))
		client_logins(w);
	if (drain_ms && !w->draining)
		worker_drain(w, drain_ms);
	if (atomic_load(&w->want_stop))
		w->stop = true;
}

static void
worker_look_again(struct worker *w)
{
	struct list *it;

	for (int i = 0; i < AGAIN_MAX && (it = list_first(&w->again)); i++) {
		struct again *a = AB_CONTAINER(it, struct again, link);

		list_del(it);
		a->fn(a);
	}
}

/*
 * Sleeps no longer than until the engine's next timer. A timer of our own, and
 * not libevent's: it is set only where it must ring earlier than it would, so
 * that a request which arms and stops its timers costs no system call. It may
 * ring for nothing.
 */
static void
worker_arm_tick(struct worker *w)
{
	int64_t next = engine_next_ms(&w->engine);
	struct itimerspec at = {.it_value.tv_sec = next / 1000,
	    .it_value.tv_nsec = next % 1000 * 1000000};

	w->busy = !list_empty(&w->again) || next <= w->engine.now_ms;
	if (w->busy || next >= w->tick_ms)
		return;
	w->tick_ms = next;
	if (timerfd_settime(w->tick_fd, TFD_TIMER_ABSTIME, &at, NULL) < 0)
		w->busy = true; /* the next turn tries again */
}

/* Debug builds: one allocation in so many fails, ABIDED_FAIL_ALLOC says. */
static void
worker_fail_alloc(struct worker *w)
{
	if (w->fail_mean == 0 || mem_count() < w->fail_next)
		return;
	w->fail_next = 1 + rng_next(&w->rng) % (2 * w->fail_mean);
	mem_fail_at(w->fail_next, false);
}

static void
worker_turn(struct worker *w)
{
	worker_enter(w);
	worker_fail_alloc(w);
	worker_orders(w);
	engine_turn(&w->engine);
	worker_look_again(w);
	engine_turn(&w->engine);
	worker_end_dead(w);
	/* It goes on until all are done: those who wait elsewhere may be woken
	 * by a tick of this engine. */
	if (w->draining && list_empty(&w->clients) &&
	    engine_may_stop(&w->engine))
		atomic_store(&w->done, true);
	worker_arm_tick(w);
	w->fresh = false;
}

void *
worker_main(void *arg)
{
	struct worker *w = arg;

#ifdef AB_DEBUG
	const char *mean = getenv("ABIDED_FAIL_ALLOC");

	w->fail_mean = mean ? strtoul(mean, NULL, 10) : 0;
#endif
	while (!w->stop) {
		if (event_base_loop(w->base,
			w->busy ? EVLOOP_NONBLOCK : EVLOOP_ONCE) < 0)
			log_err("worker %u: event loop: %s", w->index,
			    strerror(errno));
		worker_turn(w);
	}
	atomic_store(&w->done, true);
	return NULL;
}

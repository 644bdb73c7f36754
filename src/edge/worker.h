/* SPDX-License-Identifier: MIT */
/*
 * worker: one thread with its own event loop, engine, connections, pool and
 * buffers. What it shares with the others is in struct proc.
 *
 * A turn: libevent calls back for what is ready; then worker_turn runs the
 * engine, looks again at who asked for it, and frees what died.
 */
#ifndef AB_WORKER_H
#define AB_WORKER_H

#include <pthread.h>

#include "base/clock.h"
#include "base/rng.h"
#include "checker.h"
#include "conf.h"
#include "dial.h"
#include "engine/engine.h"
#include "leaf.h"
#include "loglimit.h"
#include "pool.h"
#include "proto/head.h"
#include "tls_cache.h"
#include "ways.h"

#define WORKER_SCRATCH (64 * 1024) /* bytes of one read */

#define ACCESS_OFF (-2) /* proc.access_fd: no access log */

struct worker;

/* What the workers of a process share. */
struct proc {
	struct engine_shared shared;
	struct hash_key hash;
	pthread_mutex_t conf_lock;
	struct conf *conf;           /* the one in force; a reference */
	struct worker *workers;      /* owns */
	unsigned nworkers, nstarted; /* threads running */
	char via[24];                /* our pseudonym: tells instances apart */
	struct span via_span;
	atomic_uint connections;     /* of clients */
	atomic_uint max_connections; /* of them */
	atomic_ullong next_id;
	atomic_int access_fd;        /* access log; -1: with the log */
	struct checker *checker;     /* owns; of passwords */
	struct loglimit login_log;   /* refused logins */
	struct loglimit copies_log;  /* clients that retry by themselves */
	struct ways ways;            /* of upstreams, see ways.h */
	atomic_llong loop_ms;        /* when a loop was last logged */
};

/* Who wants to be looked at again at the end of the turn. */
struct again {
	struct list link;
	void (*fn)(struct again *a);
};

struct worker {
	struct proc *proc;           /* shared */
	unsigned index;
	pthread_t thread;
	struct event_base *base;     /* owns */
	struct engine engine;
	struct conf *conf;           /* a reference */
	struct resolver *resolver;   /* owns */
	struct dialer dialer;
	struct pool pool;
	struct tls_cache sessions;   /* with upstreams */
	struct leafs leafs;          /* certificates of intercepted hosts */
	struct rng rng;
	struct list listeners;
	struct list clients;
	struct list upstreams;       /* in use, draining or idle */
	struct list again;           /* struct again */
	struct list dead;            /* struct corpse: freed at the turn's end */
	int wake_fd;                 /* eventfd */
	int tick_fd;                 /* timerfd */
	struct event wake_ev, tick_ev;
	int64_t tick_ms;             /* when tick_fd wakes us; TIMER_NEVER */
	bool busy;                   /* more to do at once: no sleep */
	bool fresh;                  /* engine.now_ms is this turn's */
	bool draining, stop;
	atomic_ullong conf_taken;    /* generation of `conf`, for the main thread */
	/* Orders from the main thread, taken when woken. */
	atomic_bool want_conf, want_stop;
	atomic_bool want_logins;     /* from the checker */
	atomic_bool done;            /* drained: its last client has left */
	atomic_llong want_drain_ms;  /* 0: no */
	unsigned long fail_mean;     /* debug builds: allocations between two that
	                              * fail, on average; 0: none does */
	unsigned long fail_next;
	/* Scratch space of one callback; nobody keeps spans into it. */
	char *scratch;               /* owns; WORKER_SCRATCH bytes, reads */
	char *scratch_out;           /* owns; WORKER_SCRATCH bytes, sending */
	struct head head;
	struct strbuf text;          /* a head being built */
	struct strbuf log;           /* access lines of this turn */
};

/* Anything freed at the end of the turn begins with one. */
struct corpse {
	struct list link;
	void (*bury)(struct corpse *c);
};

/* 0, or -1 with a log line. */
AB_MUST int worker_init(struct worker *w, struct proc *p, unsigned index);
void worker_free(struct worker *w);
void *worker_main(void *arg); /* of the thread; arg: struct worker * */
/* From any thread: looks at its orders and mail soon. */
void worker_wake(struct worker *w);

/* Every callback of libevent calls this first: the turn's time. */
static inline void
worker_enter(struct worker *w)
{
	if (!w->fresh) {
		w->engine.now_ms = clock_mono_ms();
		w->fresh = true;
	}
}
/* Before an outcome is reported: a hint counts from its receipt. */
static inline void
worker_now(struct worker *w)
{
	w->engine.now_ms = clock_mono_ms();
	w->fresh = true;
}

void worker_again(struct worker *w, struct again *a, void (*fn)(struct again *a));
void worker_bury(struct worker *w, struct corpse *c,
    void (*bury)(struct corpse *c));

static inline struct worker *
worker_of(struct engine *e)
{
	return e->ctx;
}

#endif

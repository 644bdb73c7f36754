/* SPDX-License-Identifier: MIT */
/*
 * engine: what one worker's requests share. One engine per thread; only
 * engine_post may be called from another.
 *
 * A turn: the owner sets now_ms, delivers events, then calls engine_turn, which
 * takes the mail, fires timers, starts what was admitted and reaps what is over.
 */
#ifndef AB_ENGINE_H
#define AB_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/timer.h"
#include "key.h"
#include "ports.h"
#include "stats.h"

#define REQUEST_STATE_LIST(X) \
	X(READING)            \
	X(WAITING)            \
	X(CONNECTING)         \
	X(SENDING)            \
	X(AWAITING)           \
	X(RELAYING)           \
	X(TUNNELING)          \
	X(ANSWERING)          \
	X(GONE)
enum request_state {
#define X(s) REQUEST_##s,
	REQUEST_STATE_LIST(X)
#undef X
	REQUEST_STATE_COUNT
};
const char *request_state_name(enum request_state s);

/* What the engines of a process share. */
struct engine_shared {
	struct keys keys;
	atomic_uint parked;            /* requests in WAITING */
	atomic_uint max_parked;
	atomic_ullong body_memory;     /* bytes held by all replay buffers */
	atomic_ullong max_body_memory; /* over it bodies go to the file at once */
	atomic_ullong body_disk;       /* bytes of all their files */
	atomic_ullong max_body_disk;   /* over it bodies are sent once; at first
	                                * there is no bound */
	unsigned nengines;
};

struct engine {
	unsigned index;          /* 0 .. shared->nengines - 1 */
	int64_t now_ms;          /* of this turn, monotonic, rounded down */
	int64_t grain_ms;        /* by how much the true time may be later than
	                          * now_ms: a wait starts at now_ms + grain_ms */
	const struct ports *ports;
	void *ctx;               /* the owner's */
	struct engine_shared *shared;
	struct timers timers;
	struct list in[REQUEST_STATE_COUNT]; /* requests by state */
	unsigned count[REQUEST_STATE_COUNT];
	atomic_llong drain_ms;   /* parked requests end by then; TIMER_NEVER; read by
	                          * the others too */
	pthread_mutex_t mail_lock;
	struct list mail;        /* requests that another engine admitted */
	struct list ready;       /* requests admitted here, not started yet */
	struct list late;        /* key ticks that found no memory to be armed */
	struct stats stats;
};

/* 0, or -1 out of memory. max_*: see struct engine_shared. */
AB_MUST int engine_shared_init(struct engine_shared *s, unsigned nengines,
    const struct hash_key *hash, unsigned max_parked, uint64_t max_body_memory);
void engine_shared_free(struct engine_shared *s);
void engine_init(struct engine *e, struct engine_shared *s, unsigned index,
    const struct ports *ports, void *ctx);
void engine_free(struct engine *e);

void engine_turn(struct engine *e);
/* When engine_turn must be called again at the latest; TIMER_NEVER: on events
 * only. now_ms or earlier: at once. */
int64_t engine_next_ms(const struct engine *e);
/* From now on: requests that wait are answered 503 by until_ms, at once where
 * their wait is known to be longer. Running ones finish. */
void engine_drain(struct engine *e, int64_t until_ms);
/* While draining: nobody needs its turns any more, neither a request of its own
 * nor one of another engine that it has promised to wake. */
bool engine_may_stop(struct engine *e);
/* After a reload: lets the line of each key be looked at by the new rules. */
void engine_recheck(struct engine *e);
/* All requests that are not over. */
unsigned engine_busy(const struct engine *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * key: the shared state of one service key: what its service is like, its
 * tokens, its slots, its line. Keys of one service form a group, bounded by
 * max_keys: the one unused longest goes first, those that are shut last.
 *
 * Any thread; one mutex per key, held only for policy arithmetic. Lock order:
 * group, then key, then an engine's mail or the group's budget.
 *
 * Who wakes the line: whoever changes a key's state calls key_pump under its
 * lock, which admits what may go and arms the caller's own timer for when more
 * may. `wake_ms` is the earliest time that any engine has armed.
 */
#ifndef AB_KEY_H
#define AB_KEY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "base/timer.h"
#include "buckets.h"
#include "copies.h"
#include "policy/adapt.h"
#include "policy/bucket.h"
#include "policy/budget.h"
#include "policy/line.h"
#include "policy/quota.h"
#include "policy/service.h"

struct engine;

struct key_cfg {
	struct service_cfg service;
	struct bucket_cfg bucket;
	struct adapt_cfg adapt;
	struct budget_cfg budget; /* of the group */
	struct quota_cfg quota;
	uint32_t concurrency; /* 0: no limit */
	uint32_t queue;       /* places in line */
	uint32_t max_keys;    /* of the group */
};

struct keygroup;
struct key_tick {
	struct timer timer;
	struct key *key;       /* shared; a reference while armed or late */
	struct engine *engine; /* whose heap it is in; set when armed */
	struct list late;      /* in engine->late: no memory to arm it */
};

struct key {
	struct map_node node;
	struct list lru;          /* in its group, unused keys only */
	struct keygroup *group;   /* shared */
	atomic_uint refs;         /* from and to 0 under the group's lock only */
	pthread_mutex_t lock;     /* guards all below */
	struct service service;
	struct bucket bucket;
	struct quota quota;
	uint64_t owner;           /* a hash: holds on all are on all keys that have
	                           * the same */
	unsigned long long holds_seen; /* of the group's, so many; and the one of */
	int64_t owner_hold_ms;    /* its owner, as last taken over */
	bool hasty;               /* somebody in line may not wait for it */
	struct adapt adapt;
	uint32_t in_use;          /* slots taken */
	bool probe_streams;       /* PROBE: its body still comes from its client */
	struct line line;
	struct key_cfg cfg;
	int64_t wake_ms;
	/* Lower bounds over the line, so that a longer hold looks through it only
	 * when somebody in it can't wait that long. */
	int64_t least_deadline_ms, least_max_wait_ms;
	int64_t least_patience_ms; /* of those who are not hasty */
	/* How long the line has been held up by what: a waiting request takes
	 * the difference. */
	int64_t held_ms[WAIT_WHY_COUNT];
	int64_t held_since_ms;
	enum wait_why held_by;
	struct key_tick *ticks;   /* owns, one per engine */
	char label[];             /* for people: "api.test:80" */
};

struct keygroup {
	struct map_node node;
	struct list all;          /* in keys */
	pthread_mutex_t lock;     /* guards the map, lru and refs */
	struct map map;
	struct list lru;          /* oldest first */
	struct key_cfg cfg;
	struct buckets buckets;   /* has a lock of its own, and so has this: */
	struct copies copies;     /* of those who wait */
	struct buckets holds;     /* the owner -> until when all its keys are held */
	atomic_ullong nholds;     /* how often one has been put there */
	pthread_mutex_t budget_lock;
	struct budget budget;     /* under budget_lock */
	char *name;               /* owns; "" for [defaults] */
	struct keys *keys;        /* shared */
};

struct keys {
	pthread_mutex_t lock;
	struct map groups;
	struct list all;
	struct hash_key hash;
	unsigned nengines;
};

AB_MUST int keys_init(struct keys *ks, const struct hash_key *h, unsigned nengines);
void keys_free(struct keys *ks);
/* The group of a service by name, made when new; NULL out of memory. Its keys
 * take the new cfg; their state stays. */
struct keygroup *keys_group(struct keys *ks, struct span name,
    const struct key_cfg *cfg, int64_t now_ms);

/* The key with this id and owner (hashes; an id has one owner), made when new,
 * with a reference; NULL out of memory. */
struct key *key_get(struct keygroup *g, uint64_t id, uint64_t owner,
    struct span label);
void key_ref(struct key *k);
void key_put(struct key *k);

/* A request of this group has had its first outcome. */
void keygroup_count_request(struct keygroup *g, int64_t now_ms);
/* Takes a retry out of the budget, where there is one. False: it is used up. */
AB_MUST bool keygroup_take_retry(struct keygroup *g, int64_t now_ms);

#endif

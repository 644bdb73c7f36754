/* SPDX-License-Identifier: MIT */
/*
 * world: one playing of a scenario: the virtual clock, the real engines, and
 * a record of all that happened.
 *
 *   world.c      the clock and its queue of events
 *   action.c     what the scenario makes happen
 *   job.c        clients: their requests, bodies, and what they got
 *   origin.c     upstreams: attempts, connections, answers
 *   ports.c      the engine's way to both
 *   invariant.c  what must hold in every scenario
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/rng.h"
#include "engine/request.h"
#include "scene.h"

#define ENGINES_MAX 16
#define LOOKS_MAX   64 /* at one moment */

struct world;
struct job;

/* One attempt at an upstream. */
struct try {
	struct job *job;
	const struct step *step; /* NULL until the limit has judged it */
	struct step own_step;    /* what the limit said */
	unsigned n;              /* of its request, from 1 */
	bool fresh;              /* rule 14: the same attempt on another connection */
	bool reused;             /* the connection had served before */
	bool connected, sent_all, in_hand, over;
	bool off;                /* it was called off before its first byte */
	bool counted;            /* the upstream is busy with it */
	unsigned live;           /* at its start, with it, at this service */
	unsigned pieces;         /* of its answer's body, relayed */
	uint64_t sent;           /* body bytes */
	int64_t start_us, head_us, over_us; /* -1: not yet */
	int status;
	struct look look;        /* at its answer's body */
};

enum job_end { JOB_OPEN, JOB_RELAYED, JOB_OWN, JOB_CUT, JOB_LEFT, JOB_REFUSED };

/* One request of a client. */
struct job {
	struct request r;
	struct world *world;
	const struct action *action;
	unsigned n;              /* from 1, in order of arrival */
	int client, service;
	struct lane *lane;
	struct try *try;         /* under way, or NULL */
	bool begun, reaped, fin;
	bool answering;          /* an own answer is on its way */
	bool relaying;
	bool wanted;             /* the engine asked for the body */
	bool feeding;            /* a piece of the body is on its way */
	uint64_t fed;            /* body bytes that the client has sent */
	uint64_t streamed;       /* of them, beyond the replay buffer */
	unsigned steps;          /* of an upstream's script for itself */
	int64_t came_us, end_us; /* end: the last byte of its answer */
	int64_t head_us;         /* the head of its final answer; -1 */
	enum job_end end;
	int status;
	int64_t retry_after_ms;
	uint64_t received;       /* body bytes */
	char *head;              /* owns: of the relayed answer */
};

/* What the scenario itself knows about a key. */
struct lane {
	int service;
	char key[NAME_BYTES];
	int64_t hint_until_us;   /* no attempt before */
};

/* An upstream as it is now. */
struct origin {
	unsigned steps;          /* of the script */
	unsigned idle[ENGINES_MAX]; /* connections */
	unsigned connections;    /* opened in all */
	unsigned live;           /* attempts under way */
	int64_t busy;            /* of them, let pass by the limit */
	int64_t tat;             /* BUCKET: in us * count */
	int64_t window, in_window;
};

/* A file of the replay buffer. */
struct spill {
	char *p;                 /* owns */
	size_t n;
};

struct event {
	int64_t at_us;
	uint64_t seq;
	void (*fn)(struct world *w, void *arg);
	void *arg;
};

/* How to play it. */
struct how {
	bool verbose;          /* tell the story */
	unsigned long failing; /* the allocation that fails, or 0 */
	bool all_after;        /* and all that follow */
};

struct world {
	const struct scene *scene;
	struct how how;
	int64_t now_us;
	int64_t wall_us;         /* what has been added to the wall clock */
	struct rng rng, noise;
	struct engine_shared shared;
	struct engine engines[ENGINES_MAX];
	bool woken[ENGINES_MAX];
	bool stopped[ENGINES_MAX]; /* drained and empty: its thread is gone */
	bool draining;
	unsigned next_engine;
	struct settings *settings[SERVICES_MAX]; /* now in force */
	struct settings **versions; /* owns */
	unsigned nversions;
	struct keygroup *groups[SERVICES_MAX];
	struct origin origins[SERVICES_MAX];
	struct event *queue;     /* owns; a heap */
	unsigned nqueue;
	uint64_t seq;
	struct job **jobs;       /* owns */
	unsigned njobs;
	struct try **tries;      /* owns; in order of their start */
	unsigned ntries;
	struct lane **lanes;     /* owns */
	unsigned nlanes;
	struct spill *spills;    /* owns; by handle */
	unsigned nspills, open_spills;
	uint64_t disk_used;      /* bytes */
	bool disk_unreadable;
	const struct expect *looks[LOOKS_MAX]; /* to be asked at this moment */
	unsigned nlooks;
	unsigned faults;
};

extern const struct ports sim_ports;

/* Plays it once; returns the number of faults. */
unsigned world_play(const struct scene *s, const struct how *how,
    unsigned long *ret_allocs);
/* Settings as they come into force; live as long as the world. */
struct settings *world_settings(struct world *w, const struct settings *from);

/* After this much time; in a fine scenario a bit more. */
void world_after(struct world *w, int64_t us, void (*fn)(struct world *, void *),
    void *arg);
void world_at(struct world *w, int64_t at_us, void (*fn)(struct world *, void *),
    void *arg);
/* Something happens to this engine now. */
void world_enter(struct world *w, struct engine *e);

/* Something is not as it must be. */
void world_fault(struct world *w, const char *fmt, ...) AB_PRINTF(2, 3);
/* A line of the story, with -v. */
void world_tell(struct world *w, const char *fmt, ...) AB_PRINTF(2, 3);

static inline struct world *
world_of(struct engine *e)
{
	return e->ctx;
}

static inline struct job *
job_of(struct request *r)
{
	return AB_CONTAINER(r, struct job, r);
}

/* action.c */
void action_run(struct world *w, void *action);

/* job.c */
void job_arrive(struct world *w, const struct action *a, unsigned i);
void job_leave(struct job *j);
void job_half_close(struct job *j);
void job_end(struct job *j, enum job_end end, int status);
void job_feed_more(struct job *j);
/* Byte `at` of its body. */
char job_body_byte(const struct job *j, uint64_t at);
const char *job_client(const struct job *j);

/* origin.c */
void origin_start(struct job *j, bool fresh);
void origin_discard(struct job *j);
void origin_abort(struct job *j);
void origin_relay(struct job *j);
void origin_send(struct try *t);
/* limit.c: the step that an upstream's own limit makes of it. */
void limit_judge(struct world *w, struct try *t);
void limit_over(struct world *w, struct try *t);

/* invariant.c */
void invariant_attempt(struct world *w, struct job *j);
void invariant_now(struct world *w);   /* between two moments */
void invariant_end(struct world *w);

#endif

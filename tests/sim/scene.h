/* SPDX-License-Identifier: MIT */
/*
 * scene: a scenario as it was written: what is set, what the upstreams will
 * do, what happens when, and what is expected. Read once, played once or, with
 * `fail every alloc`, many times.
 */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include "expect.h"
#include "settings.h"

#define SERVICES_MAX 16
#define NAME_BYTES   32
#define FIELDS_BYTES 1024

/* ---- what an upstream does with one attempt ---- */

#define STEP_LIST(X)                        \
	X(ANSWER, "")                       \
	X(REFUSED, "connect-refused")       \
	X(CONNECT_TIMEOUT, "connect-timeout") \
	X(CONNECT_HANG, "connect-hang")     \
	X(DNS_FAILED, "dns-failed")         \
	X(NO_NAME, "no-such-name")          \
	X(NO_FILES, "no-files")             \
	X(CERTIFICATE, "bad-certificate")   \
	X(NO_TLS, "no-tls")                 \
	X(PARENT, "parent-refuses")         \
	X(RESET_UNSENT, "reset-unsent")     \
	X(RESET, "reset")                   \
	X(HANG, "hang")                     \
	X(GARBAGE, "garbage")
enum step_kind {
#define X(id, text) STEP_##id,
	STEP_LIST(X)
#undef X
};

struct step {
	enum step_kind kind;
	int status;             /* ANSWER */
	int interim;            /* a 1xx before it, or 0 */
	int64_t after_us;       /* from the request's end to the answer */
	int64_t over_us;        /* how long its body takes */
	int64_t dial_us;        /* how long a connection takes to make */
	uint64_t body_bytes;
	char text[FIELDS_BYTES]; /* what the body is, where a rule may look at
	                         * it, or empty */
	bool chunked;
	bool cut;               /* its body breaks off */
	bool close;             /* the connection can't be used again */
	bool early;             /* it comes before the request's body */
	char fields[FIELDS_BYTES]; /* lines with CRLF */
};

enum limit_kind { LIMIT_NONE, LIMIT_BUCKET, LIMIT_WINDOW, LIMIT_CONCURRENCY };
enum limit_hint { LIMIT_HINT_NONE, LIMIT_HINT_FIXED, LIMIT_HINT_S, LIMIT_HINT_MS };

/* An upstream with a limit of its own. */
struct limit {
	enum limit_kind kind;
	int64_t count, per_us, burst;
	int status;             /* of refusals */
	enum limit_hint hint;   /* S, MS: the true wait */
	int64_t hint_us;        /* FIXED */
	int64_t after_us;       /* how long an answer takes, each */
	int64_t refuse_after_us;
	bool tells;             /* WINDOW: a success says what is left of it */
};

struct service_def {
	char name[NAME_BYTES];
	struct settings settings;
	struct step *steps;     /* owns; the last one repeats */
	unsigned nsteps;
	bool each;              /* every request has the script for itself */
	struct limit limit;
};

/* ---- what happens when ---- */

enum action_kind {
	ACTION_REQUESTS,
	ACTION_LEAVE,
	ACTION_HALF_CLOSE,
	ACTION_DRAIN,
	ACTION_RELOAD,
	ACTION_WALL,
	ACTION_HOLD,
	ACTION_RELEASE,
	ACTION_DISK,
	ACTION_LOOK,
};

struct action {
	enum action_kind kind;
	int line;
	int64_t at_us;
	int service;            /* index */
	int client;             /* REQUESTS: the first one's */
	/* REQUESTS */
	unsigned n, nclients;
	int64_t every_us;
	char method[NAME_BYTES];
	char key[NAME_BYTES];
	char path[NAME_BYTES];
	uint64_t body_bytes;
	int64_t body_over_us;
	int64_t tunnel_us;
	bool chunked;
	int urgency;            /* 0..7 */
	int64_t max_wait_ms;    /* -1: the policy's */
	int max_retries;        /* -1 */
	int engine;             /* -1: in turn */
	char fields[FIELDS_BYTES];
	/* DRAIN, HOLD: until; WALL: by how much */
	int64_t time_us;
	/* RELOAD */
	unsigned version;       /* of the settings, in struct scene */
	/* LOOK */
	unsigned expect;        /* index */
};

struct version {
	int service;
	struct settings settings; /* as written */
};

struct scene {
	const char *file;       /* borrows */
	unsigned engines;
	bool fine;              /* events fall between the milliseconds */
	double random;          /* < 0: drawn from seed */
	uint64_t seed;
	int64_t wall_ms;
	unsigned max_parked;
	uint64_t max_body_memory;
	uint64_t disk_bytes;
	bool fail_allocs;
	struct service_def services[SERVICES_MAX];
	int nservices;
	struct version *versions; /* owns; of reloads */
	unsigned nversions;
	struct action *actions; /* owns */
	unsigned nactions;
	struct expect *expects; /* owns */
	unsigned nexpects;
	char (*clients)[NAME_BYTES]; /* owns */
	unsigned nclients;
};

/* Ends the program on a mistake. */
void scene_load(struct scene *s, const char *file);
void scene_free(struct scene *s);

int scene_service(const struct scene *s, struct words *w); /* takes a name */
int scene_client(struct scene *s, const char *name);       /* made when new */
/* The n-th of many nameless ones: "c1" ... */
int scene_crowd(struct scene *s, unsigned n);

/* One more at the end of an array that malloc gave. */
void *scene_grow(void *v, unsigned n, size_t size);

/* scene_upstream.c: what follows "upstream NAME" and "limit NAME". */
void scene_steps(struct scene *s, struct service_def *d, struct words *w);
void scene_limit(struct service_def *d, struct words *w);
/* scene_action.c: what follows "at". */
void scene_action(struct scene *s, struct words *w, const char *line);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * expect: what a scenario says must have come true, at its end or at a moment.
 */
#ifndef SIM_EXPECT_H
#define SIM_EXPECT_H

#include "policy/verdict.h"
#include "words.h"

struct scene;
struct world;

#define EXPECT_LIST_MAX 64

enum expect_kind {
	EXPECT_ATTEMPTS,    /* how many */
	EXPECT_ATTEMPT,     /* the n-th: when */
	EXPECT_ANSWER,      /* what the clients got */
	EXPECT_GONE,        /* clients that left */
	EXPECT_REASON,      /* why it was given up */
	EXPECT_MAX_RATE,
	EXPECT_PACE,
	EXPECT_MAX_CONCURRENT,
	EXPECT_ORDER,
	EXPECT_STARTS,      /* of which client, in order */
	EXPECT_BURSTS,      /* how many start together, one burst after another */
	EXPECT_WAITED,
	EXPECT_STATUSES,    /* of the upstream, as the log would list them */
	EXPECT_CONNECTIONS,
	EXPECT_END,
	EXPECT_COUNTER,
	EXPECT_RECEIVED,    /* body bytes that reached a client */
	EXPECT_HEADER,      /* a line of the relayed answer */
	EXPECT_PARKED,
	EXPECT_STATE,
};

enum expect_source { SOURCE_ANY, SOURCE_RELAYED, SOURCE_OWN, SOURCE_CUT };

struct expect {
	int line;
	char *text;         /* owns: the line as it was written */
	bool negated;
	bool is_look;       /* asked at a moment, not at the end */
	enum expect_kind kind;
	enum expect_source source;
	struct range value; /* of what is counted or timed */
	/* ANSWER */
	int status;
	bool has_count, has_why, has_at, has_retry;
	struct range count, at, retry_after;
	enum give_up why;
	/* MAX_RATE, PACE */
	int64_t limit, per_us;
	struct bucket_rate rate;
	bool within_client; /* ORDER */
	int wait;           /* WAITED: an enum wait_why, -1: all */
	unsigned nth;       /* ATTEMPT, from 1 */
	char name[128];     /* HEADER, COUNTER, STATE */
	int64_t list[EXPECT_LIST_MAX]; /* STARTS, BURSTS, STATUSES */
	unsigned nlist;
	/* Which requests and attempts it is about. */
	int client, service; /* -1: all */
	int64_t since_us, until_us;
};

void expect_parse(struct expect *x, struct scene *s, struct words *w,
    const char *line);
void expect_free(struct expect *x);
/* Says so where it is not so; counts as a fault of the world. */
void expect_check(struct world *w, const struct expect *x);

#endif

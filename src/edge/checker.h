/* SPDX-License-Identifier: MIT */
/*
 * checker: checks passwords on threads of its own, because a hash takes up to a
 * second and an event loop has none to spare. It remembers what it found out.
 *
 * The memory is by HMAC-SHA256, with a key of this process, over the user, the
 * password and the hash that it is checked against: passwords are kept while
 * they wait to be checked and no longer, and what a reload changes in a user's
 * line is never answered from memory, while all else still is.
 *
 * Bounded: checks that wait, in all and of one client address; what is
 * remembered, right and wrong ones apart, so that guessing pushes nobody out.
 * Between addresses the queue is fair: one check each, in turn.
 *
 * Any thread may call; an owner is a thread that asks, known by its number.
 */
#ifndef AB_CHECKER_H
#define AB_CHECKER_H

#include "auth.h"
#include "base/list.h"

#define CHECKER_QUEUE_MAX     4096 /* checks that wait */
#define CHECKER_QUEUE_WHO_MAX 256  /* of one address */
#define CHECKER_KNOWN_MAX     4096 /* right ones; and as many wrong ones */

enum check_result {
	CHECK_WAIT, /* being checked */
	CHECK_YES,
	CHECK_NO,   /* wrong password, or no such user */
	CHECK_BUSY, /* too many wait, it took too long, or no memory */
};

struct checker;
struct check;

struct checker_cfg {
	unsigned owners;
	unsigned threads; /* started when there is something to check; 0: the
	                   * caller does it all, with checker_work */
	/* Tells an owner that checker_next has something for it. Called by any
	 * thread with the checker locked: it must not call back. */
	void (*wake)(void *arg, unsigned owner);
	void *arg;
};

/* One who waits for a result. */
struct check_wait {
	struct list link;    /* of the check, or of what its owner fetches */
	struct check *check; /* NULL: it is done; shared with all who ask the same */
	enum check_result result;
	unsigned owner;
	void *arg;           /* of who asked */
};

struct check_ask {
	struct auth *auth;
	struct span user, password; /* without NUL */
	uint64_t who;               /* hash of the client's address */
	unsigned owner;
	void *arg;
};

/* NULL: no memory or no random numbers. cfg is copied. */
AB_MUST struct checker *checker_new(const struct checker_cfg *cfg);
/* Waits for the checks that run. Nobody may be waiting any more. Takes NULL. */
void checker_free(struct checker *k);

/*
 * Is this user's password right? CHECK_WAIT: not known yet; the owner will be
 * woken, and *ret is the caller's until checker_leave. Any other answer is
 * final, and *ret untouched.
 */
AB_MUST enum check_result checker_ask(struct checker *k,
    const struct check_ask *ask, struct check_wait **ret);
/* The next of an owner's waits that has a result; NULL: none. */
struct check_wait *checker_next(struct checker *k, unsigned owner);
/* It waits no longer: where it had no result, that is CHECK_BUSY now. What
 * nobody else waits for is not checked. */
void checker_give_up(struct checker *k, struct check_wait *w);
/* The same, and it is freed. Takes NULL. */
void checker_leave(struct checker *k, struct check_wait *w);

/* Checks one password on this thread; false: none is queued. */
bool checker_work(struct checker *k);
/* For tests: results that are remembered, and checks not begun. */
size_t checker_known(struct checker *k);
size_t checker_queued(struct checker *k);

#endif

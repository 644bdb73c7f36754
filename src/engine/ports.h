/* SPDX-License-Identifier: MIT */
/*
 * ports: the engine's only way out. Edge fills this table with sockets and
 * files; tests/sim fills it with a script and a virtual clock.
 *
 * start, relay, answer, want_body and parked may call back into the engine
 * before they return (a connect that is refused at once): the engine calls them
 * last and touches nothing after. The others never call back.
 */
#ifndef AB_PORTS_H
#define AB_PORTS_H

#include "base/span.h"
#include "policy/reading.h"

struct engine;
struct request;

/* An answer that abided makes itself. */
struct answer {
	int status;
	enum give_up why;
	int64_t retry_after_ms; /* < 0: waiting would not help */
};

/* What a script is told of a refusal (strategy = custom). */
struct custom_ctx {
	const struct head *head;      /* the refusal; borrows, as all here */
	const struct body_view *body; /* its beginning, if policy.script_body */
	unsigned attempt;             /* tries made, this one included */
	int64_t wall_ms;              /* now, since the epoch */
	int64_t waited_ms;            /* in all, so far */
	int64_t deadline_ms;          /* left until the deadline, >= 0 */
	int64_t hint_ms;              /* <= 0: the answer has none */
	int64_t backoff_ms;           /* what own back-off would be */
};

struct ports {
	/*
	 * Begins an attempt: a connection to the request's upstream (`fresh`:
	 * not an idle one) and the request on it. Reports, in this order,
	 * request_connected, request_sent, request_got_head; or at any point
	 * request_failed. For CONNECT: request_connected, then the tunnel.
	 */
	void (*start)(struct request *r, bool fresh);
	/* The answer in hand is to be thrown away: drained within limits so
	 * that the connection can serve again, or closed. Also without an
	 * answer: the connection has just been made, and is not needed. */
	void (*discard)(struct request *r);
	/* Closes the upstream side, whatever it does. */
	void (*abort)(struct request *r);
	/* Sends the answer in hand on to the client; from here on the request
	 * is committed. Reports request_relayed or request_cut. */
	void (*relay)(struct request *r);
	/* Sends an answer of our own. Reports request_answered. */
	void (*answer)(struct request *r, const struct answer *a);
	/* An answer can't be finished: both sides close, and the client sees
	 * that it was cut. */
	void (*cut)(struct request *r);
	/* The rest of the client's body may come (answers Expect). Reports
	 * request_body_done or request_body_over. */
	void (*want_body)(struct request *r);
	/* The request waits now, or waits for something else: for the log. */
	void (*parked)(struct request *r);
	/* The request is over: log it and free it. At the end of a turn. */
	void (*reap)(struct request *r);

	/*
	 * Asks the script of the request's policy how long to wait. 0 and
	 * *ret: OWN (its ms does not count), WAIT or GIVE_UP; or -1: it
	 * failed, which was logged. No lock is held.
	 */
	int (*custom)(struct request *r, const struct custom_ctx *c,
	    struct custom_wait *ret);

	/* Uniform in [0, 1). */
	double (*random)(struct engine *e);
	/* Wall clock, ms since the epoch. */
	int64_t (*wall_ms)(struct engine *e);
	/* Makes e's own thread call engine_turn soon. Called from any thread,
	 * also with a key's lock held: must not call back. */
	void (*wake)(struct engine *e);

	/* The replay buffer's file: unlinked, ours alone. */
	int (*spill_open)(struct engine *e);       /* handle >= 0, or -1 */
	int (*spill_write)(struct engine *e, int fd, const void *p, size_t n,
	    uint64_t at);                          /* 0, or -1 */
	int (*spill_read)(struct engine *e, int fd, void *p, size_t n,
	    uint64_t at);                          /* 0, or -1 */
	void (*spill_close)(struct engine *e, int fd);
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * request: one client request from its head to its last byte, as the engine
 * sees it. Edge embeds it in what it knows of sockets.
 *
 *   READING -> WAITING -> CONNECTING -> SENDING -> AWAITING -> RELAYING -> GONE
 *                 ^           |            |           |
 *                 +-----------+------------+-----------+  RETRY
 *   any -> ANSWERING -> GONE         CONNECTING, AWAITING -> TUNNELING -> GONE
 *
 * state = the list it is in; request_move alone changes both.
 */
#ifndef AB_REQUEST_H
#define AB_REQUEST_H

#include "base/clock.h"
#include "base/log.h"
#include "body.h"
#include "engine.h"
#include "policy/reading.h"

#define REQUEST_STATUSES_MAX 8 /* upstream statuses kept for the log */

/* Where a request stands with its key; written under the key's lock. */
enum grant {
	GRANT_NONE,   /* not asked */
	GRANT_LINE,   /* in line */
	GRANT_MAIL,   /* admitted, or refused, and on its way to its engine */
	GRANT_HELD,   /* has a slot and a ticket */
};

struct request {
	struct list link;  /* in engine->in[state] */
	struct list mail;  /* in engine->mail or ->ready */
	enum request_state state;
	struct engine *engine;       /* shared */
	struct key *key;             /* a reference */
	const struct policy *policy; /* borrows until GONE */
	struct timer timer;          /* the next thing that ends the state */

	/* With the key, under its lock. */
	struct line_entry entry;
	_Atomic enum grant grant;    /* its own engine looks without the lock */
	bool refused;                /* the mail says: your wait can't end in time, */
	bool moved;                  /* or: it goes on with another key */
	struct ticket ticket;
	uint64_t start;              /* its number in the key's quota */
	int64_t patience_ms;         /* in line: until when it may wait for a quota */
	bool hasty;                  /* that is too short: it does not */
	bool learned;                /* the ticket's outcome is known to the key */
	bool adapting;               /* key->adapt waits for its outcome */
	int64_t held_ms[WAIT_WHY_COUNT]; /* key->held_ms when it entered */

	/* What it is. */
	uint64_t id;
	uint64_t print;              /* hash of who asks for what; 0: not told */
	struct copies_print *copy;   /* WAITING, with a print: of group->copies */
	unsigned stacked;            /* how many copies of it waited as it came */
	uint64_t base;               /* id of the key that it would have without a
	                              * bucket */
	uint64_t route;              /* whose bucket is learned, 0: none is */
	bool connect;                /* CONNECT: a tunnel */
	bool repeatable;
	bool has_body;
	bool signature_bound;
	unsigned max_retries;
	int64_t max_wait_ms;
	int64_t start_ms;            /* head received */
	int64_t deadline_ms;
	int64_t expires_ms;          /* by its own word; TIMER_NEVER: it does not */
	struct body body;

	/* What has happened. */
	unsigned attempts, retries, resets;
	bool fresh;                  /* rule 14 has been used on this attempt */
	bool starved;                /* SENDING: all that came from the client has
	                              * gone on, and it owes more */
	bool answer_in_hand;         /* a response head waits for the verdict */
	bool dry_waited;             /* dry_run: it would have waited */
	int64_t waited_ms[WAIT_WHY_COUNT];
	int64_t wait_began_ms;       /* WAITING: since when */
	int64_t own_until_ms;        /* WAITING: a back-off of its own, or 0 */
	enum wait_why why;           /* WAITING: as last reported */
	short statuses[REQUEST_STATUSES_MAX];
	unsigned nstatuses;          /* answers seen, may exceed the array */
	int last_status;             /* of them, 0: none */
	int last_throttled;          /* status, 0: none */
	int64_t first_attempt_ms, head_ms; /* -1: not yet; head of the final answer */
	enum give_up gave_up;
	int answered;                /* own answer's status, 0: none */
};

/*
 * A request whose head has just come in, in READING; takes over a reference to
 * `key`. Limits come from the policy; the caller then sets connect, repeatable,
 * has_body and may lower max_retries and max_wait_ms.
 * client: hash of whom it is for; urgency: 0..7 (RFC 9218).
 */
void request_init(struct request *r, struct engine *e, struct key *key,
    const struct policy *policy, uint64_t client, uint8_t urgency);
/* It carries an expiry of its own, so long from now (rule 17); before it begins. */
void request_expires(struct request *r, int64_t left_ms);
/* The same request has always the same print, a keyed hash that is not 0. Notes
 * how many copies of it wait already; before it begins. */
void request_printed(struct request *r, uint64_t print);
/* What it holds; it must be GONE, or never have begun. */
void request_clear(struct request *r);

/* Events. Each may end in a call of a port. Order: see ports.h. */
void request_begin(struct request *r);       /* the head is in */
void request_body_done(struct request *r);   /* body.complete is set */
void request_body_over(struct request *r);   /* body.once is set */
/* reused: by an idle connection, at once. False: the attempt is off, since its
 * key has been shut meanwhile; the connection was discarded. */
AB_MUST bool request_connected(struct request *r, bool reused);
void request_sent(struct request *r);
/*
 * How much of an answer's body has to be looked at before it can be judged: up
 * to `bytes` (0: nothing) without its transfer coding, or its first event, and
 * for no longer than ms.
 */
struct look {
	size_t bytes;
	int64_t ms;
	bool event; /* an event stream: its first event is enough */
};
struct look request_look(const struct request *r, const struct head *h);
/* A final response head: any but 1xx, and 101. body: as much of it as
 * request_look asked for. */
void request_got_head(struct request *r, const struct head *h,
    const struct body_view *body, bool reused);
void request_failed(struct request *r, const struct attempt *a);
void request_relayed(struct request *r);
void request_cut(struct request *r);         /* the upstream broke off while relaying */
void request_tunnel(struct request *r);      /* CONNECT stands, or 101 was relayed */
void request_closed(struct request *r);      /* the tunnel is over */
void request_answered(struct request *r);
void request_gone(struct request *r);        /* the client left */
/* Ends it with an answer of our own; from RELAYING on it is cut instead. */
void request_give_up(struct request *r, int status, enum give_up why);
/* Bytes moved: the idle time starts anew. */
void request_progress(struct request *r);

/* The latest time at which its waiting ends. */
int64_t request_limit_ms(const struct request *r);
/* What ends it is the drain, not its deadline. */
static inline bool
request_drains(const struct request *r)
{
	return request_limit_ms(r) < r->deadline_ms;
}
/* Its attempt takes as long as its client's uplink. */
static inline bool
request_streams(const struct request *r)
{
	return r->has_body && r->body.once != BODY_WHOLE && !r->body.complete;
}
/* ms waited in all, parked time included. */
int64_t request_waited_ms(const struct request *r);

/* Internal to the engine. */
void request_count_down(struct request *r); /* its deadline begins now */
void request_move(struct request *r, enum request_state to);
void flow_start(struct request *r);   /* begin the attempt */
void flow_admitted(struct request *r); /* in line, and its turn has come */
void flow_refused(struct request *r); /* in line, and the key shut too long */
void flow_timeout(struct request *r); /* its timer fired */
void flow_drain(struct request *r);   /* WAITING, and the engine drains now */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * upstream: one connection to an origin, from the dial to its end. It carries
 * one exchange at a time.
 *
 *   DIALING -> BUSY -> IDLE (pool) -> BUSY ...    TUNNEL
 *                 \-> DRAINING -> IDLE or DEAD      any -> DEAD
 */
#ifndef AB_UPSTREAM_H
#define AB_UPSTREAM_H

#include "chan.h"
#include "dial.h"
#include "exchange.h"
#include "peek.h"
#include "proto/chunked.h"
#include "proto/connect.h"

#define UPSTREAM_DRAIN_BYTES (64 * 1024) /* rule 13 */
#define UPSTREAM_DRAIN_MS    1000
#define UPSTREAM_INTERIM_MAX 64          /* 1xx answers of one attempt */

enum upstream_state {
	UPSTREAM_DIALING,
	UPSTREAM_BUSY,
	UPSTREAM_DRAINING,
	UPSTREAM_IDLE,
	UPSTREAM_TUNNEL,
	UPSTREAM_DEAD,
};

/* DIALING: how far it has come. */
enum upstream_step {
	UPSTREAM_TCP,
	UPSTREAM_PARENT, /* CONNECT to the parent proxy */
	UPSTREAM_TLS,    /* the handshake */
};

struct upstream {
	struct corpse corpse;
	struct list link;        /* in worker.upstreams */
	struct again again;
	struct worker *worker;   /* shared */
	enum upstream_state state;
	enum upstream_step step;
	struct exchange *x;      /* BUSY, DIALING, TUNNEL */
	struct chan chan;
	struct dial *dial;       /* owns; DIALING only */
	struct way way;
	struct timer timer;      /* IDLE, DRAINING */

	/* Where it leads. */
	struct conf *conf;       /* a reference; by whose rules it was dialled */
	const struct conf_service *service; /* of conf */
	bool tls;
	struct connect_answer asked; /* step PARENT */
	struct tls_keeper keeper; /* of its TLS sessions */
	uint64_t place;
	char *host;              /* owns */
	uint16_t port;
	struct list in_pool;     /* pool.idle */
	struct list in_host;     /* pool_host.idle */
	struct pool_host *pool_host; /* shared while in the pool */

	/* The request being sent. */
	size_t head_at;          /* bytes of exchange.send gone */
	uint64_t body_at;        /* stored body bytes handed to `out` */
	bool body_ended;         /* the last byte was handed to `out` */
	bool sent_any, sent_all;
	bool send_broken;        /* takes no more; an answer may still come */
	struct outbuf out;

	/* The answer being received. */
	bool got_any;            /* a byte of it, or of a 1xx before it */
	bool got_head;           /* a final one, and it was judged */
	struct peek *peek;       /* owns; a head is in, and its body is looked at
	                          * before it is judged; both are in `in` */
	bool no_trailer;         /* its trailer may not pass */
	bool keep;               /* may serve again after this answer */
	unsigned served;         /* answers before this one */
	unsigned interims;
	size_t in_n, in_cap;
	struct head_scan scan;
	char *in;                /* owns; an incomplete head */
	struct strbuf held;      /* 1xx heads until the attempt is delivered */
	struct framing framing;
	uint64_t left;           /* FRAMING_LENGTH: bytes to come */
	struct chunked chunked;
	uint64_t drained;
	int64_t keep_ms;         /* how long it may idle */
};

/* Begins the attempt of x: an idle connection unless fresh, else a dial. */
void upstream_start(struct exchange *x, bool fresh);
/* The exchange wants no more of it: closes. */
void upstream_close(struct upstream *u);
/* The answer is thrown away: rule 13. Without one: nothing has been sent. */
void upstream_discard(struct upstream *u);
/* The client took what waited: reads on. */
void upstream_resume(struct upstream *u);
/* Idle until keep_ms is over. Called by whoever finished with it. */
void upstream_to_pool(struct upstream *u);
void upstream_look_again(struct again *a);
/* The connection is made, through proxies and handshakes: see reach.h. */
void upstream_reached(struct upstream *u);

/* Between the upstream's own files. */
void upstream_receive(struct upstream *u); /* BUSY or DRAINING: reads on */
/* Its body has been looked at for long enough: the answer is judged. */
void upstream_peek_over(struct upstream *u);
/* The connection ended while it was. */
void upstream_peek_eof(struct upstream *u, bool clean);
/* The attempt ends without an answer: closes and reports. */
void upstream_fail(struct upstream *u, enum attempt_end end);
/* The same with more to say; what was sent is filled in. */
void upstream_ended(struct upstream *u, struct attempt *a);
/* Its timer, in so many ms. 0, or -1 no memory. */
AB_MUST int upstream_timer(struct upstream *u, int64_t ms);
/* Room for `cap` bytes in u->in. 0 or -1. */
AB_MUST int upstream_room(struct upstream *u, size_t cap);
/* The connection ended; clean: by a FIN. */
void upstream_eof(struct upstream *u, bool clean);
/* DRAINING is over: to the pool, or closed. */
void upstream_drained(struct upstream *u);

#endif

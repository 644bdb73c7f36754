/* SPDX-License-Identifier: MIT */
/*
 * dial: from a host and port to a connected socket. Resolves, checks each
 * address against the caller's rule, then tries all addresses with staggered
 * starts (RFC 8305 5: the next one 250 ms after the last, or as soon as one
 * failed); the first to connect wins, the others are closed.
 *
 *	IDLE -> RESOLVING -> CONNECTING -> DONE -> IDLE
 */
#ifndef AB_DIAL_H
#define AB_DIAL_H

#include "resolve.h"

#define DIAL_STAGGER_MS  250
#define DIAL_SOCKETS_MAX 4 /* under way at once */
/* With all of them silent the oldest makes room for an address not yet tried,
 * once it had this long: its first SYN and the one sent again after 1 s. */
#define DIAL_PATIENCE_MS 2500

enum dial_error {
	DIAL_OK,
	DIAL_NO_NAME,  /* the name does not exist */
	DIAL_DNS,      /* the name could not be looked up now */
	DIAL_DENIED,   /* the rule allows none of its addresses */
	DIAL_REFUSED,  /* no address could be connected to */
	DIAL_NO_FILES, /* EMFILE, ENFILE, ENOBUFS, or no local port */
	DIAL_NO_MEMORY,
};

struct dialer { /* per worker; borrows all */
	struct event_base *base;
	struct timers *timers;
	const int64_t *now_ms;
	struct resolver *resolver;
	/* May we connect there? arg: of the dial. */
	bool (*allowed)(const struct sockaddr *sa, void *arg);
};

struct dial_socket {
	struct dial *dial; /* the dial it is part of */
	int fd;            /* owns; -1: free */
	int64_t since_ms;  /* when it was begun */
	struct event ev;
};

enum dial_state {
	DIAL_IDLE, /* not begun, cancelled, or over */
	DIAL_RESOLVING,
	DIAL_CONNECTING,
	DIAL_DONE, /* `done` is to be called */
};

struct dial { /* DIAL_IDLE when zeroed */
	enum dial_state state;
	struct dialer *dialer; /* borrows */
	struct resolve_query query;
	struct resolve_addrs *addrs; /* a reference, or NULL */
	unsigned next;               /* the next address to try */
	uint16_t port;
	bool any_allowed;
	int err_no;          /* of the address that failed last, see dial.c */
	struct timer wake;   /* CONNECTING: when to try the next address */
	struct dial_socket sockets[DIAL_SOCKETS_MAX];
	struct event report; /* calls `done` */
	int fd;              /* DONE: owns; -1: none */
	enum dial_error err; /* DONE */
	void *arg;
	/*
	 * Called once, unless cancelled, from the event loop; never from
	 * dial_start itself. It may free or reuse the dial. fd: non-blocking,
	 * close-on-exec, TCP_NODELAY set, now the callee's; -1 on an error.
	 * err_no: of DIAL_REFUSED and DIAL_NO_FILES, else 0.
	 */
	void (*done)(struct dial *d, int fd, enum dial_error err, int err_no);
};

/*
 * There is no time limit here but the resolver's: the caller has one. `host`
 * is read during the call only. The dial must be idle.
 */
void dial_start(struct dial *d, struct dialer *dialer, const char *host,
    uint16_t port, void *arg,
    void (*done)(struct dial *d, int fd, enum dial_error err, int err_no));
void dial_cancel(struct dial *d); /* fine when idle */

#endif

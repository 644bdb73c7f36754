/* SPDX-License-Identifier: MIT */
/*
 * chan: one socket, registered once, edge-triggered, for its whole life: no
 * epoll_ctl per request. What became possible is remembered in `readable` and
 * `writable` until a call finds it used up.
 *
 * With a TLS session (tls.h) the same functions move what it carries.
 *
 * Why one event with EV_CLOSED|EV_READ|EV_ET: it alone shows both a FIN and a
 * RST of a client whose data we don't want to read yet, and does not spin.
 */
#ifndef AB_CHAN_H
#define AB_CHAN_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/uio.h>

#include "base/span.h"

struct tls;

#define CHAN_AGAIN (-1) /* nothing now; `ready` will be called */
#define CHAN_ERROR (-2) /* the connection is broken: errno */

struct chan {
	int fd;        /* owns; -1: closed */
	struct event ev;
	bool readable; /* a read may give something */
	bool unsure;   /* the last read came short: no data, but perhaps a RST */
	bool writable;
	bool fin;      /* the peer has shut down its side; data may be left */
	bool ending;   /* chan_shutdown was called, and not all has gone */
	struct tls *tls; /* owns; NULL: plain */
	void (*ready)(struct chan *c);
	/* Asks for a call of `ready` with no event: more may be there than was
	 * looked at. NULL: all is looked at, however long it takes. */
	void (*later)(struct chan *c);
};

/* Takes over fd (non-blocking). 0, or -1: it is closed and c->fd is -1. */
AB_MUST int chan_open(struct chan *c, struct event_base *base, int fd,
    void (*ready)(struct chan *c));
void chan_close(struct chan *c); /* fine when closed */
/* Closes with a RST: the peer must not take what it got for the whole. */
void chan_reset(struct chan *c);
/* Whatever ends it from now on is no clean end: TLS says no goodbye. */
void chan_cut(struct chan *c);

/* > 0: bytes; 0: end of stream; CHAN_AGAIN; CHAN_ERROR. */
ssize_t chan_read(struct chan *c, void *p, size_t n);
/* >= 0: bytes written, fewer than asked: wait for `ready`; CHAN_ERROR. */
ssize_t chan_writev(struct chan *c, const struct iovec *v, int n);
/* Looks without reading. > 0: data is there; 0: end; CHAN_AGAIN; CHAN_ERROR. */
int chan_peek(struct chan *c);
/* The same with bytes, of a plain connection: copies up to n that a read will
 * give again. > 0: bytes. */
ssize_t chan_look(struct chan *c, void *p, size_t n);
/* No more from us. False: the socket has no room for the words that TLS has for
 * it; they follow as soon as it has, before `ready` is called. */
bool chan_shutdown(struct chan *c);
/* A read may give something, from the socket or from what is buffered. */
bool chan_has_input(const struct chan *c);

/* For tls.c: the socket itself; as chan_read and chan_writev of a plain one. */
ssize_t chan_wire_read(struct chan *c, void *p, size_t n);
ssize_t chan_wire_writev(struct chan *c, const struct iovec *v, int n);

#endif

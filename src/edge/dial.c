/* SPDX-License-Identifier: MIT */
/*
 * dial.c: which address is tried when, and which socket wins.
 *
 * Decides the order and the pace of connecting and which failure is reported.
 * It refuses to know who may go where (the dialer's rule), how long the caller
 * wants to wait, and what the connection is for.
 *
 *	an address is tried    at once while none is under way,
 *	                       when one under way failed,
 *	                       DIAL_STAGGER_MS after the last one,
 *	                       when all sockets are silent, in place of the oldest
 *
 * Outcomes are reported by an event of their own, made active by hand: that
 * takes no memory, and nothing of a dial is on the stack when `done` frees it.
 */
#include "edge/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/clock.h"

/* No descriptor, memory or port here: other addresses won't fare better. */
static bool
is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS ||
	    err == ENOMEM || err == EAGAIN;
}

static bool
is_no_way(int err)
{
	return err == ENETUNREACH || err == EHOSTUNREACH || err == EAFNOSUPPORT;
}

/* What a peer said is worth more than that a family has no way there. */
static void
note(struct dial *d, int err)
{
	if (d->err_no == 0 || !is_no_way(err))
		d->err_no = err;
}

/* --- the end -------------------------------------------------------------- */

static void
socket_close(struct dial_socket *s)
{
	event_del(&s->ev);
	(void)close(s->fd);
	s->fd = -1;
}

/* Lets go of all that the dial holds but its result. */
static void
let_go(struct dial *d)
{
	resolve_cancel(&d->query);
	timer_stop(d->dialer->timers, &d->wake);
	resolve_addrs_put(d->addrs);
	d->addrs = NULL;
	for (unsigned i = 0; i < DIAL_SOCKETS_MAX; i++) {
		if (d->sockets[i].fd >= 0)
			socket_close(&d->sockets[i]);
	}
}

static void
finish(struct dial *d, int fd, enum dial_error err)
{
	let_go(d);
	d->fd = fd;
	d->err = err;
	d->state = DIAL_DONE;
	event_active(&d->report, EV_TIMEOUT, 0);
}

static void
report(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;

	(void)fd;
	(void)what;
	d->state = DIAL_IDLE;
	d->done(d, d->fd, d->err,
	    d->err == DIAL_REFUSED || d->err == DIAL_NO_FILES ? d->err_no : 0);
}

/* No address is left, none is under way. */
static void
finish_failed(struct dial *d)
{
	if (!d->any_allowed)
		finish(d, -1, DIAL_DENIED);
	else if (is_shortage(d->err_no) || d->err_no == EADDRNOTAVAIL)
		finish(d, -1, DIAL_NO_FILES);
	else
		finish(d, -1, DIAL_REFUSED);
}

void
dial_cancel(struct dial *d)
{
	if (d->state == DIAL_IDLE)
		return;
	let_go(d);
	if (d->state == DIAL_DONE) {
		event_del(&d->report);
		if (d->fd >= 0)
			(void)close(d->fd);
	}
	d->state = DIAL_IDLE;
}

/* --- one address ---------------------------------------------------------- */

/*
 * A connection to a free port of this host may meet itself: TCP's simultaneous
 * open, when that port happens to be chosen for our end. Nobody is there then.
 */
static bool
is_own_echo(int fd)
{
	struct sockaddr_storage ours, theirs;
	socklen_t n = sizeof(ours), m = sizeof(theirs);

	memset(&ours, 0, sizeof(ours));
	memset(&theirs, 0, sizeof(theirs));
	if (getsockname(fd, (struct sockaddr *)&ours, &n) != 0 ||
	    getpeername(fd, (struct sockaddr *)&theirs, &m) != 0)
		return false;
	return n == m && memcmp(&ours, &theirs, n) == 0;
}

/* 0: connected. Else why not. */
static int
outcome_of(int fd)
{
	int err = 0;
	socklen_t n = sizeof(err);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) != 0)
		return errno;
	return err == 0 && is_own_echo(fd) ? ECONNREFUSED : err;
}

/* Soon, and not from within this event: its turn's time may not be read yet. */
static void try_soon(struct dial *d);

/* The socket is connected, or not to be. */
static void
settled(evutil_socket_t fd, short what, void *arg)
{
	struct dial_socket *s = arg;
	struct dial *d = s->dial;
	int err = outcome_of(fd);

	(void)what;
	if (err != 0) {
		socket_close(s);
		note(d, err);
		try_soon(d);
		return;
	}
	event_del(&s->ev);
	s->fd = -1; /* the winner is nobody's to close */
	finish(d, fd, DIAL_OK);
}

static void
address_of(const struct dial *d, unsigned i, struct resolve_addr *ret)
{
	*ret = d->addrs->v[i];
	if (ret->sa.ss_family == AF_INET)
		((struct sockaddr_in *)&ret->sa)->sin_port = htons(d->port);
	else
		((struct sockaddr_in6 *)&ret->sa)->sin6_port = htons(d->port);
}

/* 0: under way in s. Else errno, and s is free. */
static int
socket_open(struct dial_socket *s, const struct resolve_addr *to,
    int64_t now_ms)
{
	int on = 1, err;

	s->fd = socket(to->sa.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (s->fd < 0)
		return errno;
	s->since_ms = now_ms;
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	event_assign(&s->ev, s->dial->dialer->base, s->fd, EV_WRITE, settled,
	    s);
	/* Also when it is connected already: the event says so. */
	if (connect(s->fd, (const struct sockaddr *)&to->sa, to->len) != 0 &&
	    errno != EINPROGRESS && errno != EINTR)
		err = errno;
	else
		err = event_add(&s->ev, NULL) != 0 ? ENOMEM : 0;
	if (err != 0)
		socket_close(s);
	return err;
}

/* --- all addresses -------------------------------------------------------- */

/* A free place, or NULL; *ret_oldest: the one begun first, or NULL. */
static struct dial_socket *
free_place(struct dial *d, struct dial_socket **ret_oldest)
{
	struct dial_socket *place = NULL, *oldest = NULL;

	for (unsigned i = 0; i < DIAL_SOCKETS_MAX; i++) {
		struct dial_socket *s = &d->sockets[i];

		if (s->fd < 0)
			place = s;
		else if (oldest == NULL || s->since_ms < oldest->since_ms)
			oldest = s;
	}
	*ret_oldest = oldest;
	return place;
}

/* Begins one more address, of those left; false: none could be begun. */
static bool
begin_next(struct dial *d, struct dial_socket *place, int64_t now_ms)
{
	while (d->next < d->addrs->n) {
		struct resolve_addr to;
		int err;

		address_of(d, d->next++, &to);
		if (!d->dialer->allowed((struct sockaddr *)&to.sa, d->arg))
			continue;
		d->any_allowed = true;
		err = socket_open(place, &to, now_ms);
		if (err == 0)
			return true;
		/* What a host says whose IPv6 is turned off. */
		if (err == EADDRNOTAVAIL && to.sa.ss_family == AF_INET6)
			err = ENETUNREACH;
		note(d, err);
		if (is_shortage(err)) {
			d->next--; /* worth another try when one was closed */
			return false;
		}
	}
	return false;
}

/*
 * One step; afterwards the dial is over or something will wake it: a socket, or
 * the timer. Without memory for the timer addresses wait for a socket to fail.
 */
static void
try_next(struct dial *d, int64_t now_ms)
{
	struct dial_socket *oldest, *place = free_place(d, &oldest);
	int64_t at_ms = clock_add(now_ms, DIAL_STAGGER_MS);

	if (place == NULL) {
		at_ms = clock_add(oldest->since_ms, DIAL_PATIENCE_MS);
		if (now_ms >= at_ms && d->next < d->addrs->n) {
			note(d, ETIMEDOUT);
			socket_close(oldest);
			place = oldest;
			at_ms = clock_add(now_ms, DIAL_STAGGER_MS);
		}
	}
	if (place != NULL && !begin_next(d, place, now_ms) && oldest == NULL) {
		finish_failed(d);
		return;
	}
	if (d->next < d->addrs->n)
		(void)!timer_arm(d->dialer->timers, &d->wake, at_ms);
}

static void
woken(struct timer *t, int64_t now_ms)
{
	try_next(AB_CONTAINER(t, struct dial, wake), now_ms);
}

static void
try_soon(struct dial *d)
{
	int64_t now_ms = *d->dialer->now_ms;

	if (timer_arm(d->dialer->timers, &d->wake, now_ms) != 0)
		try_next(d, now_ms);
}

static void
connect_to(struct dial *d, struct resolve_addrs *addrs)
{
	d->addrs = addrs;
	d->state = DIAL_CONNECTING;
	try_next(d, *d->dialer->now_ms);
}

/* --- the beginning -------------------------------------------------------- */

static enum dial_error
error_of(enum resolve_error err)
{
	switch (err) {
	case RESOLVE_OK:
		break;
	case RESOLVE_NO_NAME:
		return DIAL_NO_NAME;
	case RESOLVE_FAILED:
		return DIAL_DNS;
	case RESOLVE_NO_MEMORY:
		return DIAL_NO_MEMORY;
	}
	return DIAL_OK;
}

static void
resolved(struct resolve_query *q, enum resolve_error err,
    struct resolve_addrs *addrs)
{
	struct dial *d = AB_CONTAINER(q, struct dial, query);

	if (err != RESOLVE_OK)
		finish(d, -1, error_of(err));
	else
		connect_to(d, addrs);
}

void
dial_start(struct dial *d, struct dialer *dialer, const char *host,
    uint16_t port, void *arg,
    void (*done)(struct dial *d, int fd, enum dial_error err, int err_no))
{
	struct resolve_addrs *addrs;
	enum resolve_error err;

	*d = (struct dial){.state = DIAL_RESOLVING,
	    .dialer = dialer,
	    .query = {.done = resolved},
	    .port = port,
	    .fd = -1,
	    .arg = arg,
	    .done = done};
	timer_init(&d->wake, woken);
	event_assign(&d->report, dialer->base, -1, 0, report, d);
	for (unsigned i = 0; i < DIAL_SOCKETS_MAX; i++) {
		d->sockets[i].dial = d;
		d->sockets[i].fd = -1;
	}
	err = resolver_ask(dialer->resolver, host, &d->query, &addrs);
	if (err != RESOLVE_OK)
		finish(d, -1, error_of(err));
	else if (addrs != NULL)
		connect_to(d, addrs);
}

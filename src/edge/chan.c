/* SPDX-License-Identifier: MIT */
/*
 * chan decides when a socket is worth another system call. It refuses to know
 * what the bytes mean.
 *
 * A read that returns less than asked has emptied the socket (epoll(7): for
 * streams that is as good as EAGAIN), unless a FIN was announced: that has no
 * edge of its own any more, so it must be read up to the 0. Nor has a RST that
 * came together with the data, and libevent does not tell it from them: who
 * still expects something, and so asks again, is served by one more read.
 */
#include "chan.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tls.h"

/* True: it has gone, or can't go. */
static bool
chan_end(struct chan *c)
{
	c->ending = c->tls && !tls_shutdown(c->tls);
	if (c->ending)
		return false;
	if (c->fd >= 0)
		(void)shutdown(c->fd, SHUT_WR);
	return true;
}

static void
chan_event(evutil_socket_t fd, short what, void *arg)
{
	struct chan *c = arg;

	(void)fd;
	if (what & EV_READ)
		c->readable = true;
	if (what & EV_WRITE)
		c->writable = true;
	if (what & EV_CLOSED)
		c->fin = c->readable = true;
	if (c->ending && c->writable)
		(void)chan_end(c);
	c->ready(c);
}

int
chan_open(struct chan *c, struct event_base *base, int fd,
    void (*ready)(struct chan *c))
{
	*c = (struct chan){.fd = fd, .writable = true, .ready = ready};
	if (event_assign(&c->ev, base, fd,
		EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, chan_event,
		c) == 0 &&
	    event_add(&c->ev, NULL) == 0)
		return 0;
	close(fd);
	c->fd = -1;
	return -1;
}

void
chan_close(struct chan *c)
{
	if (c->fd < 0)
		return;
	if (c->tls)
		(void)tls_shutdown(c->tls);
	tls_free(c->tls);
	c->tls = NULL;
	event_del(&c->ev);
	close(c->fd);
	c->fd = -1;
	c->readable = c->writable = c->ending = false;
}

void
chan_reset(struct chan *c)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};

	/* No close_notify either: it would say that this was all. */
	tls_free(c->tls);
	c->tls = NULL;
	if (c->fd >= 0)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now,
		    sizeof(now));
	chan_close(c);
}

void
chan_cut(struct chan *c)
{
	if (c->tls && !c->ending)
		tls_cut(c->tls);
}

ssize_t
chan_wire_read(struct chan *c, void *p, size_t n)
{
	ssize_t got;

	if (c->fd < 0)
		return CHAN_ERROR;
	if (!c->readable && !c->unsure)
		return CHAN_AGAIN;
	c->unsure = false;
	do
		got = recv(c->fd, p, n, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		if (errno != EAGAIN)
			return CHAN_ERROR;
		c->readable = false;
		return CHAN_AGAIN;
	}
	if (got > 0 && (size_t)got < n && !c->fin) {
		c->readable = false;
		c->unsure = true;
	} else if (got > 0) {
		c->readable = true;
	}
	return got;
}

ssize_t
chan_read(struct chan *c, void *p, size_t n)
{
	return c->tls ? tls_read(c->tls, p, n) : chan_wire_read(c, p, n);
}

ssize_t
chan_writev(struct chan *c, const struct iovec *v, int n)
{
	return c->tls ? tls_writev(c->tls, v, n) : chan_wire_writev(c, v, n);
}

bool
chan_has_input(const struct chan *c)
{
	return c->readable || (c->tls && tls_pending(c->tls));
}

ssize_t
chan_wire_writev(struct chan *c, const struct iovec *v, int n)
{
	struct msghdr m = {.msg_iov = (struct iovec *)v,
	    .msg_iovlen = (size_t)n};
	size_t want = 0;
	ssize_t done;

	if (c->fd < 0)
		return CHAN_ERROR;
	if (!c->writable)
		return 0;
	for (int i = 0; i < n; i++)
		want += v[i].iov_len;
	do
		done = sendmsg(c->fd, &m, MSG_NOSIGNAL);
	while (done < 0 && errno == EINTR);
	if (done < 0) {
		if (errno != EAGAIN)
			return CHAN_ERROR;
		done = 0;
	}
	if ((size_t)done < want)
		c->writable = false;
	return done;
}

ssize_t
chan_look(struct chan *c, void *p, size_t n)
{
	ssize_t got;

	if (c->fd < 0)
		return CHAN_ERROR;
	if (!c->readable && !c->unsure)
		return CHAN_AGAIN;
	c->unsure = false;
	do
		got = recv(c->fd, p, n, MSG_PEEK);
	while (got < 0 && errno == EINTR);
	if (got >= 0)
		return got;
	if (errno != EAGAIN)
		return CHAN_ERROR;
	c->readable = false;
	return CHAN_AGAIN;
}

/* A RST waits behind what came before it. */
static bool
is_reset(const struct chan *c)
{
	int err = 0;
	socklen_t n = sizeof(err);

	return getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0 || err;
}

static int
wire_peek(struct chan *c)
{
	char byte;
	int got = (int)chan_look(c, &byte, 1);

	return got > 0 && is_reset(c) ? CHAN_ERROR : got;
}

int
chan_peek(struct chan *c)
{
	int got;

	if (!c->tls)
		return wire_peek(c);
	/* What is buffered would hide that the connection has broken. */
	got = wire_peek(c);
	if (got == CHAN_ERROR)
		return got;
	c->unsure = got != CHAN_AGAIN;
	c->fin = c->fin || got == 0;
	return tls_peek(c->tls);
}

bool
chan_shutdown(struct chan *c)
{
	return chan_end(c);
}

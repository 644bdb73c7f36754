/* SPDX-License-Identifier: MIT */
/*
 * The event side of connections: reading into the buffer, arming what a state
 * waits for, opening and freeing. This file knows when something can be done
 * and leaves what to conn.c.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "amount.h"
#include "base/mem.h"
#include "conn.h"

#define IN_FIRST 4096
#define IN_MAX (68 * 1024) /* more than a head may have */
#define STEPS_MAX 64       /* in one turn, then others get theirs */
#define OUT_MAX (256 * 1024)

static bool
wants_read(const struct conn *c)
{
	switch (c->state) {
	case CONN_HEAD:
	case CONN_BODY:
	case CONN_LINGER:
		return !c->eof;
	case CONN_HOLD:
	case CONN_PAUSE:
	case CONN_HANG:
		return !c->eof && c->in_n - c->in_at < IN_MAX;
	case CONN_SEND:
	case CONN_RESET:
	case CONN_GONE:
		break;
	}
	return false;
}

static bool
wants_write(const struct conn *c)
{
	return c->out.n > c->out_at &&
	    (c->state == CONN_SEND || c->state == CONN_BODY);
}

static void
arm(struct event *ev, bool *armed, bool want)
{
	if (want == *armed)
		return;
	if (want ? event_add(ev, NULL) < 0 : event_del(ev) < 0)
		return;
	*armed = want;
}

/* Only a nearer time costs anything; a later one is looked at again. */
static void
arm_timer(struct conn *c)
{
	int64_t now_ns, due_ns = c->due_ns, us;
	struct timeval tv;

	if (c->state == CONN_RESET)
		due_ns = origin_mono_ns() + AMOUNT_MS_NS;
	if (due_ns >= c->armed_ns)
		return;
	now_ns = origin_mono_ns();
	us = due_ns > now_ns ? (due_ns - now_ns + 999) / 1000 : 0;
	tv.tv_sec = us / 1000000;
	tv.tv_usec = us % 1000000;
	c->armed_ns = event_add(&c->on_timer, &tv) < 0 ? INT64_MAX : due_ns;
}

static void
conn_run(struct conn *c)
{
	unsigned steps = 0;

	while (steps < STEPS_MAX && conn_step(c))
		steps++;
	if (c->state == CONN_GONE)
		return;
	if (c->in_at == c->in_n)
		c->in_at = c->in_n = 0;
	if (c->in_n == 0 && c->in_cap > IN_FIRST && c->state == CONN_HEAD) {
		mem_free(c->in);
		c->in = NULL;
		c->in_cap = 0;
	}
	arm(&c->on_read, &c->reading, wants_read(c));
	arm(&c->on_write, &c->writing, wants_write(c));
	arm_timer(c);
	if (steps == STEPS_MAX)
		event_active(&c->on_timer, EV_TIMEOUT, 1);
}

/* Room for more: moves what is unread to the front, and grows when full. */
static int
make_room(struct conn *c)
{
	size_t cap = c->in_cap ? c->in_cap * 2 : IN_FIRST;
	char *p;

	if (c->in_at > 0) {
		memmove(c->in, c->in + c->in_at, c->in_n - c->in_at);
		c->in_n -= c->in_at;
		c->in_at = 0;
	}
	if (c->in_n < c->in_cap)
		return 0;
	if (cap > IN_MAX)
		cap = IN_MAX;
	if (cap == c->in_cap)
		return -1;
	p = mem_realloc(c->in, cap);
	if (p == NULL)
		return -1;
	c->in = p;
	c->in_cap = cap;
	return 0;
}

static void
fill(struct conn *c)
{
	char *to = c->server->scratch; /* for what is dropped */
	size_t room = sizeof c->server->scratch;
	ssize_t n;

	if (c->state != CONN_LINGER) {
		if (make_room(c) < 0) {
			conn_leave(c);
			return;
		}
		to = c->in + c->in_n;
		room = c->in_cap - c->in_n;
	}
	n = recv(c->fd, to, room, 0);
	if (n == 0)
		c->eof = true;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		conn_leave(c);
	else if (n > 0 && c->state != CONN_LINGER)
		c->in_n += (size_t)n;
}

static void
on_read(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	fill(c);
	conn_run(c);
}

static void
on_write(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	conn_run(arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	c->armed_ns = INT64_MAX;
	if (origin_mono_ns() >= c->due_ns)
		conn_timeout(c);
	conn_run(c);
}

int
conn_open(struct server *s, int fd, const char *client)
{
	struct conn *c = mem_zalloc(sizeof *c);

	if (c == NULL) {
		(void)close(fd);
		return -1;
	}
	c->server = s;
	c->fd = fd;
	c->number = ++s->next_conn;
	c->armed_ns = c->stale_ns = INT64_MAX;
	c->due_ns = origin_mono_ns() + s->idle_ns;
	c->state = CONN_HEAD;
	(void)strncpy(c->client, client, sizeof c->client - 1);
	strbuf_init(&c->out, OUT_MAX);
	(void)event_assign(&c->on_read, s->base, fd, EV_READ | EV_PERSIST,
	    on_read, c);
	(void)event_assign(&c->on_write, s->base, fd, EV_WRITE | EV_PERSIST,
	    on_write, c);
	(void)event_assign(&c->on_timer, s->base, -1, 0, on_timer, c);
	list_push_back(&s->live, &c->link);
	s->nconns++;
	conn_run(c);
	return 0;
}

void
conn_free(struct conn *c)
{
	conn_leave(c);
	list_del(&c->link);
	(void)event_del(&c->on_read);
	(void)event_del(&c->on_write);
	(void)event_del(&c->on_timer);
	(void)close(c->fd);
	mem_free(c->in);
	strbuf_free(&c->out);
	mem_free(c);
}

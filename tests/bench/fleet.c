/* SPDX-License-Identifier: MIT */
/*
 * fleet.c: what a client does when its socket is ready.
 *
 * Level-triggered, a descriptor registered once and changed once (when it is
 * connected). Knows nothing of rows, processes or results: it counts.
 */
#include "fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"
#include "base/mem.h"
#include "loopback.h"
#include "wire.h"

#define BUF_BYTES (256u * 1024)
#define EVENTS 256
#define TURN_MAX_NS UINT64_C(100000000)
#define LATENCY_MAX (1u << 20)
/* So few at a time that no listener's backlog overflows: a lost SYN costs a
 * second. */
#define DIALLING_MAX 100
#define BROKEN_MAX 20000

enum client_state { FREE, DIALLING, KNOCKING, SHAKING, ASKING, QUIET };

struct client {
	enum client_state state;
	struct wire wire;
	bool proven; /* an answer has come on this connection */
	uint64_t asked_ns;
	struct answer answer;
};

int
fleet_init(struct fleet *f, const struct fleet_cfg *cfg)
{
	*f = (struct fleet){.cfg = *cfg, .epoll = epoll_create1(EPOLL_CLOEXEC)};
	f->clients = mem_zalloc(cfg->width * sizeof *f->clients);
	f->buf = mem_alloc(BUF_BYTES);
	f->latency_us = mem_alloc(LATENCY_MAX * sizeof *f->latency_us);
	if (f->epoll >= 0 && f->clients != NULL && f->buf != NULL &&
	    f->latency_us != NULL)
		return 0;
	fleet_free(f);
	return -1;
}

void
fleet_free(struct fleet *f)
{
	for (unsigned i = 0; f->clients != NULL && i < f->dialled; i++)
		wire_free(&f->clients[i].wire);
	if (f->epoll >= 0)
		(void)close(f->epoll);
	mem_free(f->clients);
	mem_free(f->buf);
	mem_free(f->latency_us);
	*f = (struct fleet){.epoll = -1};
}

void
fleet_count_anew(struct fleet *f)
{
	f->tally = (struct fleet_tally){0};
	f->nlatency = 0;
}

static void
hang_up(struct fleet *f, struct client *c)
{
	if (c->state == DIALLING)
		f->dialling--;
	if (c->state != FREE)
		wire_close(&c->wire);
	if (!f->cfg.resume)
		wire_free(&c->wire);
	c->state = FREE;
}

static void
dial(struct fleet *f, struct client *c)
{
	struct epoll_event ev = {.events = EPOLLOUT, .data.ptr = c};
	int fd;

	if (f->asked >= f->cfg.max_requests)
		return;
	f->tally.dials++;
	fd = loopback_dial(&f->cfg.to);
	if (fd >= 0 && epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &ev) == 0) {
		c->wire.fd = fd;
		c->proven = false;
		c->state = DIALLING;
		f->dialling++;
		return;
	}
	if (fd >= 0)
		(void)close(fd);
	f->asked++;
	f->finished++;
	f->tally.broken++;
}

/* A client whose request came to nothing begins again, unless it would only
 * have had one. */
static void
fail(struct fleet *f, struct client *c)
{
	if (c->state == DIALLING || c->state == KNOCKING || c->state == SHAKING)
		f->asked++;
	if (c->state != QUIET)
		f->finished++;
	f->tally.broken++;
	hang_up(f, c);
	if (!f->cfg.once && f->tally.broken < BROKEN_MAX)
		dial(f, c);
}

/*
 * The connection is gone. An idle one may be closed at any time, also when the
 * next request is on its way: that is made again on another (RFC 9112 9.3.1).
 */
static void
lose(struct fleet *f, struct client *c)
{
	if (c->state == ASKING && c->proven && c->answer.nhead == 0) {
		f->asked--;
		hang_up(f, c);
		dial(f, c);
	} else if (c->state == QUIET && !f->cfg.once) {
		hang_up(f, c);
	} else {
		fail(f, c);
	}
}

/* Requests are far smaller than an empty socket's buffer: one that does not
 * go out whole means a peer that is gone. */
static void
say(struct fleet *f, struct client *c, struct span text)
{
	struct iovec v = {(char *)(uintptr_t)text.p, text.n};

	answer_clear(&c->answer);
	if (wire_send(&c->wire, &v, 1) != (ssize_t)text.n)
		lose(f, c);
}

static void
ask(struct fleet *f, struct client *c)
{
	if (f->asked >= f->cfg.max_requests) {
		c->state = QUIET;
		return;
	}
	f->asked++;
	c->state = ASKING;
	c->asked_ns = loopback_now_ns();
	say(f, c, f->cfg.request);
}

static void
shake(struct fleet *f, struct client *c)
{
	int rc = wire_shake(&c->wire);

	if (rc < 0) {
		fail(f, c);
		return;
	}
	if (rc == 0)
		return;
	f->tally.shakes++;
	f->tally.resumed += wire_resumed(&c->wire);
	ask(f, c);
}

/* There is a way to the one who will answer. */
static void
arrived(struct fleet *f, struct client *c)
{
	if (f->cfg.tls == NULL) {
		ask(f, c);
		return;
	}
	c->state = SHAKING;
	if (wire_secure(&c->wire, f->cfg.tls) < 0)
		fail(f, c);
	else
		shake(f, c);
}

static void
connected(struct fleet *f, struct client *c)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
	int error = 0;
	socklen_t n = sizeof error;

	if (getsockopt(c->wire.fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 ||
	    error != 0 ||
	    epoll_ctl(f->epoll, EPOLL_CTL_MOD, c->wire.fd, &ev) < 0) {
		fail(f, c);
		return;
	}
	f->dialling--;
	if (f->cfg.knock.n == 0) {
		arrived(f, c);
		return;
	}
	c->state = KNOCKING;
	say(f, c, f->cfg.knock);
}

static void
count_answer(struct fleet *f, struct client *c)
{
	uint64_t us = (loopback_now_ns() - c->asked_ns) / 1000;

	f->finished++;
	if (c->answer.status == 200)
		f->tally.answers++;
	else
		f->tally.refused++;
	if (f->nlatency < LATENCY_MAX)
		f->latency_us[f->nlatency++] =
		    us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static void
answered(struct fleet *f, struct client *c)
{
	if (c->state == KNOCKING) {
		if (c->answer.status == 200)
			arrived(f, c);
		else
			fail(f, c);
		return;
	}
	if (!c->answer.framed) {
		fail(f, c);
		return;
	}
	count_answer(f, c);
	c->proven = true;
	if (f->cfg.once) {
		c->state = QUIET;
	} else if (f->cfg.fresh || c->answer.close) {
		hang_up(f, c);
		dial(f, c);
	} else {
		ask(f, c);
	}
}

/* False: there was nothing yet. */
static bool
receive(struct fleet *f, struct client *c)
{
	ssize_t n = wire_recv(&c->wire, f->buf, BUF_BYTES);
	int rc;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0 || c->state == QUIET) {
		lose(f, c);
		return true;
	}
	f->tally.bytes += (uint64_t)n;
	rc = answer_feed(&c->answer, f->buf, (size_t)n);
	if (rc < 0)
		fail(f, c);
	else if (rc > 0)
		answered(f, c);
	return true;
}

static void
dial_more(struct fleet *f)
{
	while (f->dialled < f->cfg.width && f->dialling < DIALLING_MAX &&
	    !fleet_done(f)) {
		f->clients[f->dialled].state = FREE;
		f->clients[f->dialled].wire.fd = -1;
		dial(f, &f->clients[f->dialled++]);
	}
}

void
fleet_turn(struct fleet *f, uint64_t until_ns)
{
	struct epoll_event ev[EVENTS];
	uint64_t now = loopback_now_ns(), wait;
	int n;

	dial_more(f);
	wait = until_ns > now ? until_ns - now : 0;
	if (wait > TURN_MAX_NS)
		wait = TURN_MAX_NS;
	n = epoll_wait(f->epoll, ev, EVENTS, (int)((wait + 999999) / 1000000));
	for (int i = 0; i < n; i++) {
		struct client *c = ev[i].data.ptr;

		if (c->state == DIALLING)
			connected(f, c);
		else if (c->state == SHAKING)
			shake(f, c);
		else if (c->state != FREE)
			(void)receive(f, c);
		/* Of what TLS has read already no event tells. */
		while (
		    c->state == ASKING && wire_more(&c->wire) && receive(f, c))
			;
	}
}

bool
fleet_done(const struct fleet *f)
{
	return f->finished >= f->cfg.max_requests ||
	    f->tally.broken >= BROKEN_MAX;
}

static int
by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t
fleet_latency_us(struct fleet *f, double q)
{
	size_t at;

	if (f->nlatency == 0)
		return 0;
	qsort(f->latency_us, f->nlatency, sizeof *f->latency_us, by_size);
	at = (size_t)((double)(f->nlatency - 1) * q + 0.5);
	return f->latency_us[at];
}

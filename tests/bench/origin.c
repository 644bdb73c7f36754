/* SPDX-License-Identifier: MIT */
/*
 * origin: answers as fast as it can, so that a benchmark measures what stands
 * in front of it. One thread; on the loopback; a port of its own choice, which
 * it prints.
 *
 *   /bytes/N    200 with N bytes
 *   /never      no answer
 *   /hold/S     the first request starts a hold of S seconds: 429 and
 *               Retry-After as long as it lasts, then 200
 *   /note       200; the arrival goes to the ledger, as those of /hold do
 *   /ledger     the ledger; /clear empties it
 *   CONNECT     200, and goes on as its own destination
 *
 * abide-origin is the one with real limits; this one has only what the rows of
 * run.sh ask for, and understands only requests without a body.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "ledger.h"
#include "loopback.h"

#define IN_MAX 4096
#define FILL_BYTES (1u << 20)
#define BODY_MAX (UINT64_C(64) << 20)
#define HOLD_MAX 3600
#define EVENTS 256

struct conn {
	int fd;
	char in[IN_MAX]; /* requests, or the begin of one */
	size_t nin;
	char head[256]; /* of the answer being sent */
	size_t nhead, head_sent;
	const char *body; /* borrows: fill, or text */
	uint64_t left;    /* of the body */
	char *text;       /* owned: a body that is not fill; NULL: none */
	bool close;       /* after the answer */
	bool mute;        /* the request gets no answer */
};

struct origin {
	int epoll, listener;
	struct ledger ledger;
};

static char fill[FILL_BYTES];
/* With a Date, as all real servers send, no proxy has to make one up. It is of
 * the start: nothing here depends on it. */
static char date[64];
static volatile sig_atomic_t stopping;

static void
on_signal(int signo)
{
	(void)signo;
	stopping = 1;
}

static void
conn_free(struct conn *c)
{
	(void)close(c->fd);
	mem_free(c->text);
	mem_free(c);
}

static void
begin(struct conn *c, const char *status, const char *body, uint64_t n)
{
	int len = snprintf(c->head, sizeof c->head,
	    "HTTP/1.1 %s\r\n%sContent-Length: %" PRIu64 "\r\n%s\r\n", status,
	    date, n, c->close ? "Connection: close\r\n" : "");

	c->nhead = (size_t)len;
	c->head_sent = 0;
	c->body = body;
	c->left = n;
}

static void
begin_ledger(struct origin *o, struct conn *c)
{
	mem_free(c->text);
	c->text = mem_alloc(ledger_room(&o->ledger));
	if (c->text == NULL)
		begin(c, "503 Out Of Memory", fill, 0);
	else
		begin(c, "200 OK", c->text, ledger_print(&o->ledger, c->text));
}

static void
begin_hold(struct origin *o, struct conn *c, uint64_t seconds)
{
	char status[96];
	unsigned left = ledger_hold(&o->ledger,
	    (unsigned)(seconds > HOLD_MAX ? HOLD_MAX : seconds),
	    loopback_now_ns());

	if (left == 0) {
		begin(c, "200 OK", fill, 64);
		return;
	}
	(void)snprintf(status, sizeof status,
	    "429 Too Many Requests\r\nRetry-After: %u", left);
	begin(c, status, fill, 0);
}

/* The path is in absolute-form where a proxy was told to send it so. */
static const char *
path_of(const char *target)
{
	const char *slash;

	if (strncmp(target, "http://", 7) != 0)
		return target;
	slash = strchr(target + 7, '/');
	return slash == NULL ? "" : slash;
}

static void
answer(struct origin *o, struct conn *c, const char *path)
{
	uint64_t n;

	if (sscanf(path, "/bytes/%" SCNu64, &n) == 1 && n <= BODY_MAX) {
		begin(c, "200 OK", fill, n);
	} else if (sscanf(path, "/hold/%" SCNu64, &n) == 1) {
		begin_hold(o, c, n);
	} else if (strncmp(path, "/note ", 6) == 0) {
		ledger_note(&o->ledger, loopback_now_ns());
		begin(c, "200 OK", fill, 64);
	} else if (strncmp(path, "/never ", 7) == 0) {
		c->mute = true;
	} else if (strncmp(path, "/ledger ", 8) == 0) {
		begin_ledger(o, c);
	} else if (strncmp(path, "/clear ", 7) == 0) {
		ledger_clear(&o->ledger);
		begin(c, "200 OK", fill, 0);
	} else {
		begin(c, "404 Not Found", fill, 0);
	}
}

/* One request, if all of its head is there. */
static bool
take_request(struct origin *o, struct conn *c)
{
	char *end = memmem(c->in, c->nin, "\r\n\r\n", 4);
	size_t n;

	if (end == NULL)
		return false;
	n = (size_t)(end + 4 - c->in);
	end[2] = '\0';
	c->close = strcasestr(c->in, "\nConnection: close") != NULL;
	if (strncmp(c->in, "GET ", 4) == 0) {
		answer(o, c, path_of(c->in + 4));
	} else if (strncmp(c->in, "CONNECT ", 8) == 0) {
		begin(c, "200 OK", fill, 0);
		c->nhead = strlen(strcpy(c->head, "HTTP/1.1 200 OK\r\n\r\n"));
	} else {
		begin(c, "405 Method Not Allowed", fill, 0);
	}
	c->nin -= n;
	memmove(c->in, c->in + n, c->nin);
	return true;
}

static void
account(struct conn *c, size_t n)
{
	size_t of_head = c->nhead - c->head_sent;

	if (of_head > n)
		of_head = n;
	c->head_sent += of_head;
	n -= of_head;
	c->left -= n;
	if (c->body != fill)
		c->body += n;
}

/* Sends what the socket takes; the bytes, or -1 and errno. */
static ssize_t
push(struct conn *c)
{
	size_t piece = c->left;
	struct iovec iov[2];
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};

	if (c->body == fill && piece > sizeof fill)
		piece = sizeof fill;
	iov[0] =
	    (struct iovec){c->head + c->head_sent, c->nhead - c->head_sent};
	iov[1] = (struct iovec){(char *)(uintptr_t)c->body, piece};
	return sendmsg(c->fd, &m, MSG_NOSIGNAL);
}

/* 1: nothing is left to send; 0: the socket is full; -1: it is gone, or is to
 * be closed after this answer. */
static int
flush(struct conn *c)
{
	while (c->head_sent < c->nhead || c->left > 0) {
		ssize_t n = push(c);

		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		account(c, (size_t)n);
	}
	return c->close && c->nhead > 0 ? -1 : 1;
}

/* Edge-triggered: reads until there is no more. 0, or -1 where the peer is
 * gone or says more than there is room for. */
static int
read_all(struct conn *c, bool hung_up)
{
	for (;;) {
		size_t room = IN_MAX - c->nin;
		ssize_t n;

		if (room == 0)
			return -1;
		n = recv(c->fd, c->in + c->nin, room, 0);
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		if (n == 0)
			return -1;
		c->nin += (size_t)n;
		if ((size_t)n < room && !hung_up)
			return 0;
	}
}

static void
serve(struct origin *o, struct conn *c, uint32_t events)
{
	bool gone = (events & EPOLLIN) != 0 &&
	    read_all(c, (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) < 0;
	int rc = gone ? -1 : flush(c);

	while (rc == 1 && !c->mute && take_request(o, c))
		rc = flush(c);
	if (rc < 0)
		conn_free(c);
}

static void
accept_all(struct origin *o)
{
	for (;;) {
		int fd = accept4(o->listener, NULL, NULL,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct conn *c = fd < 0 ? NULL : mem_zalloc(sizeof *c);
		struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT |
			EPOLLRDHUP | EPOLLET,
		    .data.ptr = c};

		if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
			/* It would be told of the listener for ever. */
			perror("origin: accept");
			stopping = 1;
		}
		if (fd < 0)
			return;
		if (c == NULL) {
			(void)close(fd);
			return;
		}
		c->fd = fd;
		if (epoll_ctl(o->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
			conn_free(c);
	}
}

static void
run(struct origin *o)
{
	struct epoll_event ev[EVENTS];

	while (!stopping) {
		int n = epoll_wait(o->epoll, ev, EVENTS, -1);

		for (int i = 0; i < n; i++)
			if (ev[i].data.ptr != NULL)
				serve(o, ev[i].data.ptr, ev[i].events);
			else
				accept_all(o);
	}
}

static int
open_listener(struct origin *o)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event ev = {.events = EPOLLIN};
	socklen_t n = sizeof a;

	o->epoll = epoll_create1(EPOLL_CLOEXEC);
	o->listener = loopback_listen(&a);
	if (o->epoll < 0 || o->listener < 0 ||
	    getsockname(o->listener, (struct sockaddr *)&a, &n) < 0 ||
	    epoll_ctl(o->epoll, EPOLL_CTL_ADD, o->listener, &ev) < 0)
		return -1;
	printf("listening on 127.0.0.1:%u\n", ntohs(a.sin_port));
	return fflush(stdout);
}

int
main(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	time_t now = time(NULL);
	struct origin o;

	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
	    gmtime(&now));
	(void)loopback_take_descriptors();
	if (ledger_init(&o.ledger) < 0 || open_listener(&o) < 0) {
		perror("origin");
		return 2;
	}
	run(&o);
	ledger_free(&o.ledger);
	return 0;
}

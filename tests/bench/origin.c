/* SPDX-License-Identifier: MIT */
/*
 * origin: answers as fast as it can, so that a benchmark measures what stands
 * in front of it. One thread; on the loopback; on ports of its own choice, which
 * it prints.
 *
 *   origin [PEM]
 *
 * With PEM, a certificate and its key, there are two more ports, for TLS: one
 * whose sessions can be taken up again, and one whose sessions can't.
 *
 *   /bytes/N    200 with N bytes
 *   /close/N    the same, and the connection is closed
 *   /together/N 200, as soon as there are N such requests
 *   /never      no answer
 *   /hold/S     the first request starts a hold of S seconds: 429 and
 *               Retry-After as long as it lasts, then 200
 *   /note       200; the arrival goes to the ledger, as those of /hold do
 *   /ledger     the ledger; /clear empties it
 *   /shakes     how many TLS handshakes there were, and how many sessions of
 *               them were taken up, since the last time
 *   CONNECT     200, and goes on as its own destination
 *
 * abide-origin is the one with real limits; this one has only what the rows of
 * run.sh ask for, and understands only requests without a body.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/err.h>
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
#include "wire.h"

#define IN_MAX 4096
#define FILL_BYTES (1u << 20)
#define BODY_MAX (UINT64_C(64) << 20)
#define HOLD_MAX 3600
#define EVENTS 256
#define LISTENERS 3

struct conn {
	struct wire wire;
	bool shaking;      /* the TLS handshake is under way */
	struct conn *next; /* in origin.gathered */
	char in[IN_MAX];   /* requests, or the begin of one */
	size_t nin;
	char head[256]; /* of the answer being sent */
	size_t nhead, head_sent;
	const char *body; /* borrows: fill, or text */
	uint64_t left;    /* of the body */
	char *text;       /* owned: a body that is not fill; NULL: none */
	bool close;       /* after the answer */
	bool mute;        /* the request gets no answer */
};

struct listener {
	int fd;
	SSL_CTX *tls; /* owned; NULL: plain */
};

struct origin {
	int epoll;
	struct listener listeners[LISTENERS];
	unsigned nlisteners;
	struct ledger ledger;
	struct conn *gathered; /* /together: those that wait for others */
	uint64_t ngathered;
	uint64_t shakes, resumed;
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
conn_free(struct origin *o, struct conn *c)
{
	for (struct conn **at = &o->gathered; *at != NULL; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			o->ngathered--;
			break;
		}
	}
	wire_free(&c->wire);
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
begin_shakes(struct origin *o, struct conn *c)
{
	static char text[128];
	int n = snprintf(text, sizeof text,
	    "shakes=%" PRIu64 " resumed=%" PRIu64 "\n", o->shakes, o->resumed);

	begin(c, "200 OK", text, (uint64_t)n);
	o->shakes = o->resumed = 0;
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

static int flush(struct conn *c);

/* The last one has them all answered. One whose connection turns out to be
 * gone is freed by its own event, which may be the next. */
static void
begin_together(struct origin *o, struct conn *c, uint64_t n)
{
	c->mute = true;
	c->next = o->gathered;
	o->gathered = c;
	if (++o->ngathered < n)
		return;
	while ((c = o->gathered) != NULL) {
		o->gathered = c->next;
		o->ngathered--;
		c->mute = false;
		begin(c, "200 OK", fill, 0);
		if (flush(c) < 0)
			(void)shutdown(c->wire.fd, SHUT_RDWR);
	}
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

/* "/NAME/N" */
static bool
names(const char *path, const char *name, uint64_t max, uint64_t *ret_n)
{
	size_t n = strlen(name);

	if (strncmp(path, name, n) != 0)
		return false;
	*ret_n = strtoull(path + n, NULL, 10);
	return *ret_n <= max;
}

static void
answer(struct origin *o, struct conn *c, const char *path)
{
	uint64_t n;

	if (names(path, "/bytes/", BODY_MAX, &n)) {
		begin(c, "200 OK", fill, n);
	} else if (names(path, "/close/", BODY_MAX, &n)) {
		c->close = true;
		begin(c, "200 OK", fill, n);
	} else if (names(path, "/together/", UINT64_MAX, &n)) {
		begin_together(o, c, n);
	} else if (strncmp(path, "/shakes ", 8) == 0) {
		begin_shakes(o, c);
	} else if (names(path, "/hold/", UINT64_MAX, &n)) {
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

	if (c->body == fill && piece > sizeof fill)
		piece = sizeof fill;
	iov[0] =
	    (struct iovec){c->head + c->head_sent, c->nhead - c->head_sent};
	iov[1] = (struct iovec){(char *)(uintptr_t)c->body, piece};
	return wire_send(&c->wire, iov, 2);
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
		n = wire_recv(&c->wire, c->in + c->nin, room);
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		if (n == 0)
			return -1;
		c->nin += (size_t)n;
		if ((size_t)n < room && !hung_up && c->wire.ssl == NULL)
			return 0;
	}
}

/* As wire_shake. */
static int
shake(struct origin *o, struct conn *c)
{
	int rc = c->shaking ? wire_shake(&c->wire) : 1;

	if (rc == 1 && c->shaking) {
		c->shaking = false;
		o->shakes++;
		o->resumed += wire_resumed(&c->wire);
	}
	return rc;
}

static void
serve(struct origin *o, struct conn *c, uint32_t events)
{
	int rc = shake(o, c);

	if (rc == 0)
		return;
	if (rc == 1 && (events & EPOLLIN) != 0)
		rc = read_all(c,
		    (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
	if (rc >= 0)
		rc = flush(c);
	while (rc == 1 && !c->mute && take_request(o, c))
		rc = flush(c);
	if (rc < 0)
		conn_free(o, c);
}

static void
welcome(struct origin *o, const struct listener *l, int fd)
{
	struct conn *c = mem_zalloc(sizeof *c);
	struct epoll_event ev = {.events =
				     EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
	    .data.ptr = c};

	if (c == NULL) {
		(void)close(fd);
		return;
	}
	c->wire.fd = fd;
	c->shaking = l->tls != NULL;
	if ((c->shaking && wire_secure(&c->wire, l->tls) < 0) ||
	    epoll_ctl(o->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		conn_free(o, c);
}

static void
accept_all(struct origin *o, const struct listener *l)
{
	for (;;) {
		int fd =
		    accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
			/* It would be told of the listener for ever. */
			perror("origin: accept");
			stopping = 1;
		}
		if (fd < 0)
			return;
		welcome(o, l, fd);
	}
}

static struct listener *
listener_of(struct origin *o, void *p)
{
	for (unsigned i = 0; i < o->nlisteners; i++)
		if (p == &o->listeners[i])
			return p;
	return NULL;
}

static void
run(struct origin *o)
{
	struct epoll_event ev[EVENTS];

	while (!stopping) {
		int n = epoll_wait(o->epoll, ev, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct listener *l = listener_of(o, ev[i].data.ptr);

			if (l != NULL)
				accept_all(o, l);
			else
				serve(o, ev[i].data.ptr, ev[i].events);
		}
	}
}

static int
open_listener(struct origin *o, SSL_CTX *tls, const char *what)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct listener *l = &o->listeners[o->nlisteners++];
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = l};
	socklen_t n = sizeof a;

	*l = (struct listener){.fd = loopback_listen(&a), .tls = tls};
	if (o->epoll < 0 || l->fd < 0 ||
	    getsockname(l->fd, (struct sockaddr *)&a, &n) < 0 ||
	    epoll_ctl(o->epoll, EPOLL_CTL_ADD, l->fd, &ev) < 0) {
		perror("origin");
		return -1;
	}
	printf("%s on 127.0.0.1:%u\n", what, ntohs(a.sin_port));
	return fflush(stdout);
}

static int
open_listeners(struct origin *o, const char *pem)
{
	SSL_CTX *tls, *once;

	if (pem != NULL) {
		tls = wire_server(pem, true);
		once = wire_server(pem, false);
		if (tls == NULL || once == NULL) {
			ERR_print_errors_fp(stderr);
			return -1;
		}
		if (open_listener(o, tls, "resumable") < 0 ||
		    open_listener(o, once, "not-resumable") < 0)
			return -1;
	}
	return open_listener(o, NULL, "listening");
}

static void
take_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

int
main(int argc, char **argv)
{
	time_t now = time(NULL);
	struct origin o = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
	int rc = 2;

	take_signals();
	(void)strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
	    gmtime(&now));
	(void)loopback_take_descriptors();
	if (ledger_init(&o.ledger) == 0 &&
	    open_listeners(&o, argc > 1 ? argv[1] : NULL) == 0) {
		run(&o);
		rc = 0;
	}
	ledger_free(&o.ledger);
	for (unsigned i = 0; i < o.nlisteners; i++)
		SSL_CTX_free(o.listeners[i].tls);
	return rc;
}

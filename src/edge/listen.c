/* SPDX-License-Identifier: MIT */
/*
 * listen decides who may come in, and when accepting pauses. It refuses to
 * know what a client says.
 *
 * Without descriptors accept() fails and a level-triggered listener would spin:
 * accepting pauses for a moment instead; clients wait in the backlog.
 */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "client.h"
#include "dest.h"

#define BACKLOG 4096
#define ACCEPT_MOST 64 /* in one go */
#define PAUSE_MS 100

struct listener {
	struct list link; /* in worker.listeners */
	struct worker *worker;
	int fd; /* owns */
	enum conf_listen_kind kind;
	int64_t busy_ms; /* when max_connections was last logged */
	int64_t odd_ms;  /* the same of one that nobody redirected */
	struct event ev;
	struct timer pause;
};

static void
addr_text(const struct sockaddr *sa, socklen_t len, char *out, size_t cap)
{
	char host[64] = "?", port[16] = "?";

	(void)getnameinfo(sa, len, host, sizeof(host), port, sizeof(port),
	    NI_NUMERICHOST | NI_NUMERICSERV);
	(void)snprintf(out, cap, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
	    port);
}

static int
tcp_socket(const struct sockaddr_storage *ss, socklen_t len, int reuse_port)
{
	int fd = socket(ss->ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (ss->ss_family != AF_INET6 ||
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) ==
		    0) &&
	    (!reuse_port ||
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ==
		    0) &&
	    bind(fd, (const struct sockaddr *)ss, len) == 0)
		return fd;
	on = errno;
	(void)close(fd);
	errno = on;
	return -1;
}

/*
 * SO_REUSEPORT would let a second daemon of the same user share the port, and
 * its clients, without a word: a bind without it must succeed first.
 */
static int
tcp_probe(const struct sockaddr_storage *ss, socklen_t len)
{
	int fd = tcp_socket(ss, len, 0);

	if (fd < 0)
		return -1;
	if (listen(fd, 1) < 0) {
		(void)close(fd);
		return -1;
	}
	return close(fd);
}

/* Port 0: the kernel takes one that is nobody's. Given up between a probe and
 * the bind that counts, it could become somebody's. */
static bool
any_port(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const void *)ss;
	const struct sockaddr_in *in4 = (const void *)ss;

	return (ss->ss_family == AF_INET ? in4->sin_port : in6->sin6_port) == 0;
}

/* As in `listen`, before the address. */
static const char *
kind_text(enum conf_listen_kind kind)
{
	switch (kind) {
	case CONF_LISTEN_TLS:
		return "tls:";
	case CONF_LISTEN_TRANSPARENT:
		return "transparent:";
	case CONF_LISTEN_PLAIN:
		break;
	}
	return "";
}

static int
open_tcp(struct listen_set *s, size_t i, const struct conf_listen *cl)
{
	struct sockaddr_storage ss = cl->addr;
	socklen_t len = cl->addr_len;
	char text[96];

	if (!any_port(&ss) && tcp_probe(&ss, len) < 0)
		return -1;
	for (unsigned w = 0; w < s->workers; w++) {
		int fd = tcp_socket(&ss, len, 1);

		if (fd < 0)
			return -1;
		s->fds[w * s->n + i] = fd;
		if (listen(fd, BACKLOG) < 0 ||
		    getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
			return -1;
	}
	addr_text((struct sockaddr *)&ss, len, text, sizeof(text));
	log_info("listening on %s%s", kind_text(cl->kind), text);
	return 0;
}

/* A socket that nobody listens on is left over from a crash: it goes. */
static int
unix_clear(const struct sockaddr_un *sun)
{
	struct stat st;
	int fd, res;

	if (lstat(sun->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	res = connect(fd, (const struct sockaddr *)sun, sizeof(*sun));
	(void)close(fd);
	if (res == 0) {
		errno = EADDRINUSE;
		return -1;
	}
	return unlink(sun->sun_path);
}

static int
open_unix(struct listen_set *s, size_t i, const struct conf_listen *cl)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(cl->unix_path) >= sizeof(sun.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(sun.sun_path, cl->unix_path, strlen(cl->unix_path) + 1);
	if (unix_clear(&sun) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	s->fds[i] = fd;
	if (bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0)
		return -1;
	s->made = i + 1;
	if (listen(fd, BACKLOG) < 0)
		return -1;
	for (unsigned w = 1; w < s->workers; w++) {
		s->fds[w * s->n + i] = dup(fd);
		if (s->fds[w * s->n + i] < 0)
			return -1;
	}
	log_info("listening on unix:%s", cl->unix_path);
	return 0;
}

int
listen_open(struct listen_set *s, const struct conf *c, unsigned workers)
{
	*s = (struct listen_set){.n = c->nlisten, .workers = workers};
	s->fds = mem_must_zalloc(sizeof(int) * s->n * workers + 1);
	for (size_t i = 0; i < s->n * workers; i++)
		s->fds[i] = -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct conf_listen *cl = &c->listen[i];

		if ((cl->unix_path ? open_unix(s, i, cl)
				   : open_tcp(s, i, cl)) == 0) {
			s->made = i + 1;
			continue;
		}
		log_err("cannot listen on %s: %s%s", cl->text, strerror(errno),
		    errno == EADDRINUSE
			? " (is another abided running? see proxy.listen)"
			: "");
		return -1;
	}
	return 0;
}

void
listen_free(struct listen_set *s, const struct conf *c)
{
	for (size_t i = 0; i < s->n * s->workers; i++)
		if (s->fds[i] >= 0)
			(void)close(s->fds[i]);
	/* What another daemon listens on, or a file in the way, stays. */
	for (size_t i = 0; i < s->made; i++)
		if (c->listen[i].unix_path)
			(void)unlink(c->listen[i].unix_path);
	mem_free(s->fds);
	*s = (struct listen_set){0};
}

#define BUSY_BODY \
	"{\"status\":503,\"title\":\"Service Unavailable\",\"detail\":" \
	"\"Too many connections: see max_connections.\"}\n"

static void
say_busy(int fd)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
	    "HTTP/1.1 503 Service Unavailable\r\n"
	    "Content-Type: application/problem+json\r\n"
	    "Proxy-Status: abided; error=connection_limit_reached\r\n"
	    "Retry-After: 1\r\n"
	    "Content-Length: %zu\r\n"
	    "Connection: close\r\n\r\n" BUSY_BODY,
	    sizeof(BUSY_BODY) - 1);

	(void)!send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

/* Once a second is enough to act on. */
static bool
may_log(const struct listener *l, int64_t *last_ms)
{
	int64_t now_ms = l->worker->engine.now_ms;

	if (*last_ms && now_ms - *last_ms < 1000)
		return false;
	*last_ms = now_ms;
	return true;
}

static void
log_busy(struct listener *l)
{
	if (!may_log(l, &l->busy_ms))
		return;
	log_warn(
	    "clients are refused: %u connections are open, and no more are "
	    "allowed (proxy.max_connections, or the descriptor limit)",
	    atomic_load(&l->worker->proc->connections));
}

/* For a transparent listener: where was it to go? */
static void
listener_redirected(struct listener *l, int fd, const struct sockaddr *sa,
    socklen_t len)
{
	struct worker *w = l->worker;
	const char *why;
	struct redirect *r = redirect_find(fd, sa, &w->proc->hash, &why);
	char text[96];

	if (r) {
		client_new(w, fd, sa, l->kind, r);
		return;
	}
	(void)close(fd);
	if (!may_log(l, &l->odd_ms))
		return;
	addr_text(sa, len, text, sizeof(text));
	log_warn("client %s refused by a transparent listener: %s", text, why);
}

static void
listener_accepted(struct listener *l, int fd, const struct sockaddr *sa,
    socklen_t len)
{
	struct proc *p = l->worker->proc;

	if (!dest_client_allowed(l->worker->conf, sa)) {
		char text[96];

		addr_text(sa, len, text, sizeof(text));
		log_warn("client %s refused: not in proxy.allow_clients", text);
		(void)close(fd);
		return;
	}
	if (atomic_load(&p->connections) >= atomic_load(&p->max_connections)) {
		log_busy(l);
		if (l->kind == CONF_LISTEN_PLAIN)
			say_busy(fd);
		else
			(void)close(fd); /* it would take the words for TLS */
		return;
	}
	if (l->kind == CONF_LISTEN_TRANSPARENT)
		listener_redirected(l, fd, sa, len);
	else
		client_new(l->worker, fd, sa, l->kind, NULL);
}

static void
listener_pause(struct listener *l)
{
	struct engine *e = &l->worker->engine;

	log_warn(
	    "accept: %s; pausing for %d ms (raise the descriptor limit, or "
	    "lower proxy.max_connections)",
	    strerror(errno), PAUSE_MS);
	if (timer_arm(&e->timers, &l->pause, e->now_ms + PAUSE_MS) == 0)
		event_del(&l->ev);
}

static void
listener_resume(struct timer *t, int64_t now_ms)
{
	struct listener *l = AB_CONTAINER(t, struct listener, pause);

	if (event_add(&l->ev, NULL) < 0)
		(void)!timer_arm(&l->worker->engine.timers, t,
		    now_ms + PAUSE_MS);
}

static void
listener_ready(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)what;
	worker_enter(l->worker);
	for (int i = 0; i < ACCEPT_MOST; i++) {
		struct sockaddr_storage ss = {0};
		socklen_t len = sizeof(ss);
		int got = accept4(fd, (struct sockaddr *)&ss, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (got >= 0) {
			listener_accepted(l, got, (struct sockaddr *)&ss, len);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			listener_pause(l);
		if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

static int
listener_start(struct worker *w, int fd, enum conf_listen_kind kind)
{
	struct listener *l = mem_zalloc(sizeof(*l));

	if (!l)
		return -1;
	l->worker = w;
	l->fd = fd;
	l->kind = kind;
	timer_init(&l->pause, listener_resume);
	list_push_back(&w->listeners, &l->link);
	if (event_assign(&l->ev, w->base, fd, EV_READ | EV_PERSIST,
		listener_ready, l) < 0)
		return -1;
	return event_add(&l->ev, NULL);
}

int
listen_start(struct worker *w, struct listen_set *s)
{
	for (size_t i = 0; i < s->n; i++) {
		int *fd = &s->fds[w->index * s->n + i];

		if (listener_start(w, *fd, w->conf->listen[i].kind) < 0)
			return -1;
		*fd = -1;
	}
	return 0;
}

void
listen_stop(struct worker *w)
{
	struct list *it;

	while ((it = list_first(&w->listeners))) {
		struct listener *l = AB_CONTAINER(it, struct listener, link);

		list_del(it);
		timer_stop(&w->engine.timers, &l->pause);
		event_del(&l->ev);
		(void)close(l->fd);
		mem_free(l);
	}
}

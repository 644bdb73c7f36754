/* SPDX-License-Identifier: MIT */
/*
 * The loop: listening, accepting, stopping. Nothing here knows HTTP.
 *
 * When descriptors run out, accepting pauses: the kernel's queue holds the
 * rest. It goes on when a connection has ended, and looks again every 100 ms
 * in case somebody else took them.
 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "amount.h"
#include "base/log.h"
#include "base/mem.h"
#include "conn.h"

#define BACKLOG 4096
#define ACCEPTS_MAX 128 /* in one turn */

static void
set_accepting(struct server *s, bool on)
{
	static const struct timeval retry = {.tv_usec = 100000};

	if (!on)
		(void)event_add(&s->on_retry, &retry);
	if (on == s->accepting)
		return;
	s->accepting = on;
	for (unsigned i = 0; i < s->nlisteners; i++) {
		if (on)
			(void)event_add(&s->listeners[i].ev, NULL);
		else
			(void)event_del(&s->listeners[i].ev);
	}
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	set_accepting(arg, true);
}

static void
client_name(const struct sockaddr_storage *ss, char out[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in *v4 = (const void *)ss;
	const struct sockaddr_in6 *v6 = (const void *)ss;
	const void *addr = ss->ss_family == AF_INET6
	    ? (const void *)&v6->sin6_addr
	    : (const void *)&v4->sin_addr;

	if (inet_ntop(ss->ss_family, addr, out, INET6_ADDRSTRLEN) == NULL)
		out[0] = '\0';
}

/* False: no more now. */
static bool
accept_one(struct server *s, int listener)
{
	struct sockaddr_storage ss = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof ss;
	char name[INET6_ADDRSTRLEN];
	int one = 1, fd;

	if (s->nconns >= s->max_conns) {
		set_accepting(s, false);
		return false;
	}
	fd = accept4(listener, (struct sockaddr *)&ss, &len,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM) {
			if (!s->short_of)
				log_warn("accepting pauses: %s",
				    strerror(errno));
			s->short_of = true;
			set_accepting(s, false);
		}
		return errno == ECONNABORTED || errno == EINTR;
	}
	s->short_of = false;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	client_name(&ss, name);
	if (conn_open(s, fd, name) < 0)
		log_warn("out of memory: a connection is refused");
	return true;
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)what;
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		if (!accept_one(l->server, fd))
			return;
	}
}

static void
on_stop(evutil_socket_t sig, short what, void *arg)
{
	struct server *s = arg;

	(void)sig;
	(void)what;
	s->stopping = true;
	(void)event_base_loopbreak(s->base);
}

static void
on_flush(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	origin_flush(s->origin);
}

void
server_conn_gone(struct server *s, struct list *link)
{
	struct conn *c = CONN_OF(link);

	list_del(link);
	list_push_back(&s->gone, link);
	(void)event_del(&c->on_read);
	(void)event_del(&c->on_write);
	(void)event_del(&c->on_timer);
}

static void
reap(struct server *s)
{
	bool any = !list_empty(&s->gone);

	while (!list_empty(&s->gone)) {
		conn_free(CONN_OF(list_first(&s->gone)));
		s->nconns--;
	}
	if (any)
		set_accepting(s, true);
}

/* As many descriptors as the system allows. */
static void
raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
}

int
server_init(struct server *s, struct origin *o)
{
	static const struct timeval flush = {.tv_usec = 200000};
	struct event_config *cfg = event_config_new();

	s->origin = o;
	list_init(&s->live);
	list_init(&s->gone);
	raise_limit();
	(void)signal(SIGPIPE, SIG_IGN);
	if (cfg != NULL) {
		/* a wait may not end early, nor milliseconds late */
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER);
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
		s->base = event_base_new_with_config(cfg);
		event_config_free(cfg);
	}
	if (s->base == NULL) {
		log_err("no event loop: out of memory or of descriptors");
		return -1;
	}
	(void)evsignal_assign(&s->on_term, s->base, SIGTERM, on_stop, s);
	(void)evsignal_assign(&s->on_int, s->base, SIGINT, on_stop, s);
	(void)evtimer_assign(&s->on_retry, s->base, on_retry, s);
	(void)event_assign(&s->on_flush, s->base, -1, EV_PERSIST, on_flush, s);
	if (evsignal_add(&s->on_term, NULL) < 0 ||
	    evsignal_add(&s->on_int, NULL) < 0 ||
	    event_add(&s->on_flush, &flush) < 0) {
		log_err("signals can't be watched: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* "127.0.0.1:80", "[::1]:80", ":80" into host and port. */
static int
split_where(const char *where, char *host, size_t host_bytes, const char **port)
{
	const char *colon = strrchr(where, ':'), *from = where;
	uint64_t number;
	size_t n;

	if (colon == NULL ||
	    amount_count(span_of(colon + 1), 65535, &number) < 0)
		return -1;
	n = (size_t)(colon - where);
	if (n >= 2 && where[0] == '[' && where[n - 1] == ']') {
		from++;
		n -= 2;
	} else if (memchr(where, ':', n) != NULL) {
		return -1;
	}
	if (n >= host_bytes)
		return -1;
	memcpy(host, from, n);
	host[n] = '\0';
	*port = colon + 1;
	return 0;
}

static int
bind_and_listen(const struct addrinfo *ai)
{
	int one = 1, saved;
	int fd = socket(ai->ai_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	saved = errno;
	(void)close(fd);
	errno = saved;
	return -1;
}

static void
listener_name(int fd, char *out, size_t bytes)
{
	struct sockaddr_storage ss = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof ss;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	out[0] = '\0';
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0 &&
	    getnameinfo((struct sockaddr *)&ss, len, host, sizeof host, port,
		sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		(void)snprintf(out, bytes,
		    ss.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

int
server_listen(struct server *s, const char *where, char *ret_name,
    size_t name_bytes, const char **ret_why, bool *ret_usage)
{
	struct addrinfo want = {
	    .ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	struct addrinfo *found;
	char host[256];
	const char *port;
	struct listener *l = &s->listeners[s->nlisteners];
	int rc;

	*ret_usage = true;
	*ret_why = "write HOST:PORT or [IPv6]:PORT; at most eight of them";
	if (s->nlisteners == SERVER_LISTENERS_MAX ||
	    split_where(where, host, sizeof host, &port) < 0)
		return -1;
	*ret_usage = false;
	rc = getaddrinfo(host[0] != '\0' ? host : NULL, port, &want, &found);
	if (rc != 0) {
		*ret_why = gai_strerror(rc);
		return -1;
	}
	l->fd = bind_and_listen(found);
	freeaddrinfo(found);
	if (l->fd < 0) {
		*ret_why = strerror(errno);
		return -1;
	}
	l->server = s;
	(void)event_assign(&l->ev, s->base, l->fd, EV_READ | EV_PERSIST,
	    on_accept, l);
	listener_name(l->fd, ret_name, name_bytes);
	s->nlisteners++;
	return 0;
}

void
server_run(struct server *s)
{
	set_accepting(s, true);
	while (!s->stopping) {
		if (event_base_loop(s->base, EVLOOP_ONCE) < 0) {
			log_err("the event loop failed: %s", strerror(errno));
			return;
		}
		reap(s);
	}
}

void
server_free(struct server *s)
{
	struct list *it, *tmp;

	if (s->base == NULL)
		return;
	set_accepting(s, false);
	(void)event_del(&s->on_retry);
	LIST_EACH_SAFE(it, tmp, &s->live)
		conn_stop(CONN_OF(it));
	reap(s);
	set_accepting(s, false);
	for (unsigned i = 0; i < s->nlisteners; i++)
		(void)close(s->listeners[i].fd);
	(void)event_del(&s->on_retry);
	(void)event_del(&s->on_term);
	(void)event_del(&s->on_int);
	(void)event_del(&s->on_flush);
	event_base_free(s->base);
	s->base = NULL;
}

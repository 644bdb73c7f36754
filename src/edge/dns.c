/* SPDX-License-Identifier: MIT */
/*
 * dns.c: c-ares on an event loop.
 *
 * Decides how c-ares's sockets and time-outs are waited for, and what its
 * statuses mean to us. It knows no cache, no waiting askers and no order of
 * addresses.
 *
 *	sockets    c-ares says which fds it wants; each has one struct event
 *	time-outs  one timer, always armed (for tomorrow while nothing is asked),
 *	           so that arming it can't fail
 *	hosts file a second channel that looks nowhere else and answers at once
 *
 * Both families are separate questions here, not one ares_getaddrinfo: c-ares
 * 1.18 reports of the two statuses the one that came last, so a failed A
 * question would pass for "no such name", and it has addresses wait for a
 * family whose answer was lost.
 */
#include "edge/dns.h"

#include <ares.h>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <event2/event_struct.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define IDLE_MS (24 * 3600 * 1000) /* how far "never" is */
#define SERVERS_TEXT_MAX 4096

struct dns_socket {
	struct list link; /* in dns.sockets or dns.spare */
	struct dns *dns;  /* the one it is part of */
	struct event ev;
	ares_socket_t fd;
};

struct dns {
	ares_channel channel;       /* owns */
	ares_channel files;         /* owns */
	struct ares_options resolv; /* owns: ndots and search domains */
	struct event_base *base;    /* borrows, as all three */
	struct timers *timers;
	const int64_t *now_ms;
	struct timer tick;
	struct list sockets; /* owns: watched */
	struct list spare;   /* owns: none is freed inside its own callback */
};

static enum dns_status
status_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return DNS_FOUND;
	case ARES_ENODATA:
	case ARES_ENOTFOUND:
	case ARES_EBADNAME: /* such as one made too long by a search domain */
		return DNS_NONE;
	case ARES_ENOMEM:
		return DNS_NO_MEMORY;
	case ARES_EDESTRUCTION:
		return DNS_STOPPED;
	default:
		return DNS_FAILED;
	}
}

/* --- what c-ares waits for ------------------------------------------------ */

/* After every call that may have sent, received or given up something. */
static void
schedule(struct dns *d)
{
	struct timeval tv, *left = ares_timeout(d->channel, NULL, &tv);
	int64_t wait_ms = IDLE_MS;

	/* Rounded up, and never now: c-ares reads a clock of its own. */
	if (left != NULL)
		wait_ms =
		    (int64_t)left->tv_sec * 1000 + left->tv_usec / 1000 + 1;
	(void)!timer_arm(d->timers, &d->tick, clock_add(*d->now_ms, wait_ms));
}

static void
tick(struct timer *t, int64_t now_ms)
{
	struct dns *d = AB_CONTAINER(t, struct dns, tick);

	/* First of all: the place in the heap was this timer's just now. */
	(void)!timer_arm(d->timers, t, clock_add(now_ms, IDLE_MS));
	ares_process_fd(d->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	schedule(d);
}

static void
ready(evutil_socket_t fd, short what, void *arg)
{
	struct dns *d = ((struct dns_socket *)arg)->dns;

	ares_process_fd(d->channel, what & EV_READ ? fd : ARES_SOCKET_BAD,
	    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
	schedule(d);
}

static struct dns_socket *
socket_of(struct dns *d, ares_socket_t fd)
{
	struct list *it, *tmp;

	LIST_EACH_SAFE(it, tmp, &d->sockets) {
		struct dns_socket *s =
		    AB_CONTAINER(it, struct dns_socket, link);

		if (s->fd == fd)
			return s;
	}
	return NULL;
}

static struct dns_socket *
socket_new(struct dns *d, ares_socket_t fd)
{
	struct list *l = list_first(&d->spare);
	struct dns_socket *s;

	if (l != NULL) {
		s = AB_CONTAINER(l, struct dns_socket, link);
		list_del(&s->link);
	} else {
		s = mem_zalloc(sizeof(*s));
		if (s == NULL)
			return NULL;
	}
	s->dns = d;
	s->fd = fd;
	list_push_back(&d->sockets, &s->link);
	return s;
}

/*
 * ares_sock_state_cb. A socket that can't be watched for want of memory goes
 * unheard, and what was asked through it ends as a time-out.
 */
static void
watch(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct dns *d = arg;
	struct dns_socket *s = socket_of(d, fd);
	short what =
	    (short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));

	if (s != NULL)
		event_del(&s->ev);
	else if (what != 0)
		s = socket_new(d, fd);
	if (s == NULL)
		return;
	if (what == 0) {
		list_del(&s->link);
		list_push_back(&d->spare, &s->link);
		return;
	}
	event_assign(&s->ev, d->base, fd, (short)(what | EV_PERSIST), ready, s);
	(void)event_add(&s->ev, NULL);
}

/* --- setting up ----------------------------------------------------------- */

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static int library_status;

static void
library_init(void)
{
	library_status = ares_library_init(ARES_LIB_INIT_ALL);
}

/* c-ares takes "[v6]:port" and "v6", but not "[v6]": that gets its port. */
static int
set_servers(ares_channel channel, const char *servers)
{
	struct span rest = span_of(servers), item;
	struct strbuf b;
	int status = ARES_ENOMEM;

	strbuf_init(&b, SERVERS_TEXT_MAX);
	while (span_cut(&rest, ',', &item)) {
		item = span_trim(item);
		if (b.n > 0)
			strbuf_char(&b, ',');
		strbuf_span(&b, item);
		if (span_ends(item, SPAN("]")))
			strbuf_lit(&b, ":53");
	}
	strbuf_char(&b, '\0');
	if (!b.failed)
		status = ares_set_servers_ports_csv(channel, b.p);
	strbuf_free(&b);
	return status;
}

/*
 * The first of DNS_TRIES waits: 1 + 2 of its length are over well before the
 * whole time is, so that a lost packet or two is made up for.
 */
static int
first_try_ms(int64_t timeout_ms)
{
	int64_t ms = timeout_ms / 4;

	if (ms < 1)
		return 1;
	return ms > INT_MAX / 8 ? INT_MAX / 8 : (int)ms;
}

static int
open_channels(struct dns *d, const char *servers, int64_t timeout_ms)
{
	static char lookups[] = "f";
	struct ares_options o = {.tries = DNS_TRIES,
	    .timeout = first_try_ms(timeout_ms),
	    .sock_state_cb = watch,
	    .sock_state_cb_data = d};
	struct ares_options files = {.flags = ARES_FLAG_NOALIASES,
	    .lookups = lookups};
	int status, mask;

	status = ares_init_options(&d->channel, &o,
	    ARES_OPT_TRIES | ARES_OPT_TIMEOUTMS | ARES_OPT_SOCK_STATE_CB);
	if (status != ARES_SUCCESS)
		return status;
	status = ares_init_options(&d->files, &files,
	    ARES_OPT_FLAGS | ARES_OPT_LOOKUPS);
	if (status != ARES_SUCCESS)
		return status;
	if (servers[0] != '\0')
		status = set_servers(d->channel, servers);
	if (status != ARES_SUCCESS)
		return status;
	return ares_save_options(d->channel, &d->resolv, &mask);
}

struct dns *
dns_new(struct event_base *base, struct timers *timers, const int64_t *now_ms,
    const char *servers, int64_t timeout_ms, const char **ret_why)
{
	struct dns *d = mem_zalloc(sizeof(*d));
	int status = ARES_ENOMEM;

	(void)pthread_once(&library_once, library_init);
	if (d == NULL || library_status != ARES_SUCCESS)
		goto out;
	d->base = base;
	d->timers = timers;
	d->now_ms = now_ms;
	list_init(&d->sockets);
	list_init(&d->spare);
	timer_init(&d->tick, tick);
	if (timer_arm(timers, &d->tick, clock_add(*now_ms, IDLE_MS)) == 0)
		status = open_channels(d, servers, timeout_ms);
	if (status == ARES_SUCCESS)
		return d;
	dns_free(d);
	d = NULL;
out:
	mem_free(d);
	*ret_why = ares_strerror(status);
	return NULL;
}

static void
free_sockets(struct list *head)
{
	struct list *it, *tmp;

	LIST_EACH_SAFE(it, tmp, head)
		mem_free(AB_CONTAINER(it, struct dns_socket, link));
}

void
dns_free(struct dns *d)
{
	if (d == NULL)
		return;
	if (d->channel != NULL)
		ares_destroy(d->channel); /* unwatches its sockets */
	if (d->files != NULL)
		ares_destroy(d->files);
	ares_destroy_options(&d->resolv);
	timer_stop(d->timers, &d->tick);
	free_sockets(&d->sockets);
	free_sockets(&d->spare);
	mem_free(d);
}

/* --- questions ------------------------------------------------------------ */

static void
add(struct dns_found *f, const void *addr, size_t n, int ttl_s)
{
	/* A TTL with the highest bit set counts as 0 (RFC 2181 8). */
	int64_t ttl_ms = ttl_s < 0 ? 0 : (int64_t)ttl_s * 1000;

	if (f->n == DNS_ADDRS_MAX)
		return;
	if (f->n == 0 || ttl_ms < f->ttl_ms)
		f->ttl_ms = ttl_ms;
	memcpy(f->v[f->n++], addr, n);
}

static int
parse_v4(const unsigned char *msg, int n, struct dns_found *ret)
{
	struct ares_addrttl v[DNS_ADDRS_MAX];
	int count = DNS_ADDRS_MAX;
	int status = ares_parse_a_reply(msg, n, NULL, v, &count);

	if (status != ARES_SUCCESS)
		return status;
	for (int i = 0; i < count; i++)
		add(ret, &v[i].ipaddr, 4, v[i].ttl);
	return count > 0 ? ARES_SUCCESS : ARES_ENODATA;
}

static int
parse_v6(const unsigned char *msg, int n, struct dns_found *ret)
{
	struct ares_addr6ttl v[DNS_ADDRS_MAX];
	int count = DNS_ADDRS_MAX;
	int status = ares_parse_aaaa_reply(msg, n, NULL, v, &count);

	if (status != ARES_SUCCESS)
		return status;
	for (int i = 0; i < count; i++)
		add(ret, &v[i].ip6addr, 16, v[i].ttl);
	return count > 0 ? ARES_SUCCESS : ARES_ENODATA;
}

/* ares_callback */
static void
answered(void *arg, int status, int timeouts, unsigned char *msg, int n)
{
	struct dns_ask *ask = arg;

	(void)timeouts;
	if (status == ARES_SUCCESS)
		status = ask->family == AF_INET ? parse_v4(msg, n, &ask->found)
						: parse_v6(msg, n, &ask->found);
	ask->status = status_of(status);
	ask->done(ask);
}

void
dns_query(struct dns *d, const char *name, struct dns_ask *ask)
{
	ask->found = (struct dns_found){.n = 0};
	ares_query(d->channel, name, ns_c_in,
	    ask->family == AF_INET ? ns_t_a : ns_t_aaaa, answered, ask);
	schedule(d);
}

bool
dns_candidate(const struct dns *d, const char *name, unsigned i,
    char ret[DNS_NAME_SIZE])
{
	size_t n = strlen(name);
	bool absolute = n > 0 && name[n - 1] == '.';
	unsigned ndomains = absolute ? 0 : (unsigned)d->resolv.ndomains;
	unsigned as_is_at = ndomains;
	int dots = 0;

	for (size_t k = 0; k < n; k++)
		dots += name[k] == '.';
	if (dots >= d->resolv.ndots)
		as_is_at = 0;
	if (i > ndomains)
		return false;
	if (i == as_is_at)
		(void)snprintf(ret, DNS_NAME_SIZE, "%s", name);
	else
		(void)snprintf(ret, DNS_NAME_SIZE, "%s.%s", name,
		    d->resolv.domains[as_is_at == 0 ? i - 1 : i]);
	return true;
}

/* --- the hosts file ------------------------------------------------------- */

struct hosts_look {
	struct dns_found *v6, *v4; /* borrow */
};

/* ares_addrinfo_callback */
static void
looked_up(void *arg, int status, int timeouts, struct ares_addrinfo *ai)
{
	struct hosts_look *look = arg;

	(void)status; /* ECONNREFUSED where the name is not in the file */
	(void)timeouts;
	if (ai == NULL)
		return;
	for (struct ares_addrinfo_node *at = ai->nodes; at; at = at->ai_next) {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;

		if (at->ai_family == AF_INET) {
			memcpy(&in, at->ai_addr, sizeof(in));
			add(look->v4, &in.sin_addr, 4, 0);
		} else if (at->ai_family == AF_INET6) {
			memcpy(&in6, at->ai_addr, sizeof(in6));
			add(look->v6, &in6.sin6_addr, 16, 0);
		}
	}
	ares_freeaddrinfo(ai);
}

bool
dns_hosts(struct dns *d, const char *name, struct dns_found *ret_v6,
    struct dns_found *ret_v4)
{
	struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC,
	    .ai_flags = ARES_AI_NOSORT};
	struct hosts_look look = {.v6 = ret_v6, .v4 = ret_v4};

	*ret_v6 = *ret_v4 = (struct dns_found){.n = 0};
	ares_getaddrinfo(d->files, name, NULL, &hints, looked_up, &look);
	return ret_v6->n + ret_v4->n > 0;
}

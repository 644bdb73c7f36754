/* SPDX-License-Identifier: MIT */
/*
 * dns_rig: a name server on 127.0.0.1 that answers from a table, and an event
 * loop with a clock that only the test moves. The real clock is looked at to
 * give up on a loop in which nothing happens any more.
 */
#ifndef AB_DNS_RIG_H
#define AB_DNS_RIG_H

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "edge/resolve.h"

enum rig_says {
	RIG_ADDRS,
	RIG_NO_NAME, /* NXDOMAIN */
	RIG_SERVFAIL,
	RIG_SILENT,
	RIG_HELD,     /* the addresses, when rig_release is called */
	RIG_TOO_LONG, /* TC over UDP, the addresses over TCP */
	RIG_NONSENSE, /* an answer whose records are cut */
};

struct rig_rule {
	const char *name;  /* NULL ends the table */
	int type;          /* ns_t_a or ns_t_aaaa */
	enum rig_says says;
	const char *addrs; /* separated by ' '; "": none (NODATA) */
	uint32_t ttl_s;
	uint32_t less_s; /* by which each next address has a shorter TTL */
	const char *alias; /* CNAME on the way, with alias_ttl_s; or NULL */
	uint32_t alias_ttl_s;
};

#define RIG_LOG_MAX 64
#define RIG_TICK_MS 5 /* of the real clock, while nothing happens */
#define RIG_TICKS   2000

struct dns_rig {
	const struct rig_rule *rules;
	int udp, tcp;
	struct event udp_ev, tcp_ev, conn_ev, tick_ev;
	char servers[32]; /* for struct resolver_cfg */
	struct event_base *base;
	struct timers timers;
	int64_t now_ms;
	unsigned ticks;
	char log[RIG_LOG_MAX][300]; /* "A name", as asked */
	unsigned nlog, ntcp;
	struct {
		unsigned char p[1024];
		size_t n;
		struct sockaddr_in to;
	} held; /* one answer */
};

/* --- messages ------------------------------------------------------------- */

static size_t
rig_put16(unsigned char *p, size_t n, unsigned v)
{
	p[n] = (unsigned char)(v >> 8);
	p[n + 1] = (unsigned char)v;
	return n + 2;
}

static size_t
rig_put32(unsigned char *p, size_t n, uint32_t v)
{
	return rig_put16(p, rig_put16(p, n, v >> 16), v & 0xffff);
}

/* Labels, uncompressed. */
static size_t
rig_put_name(unsigned char *p, size_t n, const char *name)
{
	while (*name != '\0') {
		size_t len = strcspn(name, ".");

		p[n++] = (unsigned char)len;
		memcpy(p + n, name, len);
		n += len;
		name += len + (name[len] == '.');
	}
	p[n++] = 0;
	return n;
}

/* The question's name and type; returns where the question ends. */
static size_t
rig_question(const unsigned char *p, char name[256], int *ret_type)
{
	size_t at = 12, n = 0;

	while (p[at] != 0) {
		memcpy(name + n, p + at + 1, p[at]);
		n += p[at];
		name[n++] = '.';
		at += p[at] + 1u;
	}
	name[n > 0 ? n - 1 : 0] = '\0';
	*ret_type = p[at + 1] << 8 | p[at + 2];
	return at + 5;
}

static size_t
rig_put_record(unsigned char *p, size_t n, const char *name, int type,
    uint32_t ttl_s, const void *data, size_t data_n)
{
	n = rig_put_name(p, n, name);
	n = rig_put16(p, n, (unsigned)type);
	n = rig_put16(p, n, ns_c_in);
	n = rig_put32(p, n, ttl_s);
	n = rig_put16(p, n, (unsigned)data_n);
	memcpy(p + n, data, data_n);
	return n + data_n;
}

static size_t
rig_put_addrs(unsigned char *p, size_t n, const struct rig_rule *r,
    const char *name, unsigned *count)
{
	char text[2048], *save = NULL;
	uint32_t ttl_s = r->ttl_s;

	(void)snprintf(text, sizeof(text), "%s", r->addrs);
	for (char *a = strtok_r(text, " ", &save); a != NULL;
	     a = strtok_r(NULL, " ", &save)) {
		unsigned char bin[16];
		int family = r->type == ns_t_a ? AF_INET : AF_INET6;

		if (inet_pton(family, a, bin) != 1)
			abort();
		n = rig_put_record(p, n, name, r->type, ttl_s, bin,
		    family == AF_INET ? 4 : 16);
		ttl_s -= r->less_s;
		++*count;
	}
	return n;
}

/* Turns the question in p into its answer; 0: none is given. */
static size_t
rig_answer(unsigned char *p, size_t end, const struct rig_rule *r, bool tcp)
{
	unsigned char alias[256];
	unsigned count = 0;
	char name[256];
	int type;
	size_t n = end;

	(void)rig_question(p, name, &type);
	p[2] = 0x81; /* QR, RD */
	p[3] = 0x80; /* RA */
	memset(p + 6, 0, 6);
	if (r == NULL || r->says == RIG_NO_NAME) {
		p[3] |= ns_r_nxdomain;
		return n;
	}
	if (r->says == RIG_SILENT)
		return 0;
	if (r->says == RIG_SERVFAIL) {
		p[3] |= ns_r_servfail;
		return n;
	}
	if (r->says == RIG_TOO_LONG && !tcp) {
		p[2] |= 2; /* TC */
		return n;
	}
	if (r->alias != NULL) {
		n = rig_put_record(p, n, name, ns_t_cname, r->alias_ttl_s,
		    alias, rig_put_name(alias, 0, r->alias));
		count++;
	}
	n = rig_put_addrs(p, n, r, r->alias ? r->alias : name, &count);
	(void)rig_put16(p, 6, count);
	return r->says == RIG_NONSENSE ? n - 3 : n;
}

/* --- the server ----------------------------------------------------------- */

static const struct rig_rule *
rig_rule_for(const struct dns_rig *rig, const char *name, int type)
{
	const struct rig_rule *r = rig->rules;

	while (r->name != NULL &&
	       (strcasecmp(r->name, name) != 0 || r->type != type))
		r++;
	return r->name ? r : NULL;
}

static size_t
rig_serve(struct dns_rig *rig, unsigned char *p, bool tcp,
    const struct rig_rule **ret_rule)
{
	char name[256];
	int type;
	size_t end = rig_question(p, name, &type);

	*ret_rule = rig_rule_for(rig, name, type);
	if (rig->nlog < RIG_LOG_MAX)
		(void)snprintf(rig->log[rig->nlog], sizeof(rig->log[0]),
		    "%s %s", type == ns_t_a ? "A" : "AAAA", name);
	rig->nlog++;
	return rig_answer(p, end, *ret_rule, tcp);
}

static void
rig_on_udp(evutil_socket_t fd, short what, void *arg)
{
	struct dns_rig *rig = arg;
	unsigned char p[4096];
	struct sockaddr_in from;
	socklen_t from_n = sizeof(from);
	ssize_t n;

	(void)what;
	while ((n = recvfrom(fd, p, 512, MSG_DONTWAIT, (struct sockaddr *)&from,
		    &from_n)) > 0) {
		const struct rig_rule *r;
		size_t out = rig_serve(rig, p, false, &r);

		if (r != NULL && r->says == RIG_HELD) {
			memcpy(rig->held.p, p, out);
			rig->held.n = out;
			rig->held.to = from;
		} else if (out > 0 && sendto(fd, p, out, 0,
				   (struct sockaddr *)&from, from_n) < 0) {
			abort();
		}
	}
}

/* Sends the answer held last. */
static inline void
rig_release(struct dns_rig *rig)
{
	if (sendto(rig->udp, rig->held.p, rig->held.n, 0,
		(struct sockaddr *)&rig->held.to, sizeof(rig->held.to)) < 0)
		abort();
}

/* One question per connection, all of it in one segment. */
static void
rig_on_conn(evutil_socket_t fd, short what, void *arg)
{
	struct dns_rig *rig = arg;
	const struct rig_rule *r;
	unsigned char p[4096];
	size_t n;

	(void)what;
	if (recv(fd, p, 512, 0) <= 14)
		abort();
	rig->ntcp++;
	n = rig_serve(rig, p + 2, true, &r);
	(void)rig_put16(p, 0, (unsigned)n);
	if (send(fd, p, n + 2, 0) != (ssize_t)n + 2)
		abort();
	(void)close(fd);
}

/* One connection at a time. */
static void
rig_on_tcp(evutil_socket_t fd, short what, void *arg)
{
	struct dns_rig *rig = arg;
	int conn = accept(fd, NULL, NULL);

	(void)what;
	if (conn < 0)
		abort();
	event_assign(
	    &rig->conn_ev, rig->base, conn, EV_READ, rig_on_conn, rig);
	if (event_add(&rig->conn_ev, NULL) != 0)
		abort();
}

static void
rig_on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	((struct dns_rig *)arg)->ticks++;
}

/* The same port for both; whose TCP half is taken is tried again. */
static void
rig_bind(struct dns_rig *rig)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(sa);

	for (int i = 0; i < 100; i++) {
		sa.sin_port = 0;
		rig->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		rig->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (bind(rig->udp, (struct sockaddr *)&sa, n) == 0 &&
		    getsockname(rig->udp, (struct sockaddr *)&sa, &n) == 0 &&
		    bind(rig->tcp, (struct sockaddr *)&sa, n) == 0 &&
		    listen(rig->tcp, 16) == 0) {
			(void)snprintf(rig->servers, sizeof(rig->servers),
			    "127.0.0.1:%u", ntohs(sa.sin_port));
			return;
		}
		(void)close(rig->tcp);
		(void)close(rig->udp);
	}
	abort();
}

/* With base NULL one is made; else the loop of another rig is shared. */
static inline void
rig_init(struct dns_rig *rig, struct event_base *base)
{
	static const struct timeval tick = {.tv_usec = RIG_TICK_MS * 1000};

	*rig = (struct dns_rig){.base = base ? base : event_base_new(),
	    .now_ms = 1000000};
	timers_init(&rig->timers);
	rig_bind(rig);
	event_assign(&rig->udp_ev, rig->base, rig->udp, EV_READ | EV_PERSIST,
	    rig_on_udp, rig);
	event_assign(&rig->tcp_ev, rig->base, rig->tcp, EV_READ | EV_PERSIST,
	    rig_on_tcp, rig);
	event_assign(
	    &rig->tick_ev, rig->base, -1, EV_PERSIST, rig_on_tick, rig);
	if (event_add(&rig->udp_ev, NULL) != 0 ||
	    event_add(&rig->tcp_ev, NULL) != 0 ||
	    event_add(&rig->tick_ev, &tick) != 0)
		abort();
}

static inline void
rig_free(struct dns_rig *rig, bool base_too)
{
	event_del(&rig->udp_ev);
	event_del(&rig->tcp_ev);
	event_del(&rig->tick_ev);
	(void)close(rig->udp);
	(void)close(rig->tcp);
	timers_clear(&rig->timers);
	if (base_too)
		event_base_free(rig->base);
}

/* --- the loop ------------------------------------------------------------- */

/* One turn: what is ready, then what is due. Waits for a tick at most. */
static inline void
rig_turn(struct dns_rig *rig)
{
	if (timers_next_ms(&rig->timers) > rig->now_ms)
		(void)event_base_loop(rig->base, EVLOOP_ONCE);
	else
		(void)event_base_loop(
		    rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	(void)timers_run(&rig->timers, rig->now_ms, 1000);
}

/* Turns until *count is n; false: it did not get there. */
static inline bool
rig_until(struct dns_rig *rig, const unsigned *count, unsigned n)
{
	rig->ticks = 0;
	while (*count < n && rig->ticks < RIG_TICKS)
		rig_turn(rig);
	return *count == n;
}

/* Turns until nothing happened for two ticks. */
static inline void
rig_settle(struct dns_rig *rig)
{
	rig->ticks = 0;
	while (rig->ticks < 2)
		rig_turn(rig);
}

#endif

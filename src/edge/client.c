/* SPDX-License-Identifier: MIT */
/*
 * client decides when a client's bytes are read, and as what: a head, a body,
 * or nothing until its answer has gone. It refuses to know what an answer
 * means, and which request waits for what.
 *
 *   HEAD -> BUSY -> HEAD ...          BUSY -> CLOSING -> LINGER -> DEAD
 *     `-> LOGIN -> HEAD               (a password is checked: client_login.c)
 *
 * While a request waits the socket is only looked at (peek), to see whether
 * the client is still there.
 */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include "access.h"
#include "base/mem.h"
#include "client_login.h"
#include "message.h"
#include "send.h"
#include "tunnel.h"

const struct policy *
client_policy(const struct client *c)
{
	return c->x ? c->x->r.policy : &c->worker->conf->defaults.policy;
}

static void
client_bury(struct corpse *corpse)
{
	struct client *c = AB_CONTAINER(corpse, struct client, corpse);

	mem_free(c->text);
	mem_free(c->inner);
	mem_free(c->user);
	mem_free(c->redirect);
	mem_free(c->in);
	outbuf_free(&c->out);
	chunked_free(&c->chunked);
	mem_free(c);
}

void
client_die(struct client *c)
{
	struct worker *w = c->worker;

	if (c->state == CLIENT_DEAD)
		return;
	c->state = CLIENT_DEAD;
	client_login_end(c);
	chan_close(&c->chan);
	timer_stop(&w->engine.timers, &c->timer);
	list_del(&c->link);
	list_del(&c->again.link);
	atomic_fetch_sub(&w->proc->connections, 1);
	worker_bury(w, &c->corpse, client_bury);
}

/* The client left, or can't be spoken to. */
void
client_lost(struct client *c)
{
	struct exchange *x = c->x;

	c->x = NULL;
	client_die(c);
	if (!x)
		return;
	x->client = NULL;
	request_gone(&x->r);
}

/* Renewing an armed timer can't fail; the first arming may. */
void
client_timer(struct client *c, int64_t ms)
{
	struct engine *e = &c->worker->engine;

	if (timer_arm(&e->timers, &c->timer, clock_add(e->now_ms, ms)) < 0)
		client_lost(c);
}

/* Keeps bytes for later; p may lie in c->in itself. */
int
client_stash(struct client *c, const char *p, size_t n)
{
	char *q;

	if (n == 0) {
		mem_free(c->in);
		c->in = NULL;
		c->in_n = c->in_cap = 0;
		return 0;
	}
	if (p >= c->in && p < c->in + c->in_cap) {
		memmove(c->in, p, n);
	} else {
		if (n > c->in_cap) {
			q = mem_realloc(c->in, n);
			if (!q)
				return -1;
			c->in = q;
			c->in_cap = n;
		}
		memcpy(c->in, p, n);
	}
	c->in_n = n;
	return 0;
}

int
client_send(struct client *c, struct iovec *v, int n)
{
	if (outbuf_send(&c->out, &c->chan, v, n) == 0)
		return 0;
	client_lost(c);
	return -1;
}

void
client_look_again(struct again *a)
{
	struct client *c = AB_CONTAINER(a, struct client, again);

	c->chan.ready(&c->chan);
}

static void
client_later(struct chan *ch)
{
	struct client *c = AB_CONTAINER(ch, struct client, chan);

	worker_again(c->worker, &c->again, client_look_again);
}

void
client_done(struct client *c, bool whole)
{
	if (c->x) {
		c->unread = c->x->r.has_body && !c->x->r.body.complete;
		c->x->client = NULL;
	}
	c->x = NULL;
	if (!whole) {
		client_cut(c, false);
		return;
	}
	c->served = true;
	if (c->worker->draining)
		c->close = true;
	c->state = c->close ? CLIENT_CLOSING : CLIENT_HEAD;
	client_timer(c, client_policy(c)->idle_timeout_ms);
	if (c->state == CLIENT_DEAD)
		return;
	if (c->state == CLIENT_CLOSING && outbuf_empty(&c->out))
		client_linger(c);
	else if (c->in_n > 0 || chan_has_input(&c->chan))
		worker_again(c->worker, &c->again, client_look_again);
}

void
client_answer(struct client *c, struct exchange *x, const struct answer *a,
    const struct refusal *why)
{
	struct worker *w = c->worker;
	struct iovec v;

	if (x && x->blind) {
		request_answered(&x->r);
		client_cut(c, true);
		return;
	}
	if (x)
		c->unread = x->r.has_body && !x->r.body.complete;
	else
		c->unread = !why->keep; /* what follows is nobody's to judge */
	if (c->unread || (x && !x->keep) || w->draining)
		c->close = true;
	strbuf_clear(&w->text);
	message_answer(&w->text, x, a, why, c->close);
	if (w->text.failed) {
		client_lost(c);
		return;
	}
	v = (struct iovec){w->text.p, w->text.n};
	if (x)
		x->final_status = a->status;
	if (client_send(c, &v, 1) < 0)
		return;
	if (x)
		request_answered(&x->r);
	client_done(c, true);
}

/* Is the client still there? Only asked where its bytes are not wanted. */
static void
client_check(struct client *c)
{
	struct request *r = &c->x->r;
	int got = chan_peek(&c->chan);

	if (got == CHAN_ERROR) {
		client_lost(c);
		return;
	}
	if (got == 0 || c->chan.fin) {
		c->close = true;
		if (r->state == REQUEST_WAITING && !r->policy->allow_half_close)
			client_lost(c);
	}
}

void
client_parked(struct client *c)
{
	/* What came together with the request had no event of its own. */
	int got = chan_peek(&c->chan);

	if (got == CHAN_ERROR ||
	    ((got == 0 || c->chan.fin) && !c->x->r.policy->allow_half_close))
		client_lost(c);
}

/* Something is possible while an exchange is under way. */
static void
client_busy(struct client *c)
{
	struct exchange *x = c->x;

	if (AB_NEVER(x == NULL))
		return;
	if (x->tunnel) {
		tunnel_pump(x);
		return;
	}
	if (outbuf_empty(&c->out) && x->up)
		upstream_resume(x->up);
	if (c->x != x || c->state != CLIENT_BUSY)
		return;
	if (client_body_wanted(c))
		client_read_body(c);
	else
		client_check(c);
}

static void
client_ready(struct chan *ch)
{
	struct client *c = AB_CONTAINER(ch, struct client, chan);
	struct exchange *x = c->x;
	size_t moved;

	worker_enter(c->worker);
	if (!outbuf_empty(&c->out)) {
		if (outbuf_flush(&c->out, ch, &moved) < 0) {
			client_lost(c);
			return;
		}
		if (x && moved)
			request_progress(&x->r);
		else if (moved)
			client_timer(c, client_policy(c)->idle_timeout_ms);
	}
	switch (c->state) {
	case CLIENT_FIRST:
		client_read_first(c);
		break;
	case CLIENT_HELLO:
		if (outbuf_empty(&c->out))
			client_read_hello(c);
		break;
	case CLIENT_TLS:
		client_handshake(c);
		break;
	case CLIENT_HEAD:
		if (outbuf_empty(&c->out))
			client_read_head(c);
		break;
	case CLIENT_LOGIN:
		client_login_watch(c);
		break;
	case CLIENT_BUSY:
		client_busy(c);
		break;
	case CLIENT_CLOSING:
		if (outbuf_empty(&c->out))
			client_linger(c);
		break;
	case CLIENT_LINGER:
		client_read_linger(c);
		break;
	case CLIENT_DEAD:
		break;
	}
}

static void
client_timeout(struct timer *t, int64_t now_ms)
{
	struct client *c = AB_CONTAINER(t, struct client, timer);
	struct refusal why = {
	    .status = 408,
	    .why = GIVE_UP_CLIENT_TIMEOUT,
	    .detail = "the request head did not arrive in time",
	};

	(void)now_ms;
	switch (c->state) {
	case CLIENT_FIRST:
		client_turn_away(c, GIVE_UP_CLIENT_TIMEOUT,
		    "it did not say in time what it is");
		break;
	case CLIENT_HELLO:
	case CLIENT_TLS:
		access_no_tls(c, "the TLS handshake took too long");
		client_die(c);
		break;
	case CLIENT_HEAD:
		if (c->in_n == 0 || !outbuf_empty(&c->out)) {
			client_die(c);
			break;
		}
		client_refuse_unread(c, &why);
		break;
	case CLIENT_LOGIN:
		client_login_late(c);
		break;
	case CLIENT_BUSY:
		client_timer(c, client_policy(c)->idle_timeout_ms);
		if (c->state == CLIENT_BUSY && c->x->r.state == REQUEST_READING)
			request_give_up(&c->x->r, 408, GIVE_UP_CLIENT_TIMEOUT);
		break;
	case CLIENT_CLOSING:
	case CLIENT_LINGER:
		client_spoil(c);
		client_die(c);
		break;
	case CLIENT_DEAD:
		break;
	}
}

/* The address as text, and a hash of it without the port: fairness is between
 * machines, not between connections. */
static int
client_name(struct client *c, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in4 = (const void *)sa;
	char text[INET6_ADDRSTRLEN] = "unix";

	if (sa->sa_family == AF_INET)
		inet_ntop(AF_INET, &in4->sin_addr, text, sizeof(text));
	else if (sa->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	c->who = hash_bytes(&c->worker->proc->hash, text, strlen(text));
	c->text = mem_dup(span_of(text));
	return c->text ? 0 : -1;
}

void
client_new(struct worker *w, int fd, const struct sockaddr *sa,
    enum conf_listen_kind kind, struct redirect *r)
{
	struct client *c = mem_zalloc(sizeof(*c));
	int on = 1;

	if (!c) {
		mem_free(r);
		close(fd);
		return;
	}
	c->worker = w;
	c->redirect = r;
	c->state = r ? CLIENT_FIRST : CLIENT_HEAD;
	list_init(&c->link);
	list_init(&c->again.link);
	timer_init(&c->timer, client_timeout);
	if (client_name(c, sa) < 0 ||
	    chan_open(&c->chan, w->base, fd, client_ready) < 0) {
		if (!c->text)
			close(fd);
		mem_free(c->text);
		mem_free(r);
		mem_free(c);
		return;
	}
	c->chan.later = client_later;
	if (sa->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	list_push_back(&w->clients, &c->link);
	atomic_fetch_add(&w->proc->connections, 1);
	client_timer(c, client_policy(c)->head_timeout_ms);
	if (kind != CONF_LISTEN_TLS || c->state == CLIENT_DEAD)
		return;
	if (w->conf->tls && w->conf->tls->listen)
		client_begin_tls(c, w->conf->tls->listen);
	else
		client_lost(c); /* taken out by a reload, which the log told */
}

/* SPDX-License-Identifier: MIT */
/*
 * client_first decides what a connection is that was meant for somebody else:
 * by its first bytes, which are kept, and go on to whoever they are for.
 *
 *   FIRST -> HEAD        HTTP: each request goes where its Host leads
 *         -> HELLO ...   TLS for a name that is intercepted
 *         -> BUSY        all else: a tunnel to where the client meant to go
 *
 * It refuses to know which hosts are intercepted and where one may go (intake).
 * Nothing can be said to such a client before it is known to speak HTTP.
 */
#include "access.h"
#include "client.h"
#include "proto/hello.h"

#define LOOP_LOG_MS 1000

void
client_turn_away(struct client *c, enum give_up why, const char *text)
{
	access_turned_away(c, why, text);
	client_cut(c, true);
}

/* Once a second is enough to act on. */
static void
log_loop(struct worker *w, const struct redirect *r)
{
	long long now_ms = w->engine.now_ms;
	long long last_ms = atomic_load(&w->proc->loop_ms);

	if ((last_ms && now_ms - last_ms < LOOP_LOG_MS) ||
	    !atomic_compare_exchange_strong(&w->proc->loop_ms, &last_ms,
		now_ms))
		return;
	log_err("a connection of abided to %s port %u was redirected back to "
		"it: exclude the user that abided runs as from the netfilter "
		"rule",
	    r->host, r->port);
}

/* Asks as with CONNECT: to NAME, or without one to the address. */
static void
client_first_tunnel(struct client *c, const char *name)
{
	struct worker *w = c->worker;
	const struct redirect *r = c->redirect;
	const char *host = name[0] ? name : r->host;
	char target[HELLO_NAME_MAX + sizeof("[]:65535")];
	struct refusal why = {0};
	struct exchange *x;

	(void)snprintf(target, sizeof(target),
	    strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, r->port);
	/* Of HTTP/1.0, where there need be no Host. */
	w->head = (struct head){
	    .is_request = true,
	    .method = SPAN("CONNECT"),
	    .target = span_of(target),
	};
	x = exchange_new(c, &w->head, &why);
	if (x) {
		c->state = CLIENT_BUSY;
		c->x = x;
		request_begin(&x->r);
	} else if (why.status) {
		why.status = 0; /* which is what the client gets */
		access_refused(c, &w->head, &why);
		client_cut(c, true);
	} else {
		client_intercept(c, span_of(host), r->port);
	}
}

/* False: more bytes are needed. */
static bool
client_take_first(struct client *c)
{
	struct worker *w = c->worker;
	struct hello hello;
	enum hello_result res = hello_parse(c->in, c->in_n, &hello);

	if (res == HELLO_AGAIN)
		return false;
	if (ways_have(&w->proc->ways, c->redirect->way)) {
		log_loop(w, c->redirect);
		client_turn_away(c, GIVE_UP_LOOP, "a connection of our own");
	} else if (res == HELLO_BAD) {
		client_turn_away(c, GIVE_UP_CLIENT_TLS, hello.why);
	} else if (hello.looks_http) {
		c->state = CLIENT_HEAD;
		client_read_head(c);
	} else {
		client_first_tunnel(c, hello.sni);
	}
	return true;
}

void
client_read_first(struct client *c)
{
	ssize_t got;

	while (c->state == CLIENT_FIRST) {
		if (client_grow(c, HELLO_BYTES_MAX) < 0) {
			client_lost(c);
			return;
		}
		got = chan_read(&c->chan, c->in + c->in_n, c->in_cap - c->in_n);
		if (got == CHAN_AGAIN)
			return;
		if (got <= 0) {
			client_lost(c);
			return;
		}
		c->in_n += (size_t)got;
		if (client_take_first(c))
			return;
	}
}

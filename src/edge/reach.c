/* SPDX-License-Identifier: MIT */
/*
 * reach decides what a connection needs before a request may go, and what its
 * failing means. It refuses to know whether another try would help
 * (policy/verdict).
 */
#include "reach.h"

#include <openssl/ssl.h>

#include "parent.h"
#include "tls.h"
#include "tls_set.h"

/* A session is taken up again only with the same server, known by the same
 * authorities, and as the same client. */
static uint64_t
session_key(const struct upstream *u)
{
	uint64_t both[2] = {u->place, u->service->tls_upstream->id};

	return hash_bytes(&u->worker->proc->hash, both, sizeof(both));
}

static void
keep_session(struct tls_keeper *k, SSL_SESSION *s)
{
	struct upstream *u = AB_CONTAINER(k, struct upstream, keeper);

	tls_cache_put(&u->worker->sessions, session_key(u), s);
}

static enum attempt_end
end_of(enum tls_fault fault)
{
	switch (fault) {
	case TLS_FAULT_CERTIFICATE:
		return ATTEMPT_TLS_CERTIFICATE;
	case TLS_FAULT_LOST:
		return ATTEMPT_CONNECT_FAILED; /* nothing was sent */
	case TLS_FAULT_MEMORY:
		return ATTEMPT_NO_MEMORY;
	case TLS_FAULT_NONE:
	case TLS_FAULT_ALERT:
	case TLS_FAULT_PROTOCOL:
	case TLS_FAULT_HTTP:
		break;
	}
	return ATTEMPT_TLS;
}

static void
reach_handshake(struct upstream *u)
{
	struct exchange *x = u->x;
	int res = tls_handshake(u->chan.tls);

	if (res == CHAN_AGAIN)
		return;
	if (res == 0) {
		SSL_SESSION *again = tls_session_again(u->chan.tls);

		if (again)
			keep_session(&u->keeper, again);
		upstream_reached(u);
		return;
	}
	x->trouble = tls_fault_text(u->chan.tls);
	x->alerted = tls_fault_of(u->chan.tls) == TLS_FAULT_ALERT;
	upstream_fail(u, end_of(tls_fault_of(u->chan.tls)));
}

/* One whose connection was cut is spoiled: OpenSSL would not offer it. */
static SSL_SESSION *
take_session(struct upstream *u)
{
	SSL_SESSION *s;

	while ((s = tls_cache_take(&u->worker->sessions, session_key(u))) &&
	    !SSL_SESSION_is_resumable(s))
		SSL_SESSION_free(s);
	return s;
}

static void
reach_tls(struct upstream *u)
{
	struct tls_upstream *how = u->service->tls_upstream;
	SSL_SESSION *old;
	SSL_CTX *ctx;
	int res = -1;

	if (AB_NEVER(how == NULL)) {
		upstream_fail(u, ATTEMPT_TLS);
		return;
	}
	old = take_session(u);
	ctx = tls_upstream_context(how);
	if (ctx)
		res = tls_connect(&u->chan, ctx, u->host, old);
	SSL_SESSION_free(old);
	if (res < 0) {
		upstream_fail(u, ATTEMPT_NO_MEMORY);
		return;
	}
	u->step = UPSTREAM_TLS;
	u->keeper.keep = keep_session;
	tls_set_owner(u->chan.tls, &u->keeper);
	reach_handshake(u);
}

/* The wire leads to the server. */
static void
reach_server(struct upstream *u)
{
	if (u->tls)
		reach_tls(u);
	else
		upstream_reached(u);
}

void
reach_begin(struct upstream *u)
{
	if (u->x->to_parent.n == 0 || parent_begin(u) == PARENT_OPEN)
		reach_server(u);
}

void
reach_ready(struct upstream *u)
{
	if (u->step == UPSTREAM_TLS)
		reach_handshake(u);
	else if (u->step == UPSTREAM_PARENT && parent_ready(u) == PARENT_OPEN)
		reach_server(u);
}

/* SPDX-License-Identifier: MIT */
/*
 * heartbeat decides when an interim answer may go to a client that waits. It
 * refuses to know what it waits for.
 */
#include "heartbeat.h"

#include "client.h"

static void
heartbeat_arm(struct exchange *x)
{
	struct engine *e = &x->worker->engine;

	/* Without memory it does not beat. */
	(void)!timer_arm(&e->timers, &x->beat,
	    clock_add(e->now_ms, x->r.policy->heartbeat_ms));
}

static void
heartbeat_due(struct timer *t, int64_t now_ms)
{
	static const char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";
	struct exchange *x = AB_CONTAINER(t, struct exchange, beat);
	struct iovec v = {(char *)interim, sizeof(interim) - 1};

	(void)now_ms;
	if (!x->client || x->r.state >= REQUEST_RELAYING)
		return;
	heartbeat_arm(x);
	/* One that takes nothing needs no more of it. */
	if (outbuf_empty(&x->client->out))
		(void)!client_send(x->client, &v, 1);
}

void
heartbeat_init(struct exchange *x)
{
	timer_init(&x->beat, heartbeat_due);
}

void
heartbeat_begin(struct exchange *x)
{
	if (x->r.policy->heartbeat_ms == 0 || x->http10 || x->r.connect ||
	    timer_armed(&x->beat))
		return;
	heartbeat_arm(x);
}

void
heartbeat_end(struct exchange *x)
{
	timer_stop(&x->worker->engine.timers, &x->beat);
}

/* SPDX-License-Identifier: MIT */
/*
 * client_end decides how a client's connection ends: in order where all was
 * said that it had to hear, else so that it can't take a part for the whole. It
 * refuses to know why.
 */
#include "client.h"

#define LINGER_READS_MAX 16 /* in one go; then the others' turn */

void
client_cut(struct client *c, bool reset)
{
	if (c->x)
		c->x->client = NULL;
	c->x = NULL;
	if (reset)
		chan_reset(&c->chan);
	chan_cut(&c->chan);
	client_die(c);
}

void
client_spoil(struct client *c)
{
	const struct exchange *x = c->x;

	if (!outbuf_empty(&c->out) || (x && x->to_client.kind == FRAMING_CLOSE))
		chan_reset(&c->chan);
	else if (x)
		chan_cut(&c->chan);
}

/* Our last word is out: wait for the client's end, so that a RST caused by
 * bytes nobody read can't destroy the answer on its way. With TLS the very last
 * word is that there are no more, and a slow reader has to take that as well. */
void
client_linger(struct client *c)
{
	bool quiet = !c->unread && c->in_n == 0 && !chan_has_input(&c->chan) &&
	    !c->chan.fin;
	bool said = true;

	if (!quiet || c->chan.tls)
		said = chan_shutdown(&c->chan);
	if (quiet && said) {
		client_die(c);
		return;
	}
	c->state = CLIENT_LINGER;
	client_timer(c,
	    said ? CLIENT_LINGER_MS : client_policy(c)->idle_timeout_ms);
	if (c->state == CLIENT_LINGER)
		c->chan.ready(&c->chan);
}

void
client_read_linger(struct client *c)
{
	struct worker *w = c->worker;
	ssize_t got;

	for (int i = 0; i < LINGER_READS_MAX; i++) {
		got = chan_read(&c->chan, w->scratch, WORKER_SCRATCH);
		if (got == CHAN_AGAIN)
			return;
		if (got <= 0) {
			client_die(c);
			return;
		}
	}
	worker_again(w, &c->again, client_look_again);
}

void
client_drain(struct client *c)
{
	c->close = true;
	if (c->x)
		c->x->keep = false;
	if (c->state == CLIENT_HELLO || c->state == CLIENT_TLS ||
	    c->state == CLIENT_FIRST) {
		client_die(c);
		return;
	}
	if (c->state != CLIENT_HEAD || c->in_n > 0)
		return;
	if (outbuf_empty(&c->out))
		client_die(c);
	else
		c->state = CLIENT_CLOSING;
}

void
client_drop(struct client *c)
{
	struct exchange *x = c->x;

	client_spoil(c);
	client_lost(c);
	if (x)
		x->r.gave_up = GIVE_UP_DRAINING; /* it did not leave: we did */
}

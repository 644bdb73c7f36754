/* SPDX-License-Identifier: MIT */
/*
 * relay: the answer on its way from the upstream to the client, streamed, with
 * the body framed anew for the client's side.
 */
#ifndef AB_RELAY_H
#define AB_RELAY_H

#include "upstream.h"

/* The head in worker.head is to be relayed: builds the client's, which goes
 * out with the first body bytes or at the end of the read. */
void relay_begin(struct exchange *x);
/*
 * Body bytes p[0, n) of the answer. Returns the bytes used; *ret_done: the body
 * has ended. -1: it is malformed, or the client is lost; the upstream is closed
 * then.
 */
AB_MUST ssize_t relay_feed(struct upstream *u, const char *p, size_t n,
    bool *ret_done);
/* A head that still waits goes out alone. -1: the client is lost. */
AB_MUST int relay_flush(struct exchange *x);
/* The body ended with the connection. `clean`: that is its end. */
void relay_eof(struct upstream *u, bool clean);
/* The body has ended: both sides go their ways. */
void relay_end(struct upstream *u);

#endif

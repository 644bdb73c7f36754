/* SPDX-License-Identifier: MIT */
/*
 * parent: another proxy on the way upstream (parent_proxy). A plain request
 * goes to it in absolute-form; for TLS, and for a client's own CONNECT, it is
 * asked for a tunnel first, and then is no more than a stretch of wire.
 *
 * Its credentials go to it and nowhere else: they are part of heads that are
 * written to a connection with it, and of nothing that is logged or answered.
 */
#ifndef AB_PARENT_H
#define AB_PARENT_H

#include "upstream.h"

struct intake;

/* The proxy on the way there, or NULL: none is set, or no_proxy names the
 * host (without brackets, any case) or, if it is one, its address. */
const struct conf_parent *parent_for(const struct conf_service *s,
    struct span host, uint16_t port);

/* Appends the CONNECT for this request, if it needs one. */
void parent_head(const struct intake *in, struct strbuf *out);

enum parent_result {
	PARENT_AGAIN,
	PARENT_OPEN, /* u->chan leads to the server now */
	PARENT_OVER, /* the attempt has failed, and u is closed */
};

/* u->chan is connected to the proxy: asks it for the way to the server. */
enum parent_result parent_begin(struct upstream *u);
/* Something became possible on u->chan. */
enum parent_result parent_ready(struct upstream *u);

/* It answered a plain request with 407: our credentials won't do. Closes. */
void parent_unauthorized(struct upstream *u);
/* No connection to it could be made: adds that to what went wrong. */
void parent_unreached(struct exchange *x);
/* All of its addresses are our own. Closes. */
void parent_is_self(struct upstream *u);

#endif

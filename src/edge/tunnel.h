/* SPDX-License-Identifier: MIT */
/*
 * tunnel: bytes both ways between a client and an upstream, after CONNECT or
 * 101, until one side is done. Half-closes pass through.
 */
#ifndef AB_TUNNEL_H
#define AB_TUNNEL_H

#include "upstream.h"

/* CONNECT stands: tells the client, then pumps. */
void tunnel_connect(struct exchange *x);
/* The relayed head was a 101; rest: bytes that came behind it. */
void tunnel_upgrade(struct exchange *x, struct span rest);
/* Something is possible on one of the sides. */
void tunnel_pump(struct exchange *x);

#endif

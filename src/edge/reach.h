/* SPDX-License-Identifier: MIT */
/*
 * reach: from a TCP connection to one that a request can be sent on: through a
 * parent proxy where there is one, and a TLS handshake where that is spoken.
 *
 *   TCP -> [PARENT] -> [TLS] -> upstream_reached
 *
 * All of it is part of CONNECTING, and so within connect_timeout.
 */
#ifndef AB_REACH_H
#define AB_REACH_H

#include "upstream.h"

/* u->chan is connected. May end u, also before it returns. */
void reach_begin(struct upstream *u);
/* Something became possible on u->chan. */
void reach_ready(struct upstream *u);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * send: a request on its way upstream: the head, the stored body, and of a
 * body that is too large to be stored what the client sends on.
 */
#ifndef AB_SEND_H
#define AB_SEND_H

#include "upstream.h"

/* Sends what can be sent now; reports request_sent with the last byte. */
void upstream_send(struct upstream *u);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * heartbeat: an interim answer now and then (102, RFC 2518 10.1), so that a
 * client whose own patience runs while nothing comes knows that it is served.
 */
#ifndef AB_HEARTBEAT_H
#define AB_HEARTBEAT_H

#include "exchange.h"

void heartbeat_init(struct exchange *x);
/* Its request waits: from now on until heartbeat_end, one each `heartbeat` of its
 * service. Fine when it beats already. HTTP/1.0 knows no interim answers, and a
 * CONNECT gets none. */
void heartbeat_begin(struct exchange *x);
/* Its final answer comes, or none. Fine when it does not beat. */
void heartbeat_end(struct exchange *x);

#endif

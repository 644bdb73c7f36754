/* SPDX-License-Identifier: MIT */
/*
 * access: one line per finished request, one per time that a request begins to
 * wait, one per request that got no further than its head. Text (key=value) or
 * JSON members, as log_format says. Never a query, a field value or a body.
 */
#ifndef AB_ACCESS_H
#define AB_ACCESS_H

#include "exchange.h"

void access_finished(const struct exchange *x);
void access_parked(const struct exchange *x);
/* h->method is empty where the head could not be read. */
void access_refused(const struct client *c, const struct head *h,
    const struct refusal *why);

/* A CONNECT that is intercepted: the requests inside have lines of their own. */
void access_intercepted(const struct client *c);
/* The client is not served and not answered; text says why. */
void access_turned_away(const struct client *c, enum give_up why,
    const char *text);
/* The client got no further than its TLS handshake. */
void access_no_tls(const struct client *c, const char *text);

#endif

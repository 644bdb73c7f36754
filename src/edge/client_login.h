/* SPDX-License-Identifier: MIT */
/*
 * client_login: who is it that asks? Between the client's own files.
 */
#ifndef AB_CLIENT_LOGIN_H
#define AB_CLIENT_LOGIN_H

#include "client.h"

/*
 * May the request with this head be served (RFC 9110 11.7)? CHECK_YES; c->user
 * is then who asks, or NULL where nobody has to say. CHECK_NO: *ret is the
 * answer to give. CHECK_WAIT: the password is being checked, c->wait is set,
 * and client_logins will come back to it.
 */
AB_MUST enum check_result client_login(struct client *c, const struct head *h,
    struct refusal *ret);
/* What it waited for, if it did, is used up. */
void client_login_end(struct client *c);
/* CLIENT_LOGIN: it takes too long. */
void client_login_late(struct client *c);
/* CLIENT_LOGIN: is the client still there? */
void client_login_watch(struct client *c);
/* Those whose passwords have been checked go on. */
void client_logins(struct worker *w);

#endif

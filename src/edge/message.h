/* SPDX-License-Identifier: MIT */
/*
 * message: the words of our own answers, and the account of what happened that
 * each answer carries (Proxy-Status, RFC 9209).
 */
#ifndef AB_MESSAGE_H
#define AB_MESSAGE_H

#include "exchange.h"

/*
 * Appends an answer of our own, head and body. x may be NULL: the request got
 * no further than its head; why may be NULL: the text follows from a->why.
 * close: say so. Check out->failed.
 */
void message_answer(struct strbuf *out, const struct exchange *x,
    const struct answer *a, const struct refusal *why, bool close);

/*
 * Appends the value of Proxy-Status for an answer that passes through:
 * received-status, and where it was more than one plain try, details with
 * attempts, waited and reason.
 */
void message_proxy_status(struct strbuf *out, const struct exchange *x,
    int received_status);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * route: from a request's head to its answer.
 */
#ifndef AB_ORIGIN_ROUTE_H
#define AB_ORIGIN_ROUTE_H

#include "answer.h"
#include "origin.h"
#include "proto/head.h"

struct request {
	const struct head *head; /* borrows until route_request returns */
	const char *client;      /* address without port */
	uint64_t conn, nth;
	int64_t now_ns;          /* when the head was taken up */
};

/*
 * Judges, records and answers. *a is initialised; on 0 it is complete but for
 * BODY_ECHO, which route_echo finishes. -1: out of memory, drop the connection.
 */
AB_MUST int route_request(struct origin *o, const struct request *rq,
    struct answer *a);
/* The request's body is in a->echo, or had more than ANSWER_ECHO_MAX bytes. */
void route_echo(struct answer *a, bool too_large);
/* The head of a recorded answer was written and told this wait (-1: none). */
void route_told(struct origin *o, struct answer *a, int64_t now_ns,
    int64_t told_ns);
/* A plain answer of our own, e.g. to what is no HTTP. */
void route_error(struct answer *a, int status, const char *text);

#endif

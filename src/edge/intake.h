/* SPDX-License-Identifier: MIT */
/*
 * intake: what is found out about a request before there is an exchange: is it
 * one that we serve, where does it go, whose is it. Lives on the stack.
 */
#ifndef AB_INTAKE_H
#define AB_INTAKE_H

#include "client.h"

struct intake {
	struct client *c;
	const struct head *h;
	struct target target;
	struct framing body;
	struct span host;     /* where it goes */
	uint16_t port;
	struct span address;  /* what that is to stand for; or empty: DNS says */
	struct span path;     /* to send */
	bool add_slash;
	bool connect;
	bool tls;             /* the upstream is spoken to over TLS */
	const char *route;    /* origin-form, by a route of a service; or NULL */
	bool expect;
	bool upgrade;
	bool forced;
	bool intercept;       /* CONNECT: what follows is to be looked into */
	int64_t max_forwards; /* to send; -1: leave */
	const struct conf_service *service;
	const struct conf_parent *parent; /* on the way there, or NULL */
	struct span key_text; /* Abide-Key, or empty */
	uint64_t base, route_id; /* as in struct request; set by intake_key */
	struct refusal *no;
};

/* False: *in->no says what to answer. */
AB_MUST bool intake_check(struct intake *in);
/* Does a client's http://host/ lead to https there? port: of https. */
bool intake_originates(const struct conf *conf, struct span host,
    uint16_t port);
/* Who asks for what: a keyed hash, the same for a copy of the request. */
uint64_t intake_print(const struct intake *in, uint64_t place);
/*
 * The state that this request shares with others of its kind; a reference, or
 * NULL out of memory. place: hash of host and port.
 */
struct key *intake_key(struct intake *in, uint64_t place);

#endif

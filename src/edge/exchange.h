/* SPDX-License-Identifier: MIT */
/*
 * exchange: one request as edge knows it: the engine's record, the head that
 * goes upstream (built once, never changed: every try sends the same bytes),
 * and the two connections it moves between.
 */
#ifndef AB_EXCHANGE_H
#define AB_EXCHANGE_H

#include "engine/request.h"
#include "outbuf.h"
#include "proto/framing.h"
#include "proto/target.h"
#include "worker.h"

struct client;
struct upstream;

struct exchange {
	struct request r;
	struct worker *worker;       /* shared */
	struct client *client;       /* NULL: it left */
	struct upstream *up;         /* of the attempt under way, or NULL */
	struct conf *conf;           /* a reference */
	const struct conf_service *service; /* of conf */
	const struct conf_parent *parent;   /* of it; NULL: no proxy on the way */
	uint64_t place;              /* hash of host and port: pool id */
	uint16_t port;
	bool tls;                    /* the upstream is spoken to over TLS */
	bool client_https;           /* the client's own URL is https */
	const char *route;           /* of conf; the client knows this one and
	                              * not the host; NULL: it knows the host */
	bool http10;                 /* the client speaks HTTP/1.0 */
	bool keep;                   /* the client's connection may go on */
	bool is_head;                /* HEAD: no body in answers */
	bool upgrade;                /* the client offered an Upgrade */
	bool expect;                 /* 100-continue not answered yet */
	bool chunk_out;              /* its body goes upstream in chunks */
	bool head_waits;             /* worker.text holds the answer's head */
	bool no_trailer;             /* its trailer may not pass */
	bool forced;                 /* allow_destinations names its host */
	bool tunnel;
	bool blind;                  /* a tunnel that its client did not ask for:
	                              * nothing of ours can be said in it */
	bool up_ended, down_ended;   /* tunnel: that way's end was passed on */
	struct timer beat;           /* see heartbeat.h */
	struct framing body;         /* of the request */
	struct framing to_client;    /* of the answer */
	struct outbuf rest;          /* decoded body bytes that found no place in
	                              * the replay buffer; after it, in order */
	const char *trouble;         /* what exactly failed, or NULL; static, or
	                              * trouble_text */
	char *trouble_text;          /* owns */
	int parent_status;           /* with which it refused, 0: it did not */
	char *challenge;             /* owns; lines of the parent's 407, or NULL */
	bool alerted;                /* the upstream said so, in a TLS alert */
	int final_status;            /* sent to the client, 0: none */
	uint64_t bytes_in, bytes_out; /* client to us, us to client: body bytes */
	char *client_text;           /* in head[]; who, for the log */
	struct span user;            /* in head[]; p NULL: nobody had to say */
	struct span method, path;    /* in head[] */
	struct span send;            /* in head[]: the head to send */
	struct span to_parent;       /* in head[]: CONNECT to send before, or
	                              * empty */
	char *host;                  /* in head[], NUL-terminated, lower case */
	char *address;               /* in head[]; where to go in place of host,
	                              * as text; or NULL */
	char head[];
};

/* Why a request goes no further than its head, and what to say. */
struct refusal {
	int status;         /* 0: none; CONNECT is to be intercepted */
	enum give_up why;
	const char *detail; /* for people: what is wrong, and what to do */
	const char *extra;  /* header lines with CRLF, or NULL */
	bool keep;          /* the connection may go on */
	bool is_head;       /* HEAD: no body */
	int retry_after_s;  /* 0: none */
};

/* Whether the client lets its connection go on after this request. */
bool exchange_wants_keep(const struct head *h);

/*
 * From a scanned head, which it checks further. NULL: refused, see *ret.
 * Copies what it needs: the head's bytes may go.
 */
struct exchange *exchange_new(struct client *c, const struct head *h,
    struct refusal *ret);
void exchange_free(struct exchange *x);
/* Says what exactly failed; without memory for it, nothing is said. */
void exchange_trouble(struct exchange *x, const char *fmt, ...) AB_PRINTF(2, 3);

static inline struct exchange *
exchange_of(struct request *r)
{
	return AB_CONTAINER(r, struct exchange, r);
}

/* The engine's way out to sockets. */
extern const struct ports exchange_ports;

/* The value of Proxy-Status' details for this request; may be empty. */
void exchange_details(const struct exchange *x, struct strbuf *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * client: one connection of a client, one exchange at a time; what it
 * pipelines waits in its socket until its turn.
 */
#ifndef AB_CLIENT_H
#define AB_CLIENT_H

#include "chan.h"
#include "exchange.h"
#include "proto/chunked.h"
#include "redirect.h"
#include "tls.h"

#define CLIENT_LINGER_MS 2000 /* reading on after our last word */

enum client_state {
	CLIENT_FIRST,   /* redirected to us: its first bytes tell what it is */
	CLIENT_HELLO,   /* a tunnel to intercept stands: its first byte tells */
	CLIENT_TLS,     /* in a TLS handshake */
	CLIENT_HEAD,    /* between requests, or within a head */
	CLIENT_LOGIN,   /* a password is being checked; the head is in `in` */
	CLIENT_BUSY,    /* an exchange is under way */
	CLIENT_CLOSING, /* our last bytes are going out */
	CLIENT_LINGER,  /* shut down by us; the client's bytes go nowhere */
	CLIENT_DEAD,
};

/* The server that a client believes to talk to, behind its CONNECT. */
struct client_inner {
	uint16_t port;
	bool tls;
	char host[]; /* lower case, no trailing dot; without brackets */
};

struct client {
	struct corpse corpse;
	struct list link;      /* in worker.clients */
	struct again again;
	struct worker *worker; /* shared */
	enum client_state state;
	struct chan chan;
	struct timer timer;    /* head, keep-alive, body, linger */
	struct exchange *x;    /* BUSY */
	struct redirect *redirect; /* owns; NULL: it meant to talk to us */
	struct client_inner *inner; /* owns; NULL: it knows that we are a proxy */
	uint64_t who;          /* hash of the address */
	char *text;            /* owns; the address, for the log */
	char *user;            /* owns; who asks, NULL: nobody has to say */
	struct check_wait *wait; /* owns; LOGIN, or the result for HEAD */
	bool close;            /* after the answer at hand */
	bool unread;           /* more of that request may come: linger */
	bool served;           /* at least one request was answered */
	char *in;              /* owns; bytes not used yet */
	size_t in_n, in_cap;
	struct head_scan scan;
	struct outbuf out;
	/* The body being read. */
	bool reading;          /* client_read_body is on the stack */
	uint64_t body_left;
	struct chunked chunked;
};

/* Takes over fd and r (NULL: not redirected). Fine when it fails: fd is closed,
 * r freed. */
void client_new(struct worker *w, int fd, const struct sockaddr *sa,
    enum conf_listen_kind kind, struct redirect *r);

/* Reads the body of the exchange on: into the replay buffer, or upstream. */
void client_read_body(struct client *c);
/* Sends to the client. -1: the connection is lost, and so is the client. */
AB_MUST int client_send(struct client *c, struct iovec *v, int n);
/* Its request waits now: one that has left already is let go. */
void client_parked(struct client *c);
/* The exchange is over; `whole`: its answer went out complete and framed. */
void client_done(struct client *c, bool whole);
/* The answer can't be finished: the client sees that it was cut. */
void client_cut(struct client *c, bool reset);
/* Answer of our own, then client_done. One of x and why may be NULL. */
void client_answer(struct client *c, struct exchange *x, const struct answer *a,
    const struct refusal *why);
/* The process ends: the connection does too, whatever is under way. */
void client_drop(struct client *c);
/* Idle connections end at once, others after their answer. */
void client_drain(struct client *c);

/* Between the client's own files. */
const struct policy *client_policy(const struct client *c);
/* It left, or can't be spoken to: ends it and what it asked for. */
void client_lost(struct client *c);
void client_die(struct client *c);
/* We end what is under way, if anything is: not so that it looks whole. */
void client_spoil(struct client *c);
/* Our last word is out. */
void client_linger(struct client *c);
void client_read_linger(struct client *c);
/* Arms its timer. Out of memory (only the first arming can be): it is lost. */
void client_timer(struct client *c, int64_t ms);
/* Keeps p[0, n), which may lie in c->in, and nothing else. 0 or -1. */
AB_MUST int client_stash(struct client *c, const char *p, size_t n);
/* Room for more behind what is stashed, up to `most` bytes. 0 or -1. */
AB_MUST int client_grow(struct client *c, size_t most);
void client_read_head(struct client *c);
void client_read_first(struct client *c);
/* It was not served, and can't be told why: logs that, and closes with a RST. */
void client_turn_away(struct client *c, enum give_up why, const char *text);
/* Refuses a request whose head could not be read. */
void client_refuse_unread(struct client *c, const struct refusal *why);
void client_look_again(struct again *a);
/* Its CONNECT, if any, is answered, and what follows is read as if by that
 * server.
 * host: without brackets. The bytes behind the head are in c->in. */
void client_intercept(struct client *c, struct span host, uint16_t port);
void client_read_hello(struct client *c);
/* Begins a TLS handshake as server, with what c->in holds. */
void client_begin_tls(struct client *c, SSL_CTX *ctx);
void client_handshake(struct client *c);
/* Whether the body's next bytes have somewhere to go. */
bool client_body_wanted(const struct client *c);

#endif

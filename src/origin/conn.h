/* SPDX-License-Identifier: MIT */
/*
 * conn: one client connection.
 *
 *   HEAD -> BODY -> HOLD -> SEND <-> PAUSE -> HEAD | LINGER | RESET -> GONE
 *                     `---> HANG -> GONE
 *
 * Only conn_move (conn.c) writes a state. Whoever is GONE is freed by the
 * server at the end of the loop's turn, never inside a callback.
 */
#ifndef AB_ORIGIN_CONN_H
#define AB_ORIGIN_CONN_H

#include <event2/event_struct.h>
#include <netinet/in.h>

#include "answer.h"
#include "proto/chunked.h"
#include "proto/framing.h"
#include "server.h"

enum conn_state {
	CONN_HEAD,   /* waits for a request's head */
	CONN_BODY,   /* reads its body */
	CONN_HOLD,   /* the answer is not due yet */
	CONN_SEND,   /* writes the answer */
	CONN_PAUSE,  /* the next piece of it is not due yet */
	CONN_HANG,   /* never answers */
	CONN_LINGER, /* has sent FIN, drops what comes until the peer's */
	CONN_RESET,  /* sends RST once the peer has all that was sent */
	CONN_GONE,
};

struct conn {
	struct list link;          /* of the server: live or gone */
	struct server *server;     /* shared */
	enum conn_state state;
	int fd;                    /* owns */
	uint64_t number, nth;
	char client[INET6_ADDRSTRLEN];
	struct event on_read, on_write, on_timer;
	bool reading, writing;     /* the events are added */
	bool eof;                  /* the client sent FIN */
	int64_t due_ns;            /* the state's timer; INT64_MAX: none */
	int64_t armed_ns;          /* when on_timer will look */
	int64_t stale_ns;          /* close when idle then; INT64_MAX: never */

	char *in;                  /* owns; bytes [in_at, in_n) are unread */
	size_t in_at, in_n, in_cap;
	struct head_scan scan;     /* of head_request */
	struct strbuf out;         /* bytes [out_at, n) are unsent */
	size_t out_at;
	size_t drip_left;          /* of the head, to be sent byte by byte */

	bool busy;                 /* answer is in use */
	struct answer answer;
	struct framing framing;    /* of the request */
	uint64_t body_left;
	struct chunked chunked;
	uint64_t body_bytes, sent_bytes;
	uint32_t body_crc;
};

/* Takes over the socket, closes it on failure. */
AB_MUST int conn_open(struct server *s, int fd, const char *client);
void conn_free(struct conn *c);

/* Between conn.c, what is done, and connio.c, when there is something to do. */
/* One step; true: there is more to do at once. */
bool conn_step(struct conn *c);
/* due_ns has come. */
void conn_timeout(struct conn *c);
/* The client is gone, or shall be: ends the attempt at hand, too. */
void conn_leave(struct conn *c);
/* The simulator stops; the attempt at hand stays open in the report. */
void conn_stop(struct conn *c);

#define CONN_OF(l) AB_CONTAINER((l), struct conn, link)

#endif

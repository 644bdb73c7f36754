/* SPDX-License-Identifier: MIT */
/*
 * server: the sockets and the loop. One thread; nothing in it blocks but the
 * log file.
 */
#ifndef AB_ORIGIN_SERVER_H
#define AB_ORIGIN_SERVER_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "origin.h"
#include "proto/head.h"

#define SERVER_LISTENERS_MAX 8
#define SERVER_SCRATCH       65536

struct server {
	struct origin *origin;   /* shared */
	struct event_base *base; /* owns */
	struct listener {
		struct server *server;
		int fd;
		struct event ev;
	} listeners[SERVER_LISTENERS_MAX];
	unsigned nlisteners;
	struct event on_term, on_int, on_flush, on_retry;
	bool accepting, stopping;
	bool short_of;           /* descriptors ran out; that was told */
	struct list live, gone;  /* struct conn */
	uint64_t nconns, max_conns, next_conn;
	int64_t idle_ns;
	struct head head;        /* of the request at hand, within one call */
	char scratch[SERVER_SCRATCH];
};

/* 0, or -1 with a line on standard error. */
AB_MUST int server_init(struct server *s, struct origin *o);
/*
 * Binds and listens on HOST:PORT or [v6]:PORT (0: any free port). ret_name
 * gets the address with the port in use. 0, or -1 and *ret_why: the text is
 * the user's fault where *ret_usage is true.
 */
AB_MUST int server_listen(struct server *s, const char *where, char *ret_name,
    size_t name_bytes, const char **ret_why, bool *ret_usage);
/* Serves until SIGTERM or SIGINT. */
void server_run(struct server *s);
void server_free(struct server *s);

/* For conn.c: a connection is over; it is freed at the end of the turn. */
void server_conn_gone(struct server *s, struct list *link);

#endif

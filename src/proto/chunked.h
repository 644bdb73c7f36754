/* SPDX-License-Identifier: MIT */
/*
 * chunked: decoder of the chunked coding (RFC 9112 7.1), byte by byte if need
 * be. It yields the data as spans into the caller's bytes and keeps trailer
 * lines (bounded) for whoever forwards them.
 */
#ifndef AB_CHUNKED_H
#define AB_CHUNKED_H

#include "base/strbuf.h"

#define CHUNKED_TRAILER_MAX 8192 /* bytes, all trailer lines as they came */
#define CHUNKED_EXT_MAX     256  /* bytes of one chunk's extensions */

enum chunked_result {
	CHUNKED_MORE, /* all bytes used, the body goes on */
	CHUNKED_DATA, /* *ret_data is a piece; call again with the rest */
	CHUNKED_DONE, /* the end; *ret_used bytes belonged to the body */
	CHUNKED_BAD,  /* refuse; *ret_why says what */
};

struct chunked {
	int state;       /* see chunked.c */
	bool lenient;    /* an upstream: lines may end with a bare LF, and
	                  * blanks may stand before the end of a size line */
	bool last;       /* the chunk at hand is the last one */
	uint64_t left;   /* bytes of the chunk at hand still to come */
	unsigned digits, ext_bytes;
	size_t trailer_bytes; /* read, dropped lines included */
	struct strbuf line;    /* owns; the trailer line at hand */
	struct strbuf trailer; /* owns; "Name: value\r\n" lines, checked */
};

void chunked_init(struct chunked *c, bool lenient);
void chunked_free(struct chunked *c);
/* Was it memory, and not the peer, that made it BAD? */
static inline bool
chunked_no_memory(const struct chunked *c)
{
	return c->line.failed || c->trailer.failed;
}
/*
 * Reads p[0, n). Sizes: 1..16 hex digits, at most INT64_MAX. Extensions are
 * checked and dropped. Trailer fields that frame, route, authenticate or
 * otherwise belong before the body are dropped (RFC 9110 6.5.1): see chunked.c.
 * What the Connection field of the head names is for the caller to drop
 * (forward_names_fields). After DONE and BAD further calls return the same.
 * *ret_used is set with every result but BAD, *ret_data with DATA only.
 */
enum chunked_result chunked_next(struct chunked *c, const char *p, size_t n,
    size_t *ret_used, struct span *ret_data, const char **ret_why);

#endif

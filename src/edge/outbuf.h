/* SPDX-License-Identifier: MIT */
/*
 * outbuf: what a socket did not take yet. Empty, it owns no memory; whoever
 * fills it stops reading its source until it has gone (back-pressure), so it
 * holds at most one read's worth and a head.
 */
#ifndef AB_OUTBUF_H
#define AB_OUTBUF_H

#include "chan.h"

#define OUTBUF_IOV_MAX 48

struct outbuf {
	char *p;     /* owns; NULL while empty */
	size_t at;   /* gone so far */
	size_t n;    /* end of what is there */
	size_t cap;
};

static inline bool
outbuf_empty(const struct outbuf *o)
{
	return o->at == o->n;
}

void outbuf_free(struct outbuf *o);
/* Keeps bytes for later. 0, or -1 out of memory. */
AB_MUST int outbuf_put(struct outbuf *o, const void *p, size_t n);
/*
 * Sends v[0, n) after what waits already; what the socket does not take is
 * kept. n <= OUTBUF_IOV_MAX. 0; CHAN_ERROR with errno (ENOMEM: no memory).
 */
AB_MUST int outbuf_send(struct outbuf *o, struct chan *c, struct iovec *v, int n);
/* Sends what waits. 0: see outbuf_empty; CHAN_ERROR. *ret_moved: bytes. */
AB_MUST int outbuf_flush(struct outbuf *o, struct chan *c, size_t *ret_moved);

#endif

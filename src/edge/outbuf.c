/* SPDX-License-Identifier: MIT */
/*
 * outbuf decides whether bytes are written or kept. It refuses to know how
 * much is too much: its users stop reading while it is not empty.
 */
#include "outbuf.h"

#include <errno.h>

#include "base/mem.h"

#define OUTBUF_FIRST 4096

void
outbuf_free(struct outbuf *o)
{
	mem_free(o->p);
	*o = (struct outbuf){0};
}

int
outbuf_put(struct outbuf *o, const void *p, size_t n)
{
	size_t cap = o->cap ? o->cap : OUTBUF_FIRST;
	char *q;

	if (n == 0)
		return 0;
	if (o->n + n > o->cap) {
		while (cap < o->n + n)
			cap *= 2;
		q = mem_realloc(o->p, cap);
		if (!q) {
			errno = ENOMEM;
			return -1;
		}
		o->p = q;
		o->cap = cap;
	}
	memcpy(o->p + o->n, p, n);
	o->n += n;
	return 0;
}

int
outbuf_send(struct outbuf *o, struct chan *c, struct iovec *v, int n)
{
	ssize_t done = 0;
	size_t skip;

	if (outbuf_empty(o)) {
		done = chan_writev(c, v, n);
		if (done < 0)
			return CHAN_ERROR;
	}
	skip = (size_t)done;
	for (int i = 0; i < n; i++) {
		if (skip >= v[i].iov_len) {
			skip -= v[i].iov_len;
			continue;
		}
		if (outbuf_put(o, (char *)v[i].iov_base + skip,
			v[i].iov_len - skip) < 0)
			return CHAN_ERROR;
		skip = 0;
	}
	return 0;
}

int
outbuf_flush(struct outbuf *o, struct chan *c, size_t *ret_moved)
{
	struct iovec v = {o->p + o->at, o->n - o->at};
	ssize_t done;

	*ret_moved = 0;
	if (outbuf_empty(o))
		return 0;
	done = chan_writev(c, &v, 1);
	if (done < 0)
		return CHAN_ERROR;
	o->at += (size_t)done;
	*ret_moved = (size_t)done;
	if (outbuf_empty(o))
		outbuf_free(o);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * connect.c: the two heads with which a tunnel through a proxy begins.
 *
 * Decides when the answer is whole and whether the way is open. It refuses to
 * know what goes through the tunnel, and what follows from a refusal.
 */
#include "proto/connect.h"

void
connect_build(struct strbuf *out, const struct connect_request *how)
{
	strbuf_lit(out, "CONNECT ");
	strbuf_span(out, how->authority);
	strbuf_lit(out, " HTTP/1.1\r\nHost: ");
	strbuf_span(out, how->authority);
	if (how->via.n > 0) {
		strbuf_lit(out, "\r\nVia: 1.1 ");
		strbuf_span(out, how->via);
	}
	if (how->auth.n > 0) {
		strbuf_lit(out, "\r\nProxy-Authorization: ");
		strbuf_span(out, how->auth);
	}
	strbuf_lit(out, "\r\n\r\n");
}

/* One head at the beginning of buf; *ret_used: its bytes. */
static enum connect_result
read_head(struct connect_answer *a, const char *buf, size_t n,
    const struct head_limits *lim, struct head *h, size_t *ret_used,
    const char **ret_why)
{
	enum head_result res;

	res = head_response(buf, n, &a->scan, lim, h, ret_why);
	if (res == HEAD_AGAIN)
		return CONNECT_AGAIN;
	if (res != HEAD_OK)
		return CONNECT_BAD;
	*ret_used = h->bytes;
	if (h->status >= 200 && h->status < 300)
		return CONNECT_OPEN;
	if (h->status >= 300)
		return CONNECT_REFUSED;
	if (h->status == 101) {
		*ret_why = "101 is no answer to CONNECT";
		return CONNECT_BAD;
	}
	if (++a->interims > CONNECT_INTERIM_MAX) {
		*ret_why = "too many interim answers";
		return CONNECT_BAD;
	}
	return CONNECT_AGAIN;
}

enum connect_result
connect_read(struct connect_answer *a, const char *buf, size_t n,
    const struct head_limits *lim, struct head *h, size_t *ret_used,
    const char **ret_why)
{
	enum connect_result res;
	size_t used = 0, bytes;

	do {
		bytes = 0;
		res =
		    read_head(a, buf + used, n - used, lim, h, &bytes, ret_why);
		used += bytes;
	} while (res == CONNECT_AGAIN && bytes > 0);
	*ret_used = used;
	return res;
}

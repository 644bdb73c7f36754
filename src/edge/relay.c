/* SPDX-License-Identifier: MIT */
/*
 * relay decides how an answer's body is framed for the client. It refuses to
 * know whether it should be relayed: the verdict is in.
 *
 *   upstream        HTTP/1.1 client   HTTP/1.0 client
 *   length          length            length
 *   chunked         chunked           until close
 *   until close     chunked           until close
 *
 * A body that the upstream cuts is cut for the client: no last chunk, fewer
 * bytes than promised, or a RST where only the close would tell.
 */
#include "relay.h"

#include "client.h"
#include "intake.h"
#include "message.h"
#include "proto/forward.h"
#include "tunnel.h"

/* One chunk's head, the data, CRLF, last chunk with trailers, and a head that
 * waits: the rest of the vector is for data. */
#define RELAY_PARTS (OUTBUF_IOV_MAX - 6)

static struct framing
framing_for_client(const struct exchange *x, const struct upstream *u)
{
	struct framing f = u->framing;

	if (f.kind == FRAMING_CHUNKED || f.kind == FRAMING_CLOSE)
		f.kind = x->http10 ? FRAMING_CLOSE : FRAMING_CHUNKED;
	return f;
}

static bool
client_must_close(const struct exchange *x)
{
	return !x->keep || x->to_client.kind == FRAMING_CLOSE ||
	    (x->r.has_body && !x->r.body.complete) || x->worker->draining;
}

static bool
is_originated(void *arg, struct span host, uint16_t port)
{
	const struct exchange *x = arg;

	return intake_originates(x->conf, host, port);
}

/* How the client knows the server, where not as the server knows itself. */
static const struct rewrite *
relay_rewrite(struct exchange *x, struct rewrite *ret)
{
	if (x->route == NULL && (!x->tls || x->client_https))
		return NULL;
	*ret = (struct rewrite){
	    .kind = x->route ? REWRITE_ROUTE : REWRITE_SCHEME,
	    .host = span_of(x->host),
	    .port = x->port,
	    .tls = x->tls,
	    .client_https = x->client_https,
	    .path = x->path,
	    .originated = is_originated,
	    .arg = x,
	};
	if (x->route)
		ret->route = span_of(x->route);
	return ret;
}

void
relay_begin(struct exchange *x)
{
	struct worker *w = x->worker;
	struct upstream *u = x->up;
	struct strbuf status;
	struct rewrite rewrite;
	struct forward_response how = {
	    .rewrite = relay_rewrite(x, &rewrite),
	    .has_length = x->is_head || w->head.status == 304,
	    .via = w->proc->via_span,
	};

	x->to_client = framing_for_client(x, u);
	if (client_must_close(x))
		x->client->close = true;
	how.framing = x->to_client;
	how.close = x->client->close && u->framing.kind != FRAMING_TUNNEL;
	if (u->framing.kind == FRAMING_TUNNEL)
		how.upgrade = head_get(&w->head, FIELD_UPGRADE);
	strbuf_init(&status, 512);
	message_proxy_status(&status, x, w->head.status);
	how.proxy_status = strbuf_view(&status);
	strbuf_clear(&w->text);
	strbuf_span(&w->text, strbuf_view(&u->held));
	forward_response_head(&w->text, &w->head, &how, clock_wall_ms() / 1000);
	strbuf_free(&status);
	x->final_status = w->head.status;
	x->head_waits = true;
}

/* Sends a head that waits, then v[1 ...]; v[0] is left free for the head. */
static int
relay_send(struct exchange *x, struct iovec *v, int n)
{
	struct worker *w = x->worker;
	int skip = 1;

	if (x->head_waits) {
		x->head_waits = false;
		if (w->text.failed) {
			client_cut(x->client, false);
			return -1;
		}
		v[0] = (struct iovec){w->text.p, w->text.n};
		skip = 0;
	}
	if (n - skip <= 0)
		return 0;
	request_progress(&x->r);
	return client_send(x->client, v + skip, n - skip);
}

int
relay_flush(struct exchange *x)
{
	struct iovec v[1];

	return relay_send(x, v, 1);
}

/* Bytes of data that the upstream's framing yields; see relay_feed. */
static ssize_t
relay_parts(struct upstream *u, const char *p, size_t n, struct iovec *v,
    int *ret_n, size_t *ret_bytes, bool *ret_done)
{
	size_t used = 0, step;
	struct span data;
	const char *why;
	int parts = 0;

	*ret_bytes = 0;
	if (u->framing.kind != FRAMING_CHUNKED) {
		if (u->framing.kind == FRAMING_LENGTH && n > u->left)
			n = (size_t)u->left;
		if (u->framing.kind == FRAMING_NONE)
			n = 0;
		u->left -= u->framing.kind == FRAMING_LENGTH ? n : 0;
		*ret_done = u->framing.kind != FRAMING_CLOSE && u->left == 0;
		v[0] = (struct iovec){(char *)p, n};
		*ret_n = n > 0;
		*ret_bytes = n;
		return (ssize_t)n;
	}
	while (parts < RELAY_PARTS) {
		enum chunked_result res;

		res = chunked_next(&u->chunked, p + used, n - used, &step,
		    &data, &why);
		used += step;
		if (res == CHUNKED_BAD)
			return -1;
		if (res == CHUNKED_DATA) {
			v[parts++] = (struct iovec){(char *)data.p, data.n};
			*ret_bytes += data.n;
			continue;
		}
		*ret_done = res == CHUNKED_DONE;
		break;
	}
	*ret_n = parts;
	return (ssize_t)used;
}

/* Puts the chunk's frame round v[at, at + n) and the end behind it. */
static int
relay_frame(struct upstream *u, struct iovec *v, int n, size_t bytes, bool done,
    char *line, size_t cap)
{
	const struct strbuf *trailer = &u->chunked.trailer;
	int at = 2 + n;

	if (bytes > 0) {
		v[1] = (struct iovec){line,
		    (size_t)snprintf(line, cap, "%zx\r\n", bytes)};
		v[at++] = (struct iovec){(char *)"\r\n", 2};
	} else {
		v[1] = (struct iovec){line, 0};
	}
	if (done) {
		v[at++] = (struct iovec){(char *)"0\r\n", 3};
		if (u->framing.kind == FRAMING_CHUNKED && trailer->n &&
		    !u->no_trailer)
			v[at++] = (struct iovec){trailer->p, trailer->n};
		v[at++] = (struct iovec){(char *)"\r\n", 2};
	}
	return at;
}

ssize_t
relay_feed(struct upstream *u, const char *p, size_t n, bool *ret_done)
{
	struct iovec v[OUTBUF_IOV_MAX];
	struct exchange *x = u->x;
	char line[24];
	size_t bytes;
	ssize_t used;
	int parts = 0;

	*ret_done = false;
	/* v[0]: a head that waits; v[1]: the chunk's head. */
	used = relay_parts(u, p, n, v + 2, &parts, &bytes, ret_done);
	if (used < 0) {
		relay_eof(u, false);
		return -1;
	}
	x->bytes_out += bytes;
	if (bytes == 0 && !*ret_done)
		return used;
	if (x->to_client.kind == FRAMING_CHUNKED)
		parts = relay_frame(u, v, parts, bytes, *ret_done, line,
		    sizeof(line));
	else
		v[1] = (struct iovec){line, 0}, parts += 2;
	return relay_send(x, v, parts) < 0 ? -1 : used;
}

void
relay_end(struct upstream *u)
{
	struct exchange *x = u->x;
	struct client *c = x->client;

	if (x->head_waits && relay_flush(x) < 0)
		return;
	u->x = NULL;
	x->up = NULL;
	/* The slot goes back before the connection serves anybody else. */
	request_relayed(&x->r);
	client_done(c, true);
	if (u->keep && u->sent_all)
		upstream_to_pool(u);
	else
		upstream_close(u);
}

void
relay_eof(struct upstream *u, bool clean)
{
	struct exchange *x = u->x;
	struct client *c = x->client;
	struct iovec v[4];
	bool reset;

	if (clean && u->framing.kind == FRAMING_CLOSE) {
		v[1] = (struct iovec){(char *)"0\r\n\r\n", 5};
		if (relay_send(x, v,
			x->to_client.kind == FRAMING_CHUNKED ? 2 : 1) < 0)
			return;
		u->keep = false;
		relay_end(u);
		return;
	}
	if (x->head_waits && relay_flush(x) < 0)
		return;
	reset = x->to_client.kind == FRAMING_CLOSE;
	u->x = NULL;
	x->up = NULL;
	upstream_close(u);
	client_cut(c, reset);
	request_cut(&x->r);
}

/* SPDX-License-Identifier: MIT */
/*
 * Connections. This file decides when bytes are read, when the answer is
 * begun, and how a connection ends. What the answer is comes from route.c, its
 * bytes from answer.c.
 *
 * A step works on the state at hand and says whether there is more to do at
 * once; connio.c steps until there is not, and then arms what the state waits
 * for: readable, writable, a time. Time is read anew for each step that needs
 * it, because this program measures others.
 *
 * A client's FIN ends an answer that is still to be waited for (HOLD, PAUSE,
 * HANG): it left. While bytes are being written it is not looked for, so a
 * client may half-close behind requests that are answered at once.
 */
#include "conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "amount.h"
#include "base/log.h"
#include "crc.h"
#include "route.h"

#define LINGER_NS (2 * AMOUNT_SECOND_NS)
#define RESET_NS AMOUNT_SECOND_NS

static const struct head_limits limits = {
    .head_bytes = 64 * 1024,
    .line_bytes = 32 * 1024,
    .fields = HEAD_FIELDS_MAX,
};

static void
conn_move(struct conn *c, enum conn_state to, int64_t due_ns)
{
	if (c->state == CONN_GONE)
		return;
	c->state = to;
	c->due_ns = due_ns;
	if (to == CONN_GONE)
		server_conn_gone(c->server, &c->link);
}

/* The attempt at hand is over. */
static void
conn_end(struct conn *c, enum attempt_end how)
{
	struct origin_end end = {
	    .how = how,
	    .now_ns = origin_mono_ns(),
	    .body_bytes = c->body_bytes,
	    .sent_bytes = c->sent_bytes,
	    .body_crc = c->body_crc,
	};

	if (!c->busy)
		return;
	origin_end(c->server->origin, &c->answer, &end);
	answer_free(&c->answer);
	chunked_free(&c->chunked);
	c->busy = false;
}

void
conn_leave(struct conn *c)
{
	conn_end(c, END_LEFT);
	conn_move(c, CONN_GONE, INT64_MAX);
}

void
conn_stop(struct conn *c)
{
	conn_end(c, END_OPEN);
	conn_move(c, CONN_GONE, INT64_MAX);
}

static void
conn_idle(struct conn *c)
{
	int64_t due_ns = origin_mono_ns() + c->server->idle_ns;

	conn_move(c, CONN_HEAD, due_ns < c->stale_ns ? due_ns : c->stale_ns);
}

/* FIN, then whatever still comes is dropped: a close would send RST for it. */
static void
conn_linger(struct conn *c)
{
	(void)shutdown(c->fd, SHUT_WR);
	conn_move(c, c->eof ? CONN_GONE : CONN_LINGER,
	    origin_mono_ns() + LINGER_NS);
}

/* Starts the answer, or does what stands in its place. */
static void
conn_answer(struct conn *c)
{
	struct answer *a = &c->answer;
	int64_t now_ns = origin_mono_ns(), told_ns;
	size_t before = c->out.n;

	if (a->kind == ANSWER_HANG) {
		conn_move(c, CONN_HANG, INT64_MAX);
		return;
	}
	if (a->kind != ANSWER_SEND) {
		enum answer_kind kind = a->kind;

		conn_end(c, END_CUT);
		if (kind == ANSWER_RST)
			conn_move(c, CONN_RESET, now_ns);
		else
			conn_linger(c);
		return;
	}
	told_ns = answer_head(a, &c->out, now_ns, origin_wall_ns());
	if (c->out.failed) {
		conn_leave(c);
		return;
	}
	route_told(c->server->origin, a, now_ns, told_ns);
	c->drip_left = a->drip_ns > 0 ? c->out.n - before : 0;
	conn_move(c, CONN_SEND, now_ns + c->server->idle_ns);
}

static void
conn_hold(struct conn *c)
{
	if (c->answer.delay_ns > 0)
		conn_move(c, CONN_HOLD, origin_mono_ns() + c->answer.delay_ns);
	else
		conn_answer(c);
}

/* The body is all here, or is not waited for. */
static void
body_done(struct conn *c)
{
	if (c->answer.body == BODY_ECHO && c->answer.kind == ANSWER_SEND) {
		route_echo(&c->answer, c->answer.echo.failed);
		if (c->answer.text.failed) {
			conn_leave(c);
			return;
		}
	}
	conn_hold(c);
}

static void
conn_fault(struct conn *c, int status, const char *why)
{
	c->server->origin->bad++;
	if (!c->busy) {
		answer_init(&c->answer);
		chunked_init(&c->chunked, false);
		c->busy = true;
		c->sent_bytes = c->body_bytes = 0;
	}
	route_error(&c->answer, status, why);
	c->answer.close = true;
	conn_answer(c);
}

/* What the client said about this connection and about its body. */
static void
read_manners(struct conn *c, const struct head *h)
{
	struct answer *a = &c->answer;
	bool more = c->framing.kind == FRAMING_CHUNKED ||
	    (c->framing.kind == FRAMING_LENGTH && c->framing.length > 0);

	a->head_only = span_eq(h->method, SPAN("HEAD"));
	a->old_client = h->minor == 0;
	a->keep_10 = a->old_client && !a->close &&
	    head_list_has(h, FIELD_CONNECTION, SPAN("keep-alive"));
	if (head_list_has(h, FIELD_CONNECTION, SPAN("close")))
		a->close = true;
	if (!more) {
		a->early = false;
		return;
	}
	if (!a->old_client &&
	    head_list_has(h, FIELD_EXPECT, SPAN("100-continue"))) {
		if (a->expect == EXPECT_REFUSE)
			route_error(a, 417, "no expectations here");
		if (a->expect == EXPECT_CONTINUE && !a->refused && !a->early)
			strbuf_lit(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
		else if (a->expect != EXPECT_SILENT)
			a->early = true;
	}
	a->close = a->close || a->early;
}

/* A head came: routes it, and goes where the request wants to go. */
static void
conn_begin(struct conn *c, const struct head *h)
{
	struct request rq = {
	    .head = h,
	    .client = c->client,
	    .conn = c->number,
	    .nth = ++c->nth,
	    .now_ns = origin_mono_ns(),
	};
	const char *why = NULL;
	int status = framing_request(h, &c->framing, &why);

	if (status != 0) {
		conn_fault(c, status, why);
		return;
	}
	answer_init(&c->answer);
	chunked_init(&c->chunked, false);
	c->busy = true;
	c->body_bytes = c->sent_bytes = 0;
	c->body_crc = 0;
	c->stale_ns = INT64_MAX;
	if (route_request(c->server->origin, &rq, &c->answer) < 0) {
		log_warn("out of memory: a request is dropped");
		conn_leave(c);
		return;
	}
	read_manners(c, h);
	c->in_at += h->bytes;
	c->body_left =
	    c->framing.kind == FRAMING_LENGTH ? c->framing.length : 0;
	if (c->answer.early)
		body_done(c);
	else
		conn_move(c, CONN_BODY, rq.now_ns + c->server->idle_ns);
}

static bool
step_head(struct conn *c)
{
	static const int status[] = {
	    [HEAD_BAD] = 400,
	    [HEAD_TOO_LARGE] = 431,
	    [HEAD_URI_TOO_LONG] = 414,
	    [HEAD_VERSION] = 505,
	};
	struct head *h = &c->server->head;
	const char *why = NULL;
	enum head_result r;

	if (c->in_at == c->in_n)
		r = HEAD_AGAIN;
	else
		r = head_request(c->in + c->in_at, c->in_n - c->in_at, &c->scan,
		    &limits, h, &why);
	if (r == HEAD_AGAIN) {
		if (c->eof)
			conn_move(c, CONN_GONE, INT64_MAX);
		return false;
	}
	c->scan = (struct head_scan){0};
	if (r == HEAD_OK)
		conn_begin(c, h);
	else
		conn_fault(c, status[r], why);
	return true;
}

static void
take_body(struct conn *c, struct span s)
{
	c->body_bytes += s.n;
	c->body_crc = crc32_add(c->body_crc, s);
	if (c->answer.body == BODY_ECHO)
		strbuf_put(&c->answer.echo, s.p, s.n);
}

/* False: the body goes on and all bytes are used. */
static bool
step_chunks(struct conn *c)
{
	const char *why = NULL;
	struct span data;
	size_t used = 0;

	switch (chunked_next(&c->chunked, c->in + c->in_at, c->in_n - c->in_at,
	    &used, &data, &why)) {
	case CHUNKED_MORE:
		c->in_at += used;
		return false;
	case CHUNKED_DATA:
		take_body(c, data);
		c->in_at += used;
		return true;
	case CHUNKED_DONE:
		c->in_at += used;
		body_done(c);
		return true;
	case CHUNKED_BAD:
		break;
	}
	conn_fault(c, 400, why);
	return true;
}

static bool
step_body(struct conn *c)
{
	size_t n = c->in_n - c->in_at;
	bool more;

	if (c->framing.kind == FRAMING_CHUNKED) {
		more = n > 0 && step_chunks(c);
	} else {
		if (n > c->body_left)
			n = (size_t)c->body_left;
		if (n > 0)
			take_body(c, (struct span){c->in + c->in_at, n});
		c->in_at += n;
		c->body_left -= n;
		more = c->body_left == 0;
		if (more)
			body_done(c);
	}
	if (!more && c->eof)
		conn_leave(c);
	else if (!more)
		c->due_ns = origin_mono_ns() + c->server->idle_ns;
	return more;
}

/* The answer is out; what the connection does now. */
static void
conn_done(struct conn *c)
{
	struct answer *a = &c->answer;
	int64_t now_ns = origin_mono_ns();
	bool reset = a->has_at && a->reset, last = a->close;

	if (a->stale_ns >= 0)
		c->stale_ns = now_ns + a->stale_ns;
	conn_end(c, answer_is_cut(a) ? END_CUT : END_DONE);
	if (reset)
		conn_move(c, CONN_RESET, now_ns);
	else if (last)
		conn_linger(c);
	else
		conn_idle(c);
}

/* Writes what is there. False: the socket is full, or it is over. */
static bool
conn_write(struct conn *c)
{
	size_t n = c->out.n - c->out_at;
	ssize_t rc;

	if (n == 0)
		return true;
	if (c->drip_left > 0)
		n = 1;
	rc = send(c->fd, c->out.p + c->out_at, n, MSG_NOSIGNAL);
	if (rc < 0) {
		if (errno != EAGAIN && errno != EINTR)
			conn_leave(c);
		return false;
	}
	c->out_at += (size_t)rc;
	c->sent_bytes += (size_t)rc;
	c->drip_left -= c->drip_left > 0;
	if (c->out_at == c->out.n) {
		c->out_at = 0;
		strbuf_clear(&c->out);
	}
	return true;
}

/*
 * Makes a piece ahead, so that a head and a small body go in one write; what
 * is made is written before it is waited or ended.
 */
static bool
step_send(struct conn *c)
{
	enum answer_step step = ANSWER_WAIT;
	size_t unsent = c->out.n - c->out_at;
	bool drips = c->drip_left > 0;
	int64_t due_ns = 0, now_ns = origin_mono_ns();

	if (!drips && unsent < ANSWER_PIECE)
		step = answer_next(&c->answer, &c->out, now_ns, &due_ns);
	if (c->out.failed) {
		conn_leave(c);
		return false;
	}
	if (step == ANSWER_MORE)
		return true;
	if (unsent == 0) {
		if (step == ANSWER_END)
			conn_done(c);
		else
			conn_move(c, CONN_PAUSE, due_ns);
		return true;
	}
	if (!conn_write(c))
		return false;
	if (drips)
		conn_move(c, CONN_PAUSE, now_ns + c->answer.drip_ns);
	else
		c->due_ns = now_ns + c->server->idle_ns;
	return true;
}

/* Sends RST as soon as what was sent is also received, so that the client
 * gets the bytes that it was to get. */
static bool
step_reset(struct conn *c)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};
	int64_t now_ns = origin_mono_ns();
	int queued = 0;

	if (now_ns < c->due_ns + RESET_NS &&
	    ioctl(c->fd, SIOCOUTQ, &queued) == 0 && queued > 0)
		return false;
	(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	conn_move(c, CONN_GONE, INT64_MAX);
	return false;
}

/* Time is up in this state. */
void
conn_timeout(struct conn *c)
{
	switch (c->state) {
	case CONN_HOLD:
		conn_answer(c);
		break;
	case CONN_PAUSE:
		conn_move(c, CONN_SEND, origin_mono_ns() + c->server->idle_ns);
		break;
	case CONN_HEAD:
	case CONN_BODY:
	case CONN_SEND:
	case CONN_HANG:
	case CONN_LINGER:
		conn_leave(c);
		break;
	case CONN_RESET:
	case CONN_GONE:
		break;
	}
}

bool
conn_step(struct conn *c)
{
	switch (c->state) {
	case CONN_HEAD:
		return step_head(c);
	case CONN_BODY:
		if (c->out.n > c->out_at && !conn_write(c))
			return false;
		return step_body(c);
	case CONN_SEND:
		return step_send(c);
	case CONN_HOLD:
	case CONN_PAUSE:
	case CONN_HANG:
		if (c->eof)
			conn_leave(c);
		return false;
	case CONN_LINGER:
		if (c->eof)
			conn_move(c, CONN_GONE, INT64_MAX);
		return false;
	case CONN_RESET:
		return step_reset(c);
	case CONN_GONE:
		break;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * Answers. This file decides how an answer looks on the wire and when each
 * piece of it is due; why it is this answer was decided before (route.c), and
 * how bytes get into a socket after (conn.c).
 *
 *   answer_head   1xx*, status line, fields, hint
 *   answer_next   piece, piece, wait, piece, ... last chunk and trailers
 *
 * Pieces are due on a fixed grid from the head on: a late one does not make
 * those after it later.
 */
#include "answer.h"

#include <inttypes.h>
#include <stdio.h>

#include "amount.h"
#include "proto/httpdate.h"
#include "proto/reply.h"

#define SLOW_PIECES 20

void
answer_init(struct answer *a)
{
	*a = (struct answer){.stale_ns = -1, .after_ns = -1};
	strbuf_init(&a->text, ANSWER_ECHO_MAX * 8);
	strbuf_init(&a->fields, WISH_TEXT_MAX * 2);
	strbuf_init(&a->trailer, WISH_TEXT_MAX);
	strbuf_init(&a->type, WISH_TEXT_MAX);
	strbuf_init(&a->only, WISH_TEXT_MAX);
	strbuf_init(&a->echo, ANSWER_ECHO_MAX);
}

void
answer_free(struct answer *a)
{
	strbuf_free(&a->text);
	strbuf_free(&a->fields);
	strbuf_free(&a->trailer);
	strbuf_free(&a->type);
	strbuf_free(&a->only);
	strbuf_free(&a->echo);
}

int
answer_adopt(struct answer *a, const struct wish *w)
{
	a->http10 = w->http10;
	a->close = w->close;
	a->framing = w->framing;
	strbuf_span(&a->fields, strbuf_view(&w->h));
	strbuf_span(&a->trailer, strbuf_view(&w->trailer));
	strbuf_span(&a->type, strbuf_view(&w->type));
	memcpy(a->info, w->info, sizeof a->info);
	a->ninfo = w->ninfo;
	a->delay_ns = w->head_ns;
	a->drip_ns = w->drip_ns;
	a->body_ns = w->body_ns;
	a->gap_ns = w->gap_ns;
	a->stale_ns = w->stale_ns;
	a->piece = w->piece;
	a->hint = (enum advice_form)w->hint;
	a->raw = w->raw;
	a->early = w->early;
	a->expect = w->expect;
	return a->fields.failed || a->trailer.failed || a->type.failed ? -1 : 0;
}

static bool
no_body(const struct answer *a)
{
	return a->head_only || a->status == 204 || a->status == 304;
}

static bool
length_known(const struct answer *a)
{
	return a->body == BODY_TEXT || a->body == BODY_PATTERN;
}

bool
answer_is_cut(const struct answer *a)
{
	return a->has_at && (!length_known(a) || a->made < a->length);
}

/* What the client can take decides together with what was asked for. */
static void
settle_framing(struct answer *a)
{
	if (a->framing == FRAME_LENGTH && !length_known(a))
		a->framing = FRAME_CHUNKED;
	if (a->framing == FRAME_CHUNKED && (a->old_client || a->http10))
		a->framing = FRAME_CLOSE;
	if (a->has_at || a->http10 ||
	    (a->framing == FRAME_CLOSE && !no_body(a)) ||
	    (a->old_client && !a->keep_10))
		a->close = true;
}

static bool
has_field(const struct answer *a, struct span name)
{
	struct span rest = strbuf_view(&a->fields), line;

	while (rest.n > 0 && span_cut(&rest, '\n', &line)) {
		if (span_istarts(line, name))
			return true;
	}
	return false;
}

static void
put_date(struct answer *a, struct strbuf *out, int64_t wall_ns)
{
	char date[HTTPDATE_LEN + 1];

	if (has_field(a, SPAN("date:")))
		return;
	httpdate_format(wall_ns / AMOUNT_SECOND_NS, date);
	strbuf_fmt(out, "Date: %s\r\n", date);
}

static void
put_framing(const struct answer *a, struct strbuf *out)
{
	if (a->status == 204 || a->status == 304)
		return;
	if (a->type.n > 0 && !has_field(a, SPAN("content-type:")))
		strbuf_fmt(out, "Content-Type: %.*s\r\n",
		    SPAN_ARG(strbuf_view(&a->type)));
	if (a->framing == FRAME_LENGTH)
		strbuf_fmt(out, "Content-Length: %" PRIu64 "\r\n", a->length);
	else if (a->framing == FRAME_CHUNKED)
		strbuf_lit(out, "Transfer-Encoding: chunked\r\n");
}

static int64_t
put_hint(const struct answer *a, struct strbuf *out, int64_t now_ns,
    int64_t wall_ns)
{
	int64_t wait_ns = a->after_ns;

	if (!a->hinted)
		return -1;
	if (wait_ns < 0)
		wait_ns = a->ready_ns > now_ns ? a->ready_ns - now_ns : 0;
	return advice_put(out, a->hint, wait_ns, wall_ns, &a->quota);
}

int64_t
answer_head(struct answer *a, struct strbuf *out, int64_t now_ns,
    int64_t wall_ns)
{
	int64_t told_ns;

	settle_framing(a);
	a->begun_ns = now_ns;
	for (unsigned i = 0; i < a->ninfo && !a->old_client; i++)
		strbuf_fmt(out, "HTTP/1.1 %d %s\r\n\r\n", a->info[i],
		    reply_reason_phrase(a->info[i]));
	strbuf_fmt(out, "HTTP/1.%c %d %s\r\n", a->http10 ? '0' : '1', a->status,
	    reply_reason_phrase(a->status));
	strbuf_lit(out, "Server: abide-origin\r\n");
	put_date(a, out, wall_ns);
	told_ns = put_hint(a, out, now_ns, wall_ns);
	strbuf_span(out, strbuf_view(&a->fields));
	put_framing(a, out);
	if (a->close)
		strbuf_lit(out, "Connection: close\r\n");
	else if (a->keep_10)
		strbuf_lit(out, "Connection: keep-alive\r\n");
	strbuf_lit(out, "\r\n");
	return told_ns;
}

/* The decimal number in digits, plus one. */
static void
count_up(char *digits, size_t n)
{
	while (n > 0 && digits[n - 1] == '9')
		digits[--n] = '0';
	if (n > 0)
		digits[n - 1]++;
}

/* Line k of the pattern is its number in 15 digits: bytes [16 k, 16 k + 16). */
static void
put_pattern(struct strbuf *out, uint64_t at, uint64_t n)
{
	char line[17];
	uint64_t skip = at % 16, take;

	(void)snprintf(line, sizeof line, "%015" PRIu64 "\n",
	    at / 16 % UINT64_C(1000000000000000));
	for (; n > 0; n -= take, skip = 0) {
		take = 16 - skip < n ? 16 - skip : n;
		strbuf_put(out, line + skip, take);
		count_up(line, 15);
	}
}

static void
make_event(struct answer *a)
{
	strbuf_fmt(&a->text,
	    "id: %" PRIu64 "\ndata: {\"event\":%" PRIu64 "}\n\n", a->nth,
	    a->nth);
}

/* The next attempts of the report, as many as fit in one piece. */
static void
make_report(struct answer *a)
{
	struct span only = strbuf_view(&a->only);

	if (a->nth++ == 0)
		strbuf_fmt(&a->text,
		    "{\"next\":%" PRIu64 ",\"dropped\":%" PRIu64
		    ",\"attempts\":[",
		    a->report->next, a->report->dropped);
	for (; a->from < a->to && a->text.n < ANSWER_PIECE; a->from++) {
		const struct attempt *at = report_get(a->report, a->from);

		if (at == NULL ||
		    (only.n > 0 && !span_eq(only, attempt_key(at))))
			continue;
		if (a->comma)
			strbuf_char(&a->text, ',');
		a->comma = true;
		strbuf_char(&a->text, '\n');
		attempt_json(at, &a->text);
	}
	if (a->from >= a->to && a->from != UINT64_MAX) {
		strbuf_lit(&a->text, "]}\n");
		a->from = UINT64_MAX;
	}
}

/* Bodies that come in pieces of their own: the next one, where it is due. */
static enum answer_step
refill(struct answer *a, int64_t now_ns, int64_t *ret_due_ns)
{
	if (a->off < a->text.n)
		return ANSWER_MORE;
	strbuf_clear(&a->text);
	a->off = 0;
	if (a->body == BODY_REPORT) {
		if (a->from == UINT64_MAX)
			return ANSWER_END;
		make_report(a);
		return ANSWER_MORE;
	}
	if (a->length > 0 && a->nth == a->length)
		return ANSWER_END;
	*ret_due_ns = a->begun_ns + a->gap_ns * (int64_t)a->nth;
	if (now_ns < *ret_due_ns)
		return ANSWER_WAIT;
	a->nth++;
	make_event(a);
	return ANSWER_MORE;
}

/* A body of known length: how much may go now; paced over body_ns. */
static enum answer_step
paced(const struct answer *a, int64_t now_ns, uint64_t *ret_n,
    int64_t *ret_due_ns)
{
	uint64_t piece = a->piece, pieces, nth;

	*ret_n = a->length - a->made;
	if (*ret_n == 0)
		return ANSWER_END;
	if (a->body_ns == 0)
		return ANSWER_MORE;
	if (piece == 0)
		piece = a->length / SLOW_PIECES + 1;
	pieces = (a->length + piece - 1) / piece;
	nth = a->made / piece;
	*ret_due_ns = a->begun_ns +
	    (int64_t)((double)a->body_ns * (double)(nth + 1) / (double)pieces);
	if (now_ns < *ret_due_ns)
		return ANSWER_WAIT;
	if (*ret_n > (nth + 1) * piece - a->made)
		*ret_n = (nth + 1) * piece - a->made;
	return ANSWER_MORE;
}

/* Appends n bytes of the body, as a chunk where it is chunked. */
static void
put_piece(struct answer *a, struct strbuf *out, uint64_t n)
{
	if (a->framing == FRAME_CHUNKED)
		strbuf_fmt(out, "%" PRIx64 "\r\n", n);
	if (a->body == BODY_PATTERN) {
		put_pattern(out, a->made, n);
	} else {
		strbuf_put(out, a->text.p + a->off, n);
		a->off += n;
	}
	a->made += n;
	if (a->framing == FRAME_CHUNKED)
		strbuf_lit(out, "\r\n");
}

enum answer_step
answer_next(struct answer *a, struct strbuf *out, int64_t now_ns,
    int64_t *ret_due_ns)
{
	enum answer_step step;
	uint64_t n;

	if (a->ended || no_body(a) || (a->has_at && a->made >= a->at))
		return ANSWER_END;
	if (length_known(a)) {
		step = paced(a, now_ns, &n, ret_due_ns);
	} else {
		step = refill(a, now_ns, ret_due_ns);
		n = a->text.n - a->off;
	}
	if (step == ANSWER_WAIT)
		return step;
	if (step == ANSWER_END) {
		if (a->framing != FRAME_CHUNKED)
			return ANSWER_END;
		strbuf_lit(out, "0\r\n");
		strbuf_span(out, strbuf_view(&a->trailer));
		strbuf_lit(out, "\r\n");
		a->ended = true;
		return ANSWER_MORE;
	}
	if (n > ANSWER_PIECE)
		n = ANSWER_PIECE;
	if (a->has_at && n > a->at - a->made)
		n = a->at - a->made;
	if (n > 0)
		put_piece(a, out, n);
	return ANSWER_MORE;
}

/* SPDX-License-Identifier: MIT */
/*
 * peek decides how much of a body is enough to judge an answer by. It refuses to
 * know what the body says.
 */
#include "peek.h"

#include "base/mem.h"

/* Bytes that may come in beside those worth keeping: chunks of one byte are six,
 * and may have extensions. */
#define PEEK_FRAMES_MAX (128 * 1024)

struct peek *
peek_new(const struct look *look, const struct framing *f, size_t head_bytes)
{
	struct peek *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	p->look = *look;
	p->head_bytes = head_bytes;
	p->kind = f->kind;
	if (f->kind == FRAMING_LENGTH)
		p->left = f->length;
	if (f->kind == FRAMING_CHUNKED)
		chunked_init(&p->chunked, true);
	strbuf_init(&p->body, look->bytes);
	return p;
}

void
peek_free(struct peek *p)
{
	if (!p)
		return;
	if (p->kind == FRAMING_CHUNKED)
		chunked_free(&p->chunked);
	strbuf_free(&p->body);
	mem_free(p);
}

/* What finds no room is left out. */
static void
peek_keep(struct peek *p, struct span data)
{
	size_t room = p->look.bytes - p->body.n;

	if (data.n >= room) {
		data.n = room;
		p->enough = true;
	}
	strbuf_span(&p->body, data);
	if (p->body.failed)
		p->enough = true;
}

static void
peek_plain(struct peek *p, struct span data)
{
	if (p->kind == FRAMING_LENGTH) {
		if (data.n > p->left)
			data.n = (size_t)p->left;
		p->left -= data.n;
	}
	peek_keep(p, data);
	if (p->kind == FRAMING_LENGTH && p->left == 0)
		p->whole = p->enough = true;
}

static void
peek_chunked(struct peek *p, struct span raw)
{
	enum chunked_result res;
	const char *why;
	struct span data;
	size_t used;

	do {
		res =
		    chunked_next(&p->chunked, raw.p, raw.n, &used, &data, &why);
		if (res == CHUNKED_BAD) {
			p->enough = true;
			return;
		}
		raw.p += used;
		raw.n -= used;
		if (res == CHUNKED_DATA)
			peek_keep(p, data);
	} while (res == CHUNKED_DATA);
	if (res == CHUNKED_DONE)
		p->whole = p->enough = true;
}

void
peek_feed(struct peek *p, const char *body, size_t n)
{
	struct span event;

	if (p->enough)
		return;
	if (p->kind == FRAMING_CHUNKED)
		peek_chunked(p, (struct span){body + p->at, n - p->at});
	else
		peek_plain(p, (struct span){body + p->at, n - p->at});
	p->at = n;
	if (p->look.event &&
	    sse_first_event(strbuf_view(&p->body), &p->scan, &event))
		p->enough = true;
	if (n >= p->look.bytes + PEEK_FRAMES_MAX)
		p->enough = true;
}

struct body_view
peek_view(const struct peek *p)
{
	struct body_view v = {.bytes = strbuf_view(&p->body),
	    .whole = p->whole && !p->body.failed};

	if (!v.bytes.p)
		v.bytes.p = "";
	return v;
}

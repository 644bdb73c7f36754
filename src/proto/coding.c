/* SPDX-License-Identifier: MIT */
/*
 * coding.c: gzip and deflate, undone up to a bound.
 *
 * Decides what a body with Content-Encoding reads like, and when to stop: at
 * the bound of what comes out, at the bound of what is taken in (a stream of
 * empty members gives nothing and could go on for ever), at the first fault.
 * What came before a fault is kept. It refuses to know who reads it.
 */
#include "proto/coding.h"

#include <zlib.h>

#include "base/mem.h"

#define CHUNK 4096 /* bytes */

/* windowBits of inflateInit2: the largest window, and which wrapping. */
#define WINDOW_ZLIB 15
#define WINDOW_GZIP (15 + 16)
#define WINDOW_BARE (-15)

/* --- what was applied ----------------------------------------------------- */

static int
add_coding(struct coding_list *list, struct span name)
{
	enum coding coding;

	if (span_ieq(name, SPAN("identity")))
		return 0;
	if (span_ieq(name, SPAN("gzip")) || span_ieq(name, SPAN("x-gzip")))
		coding = CODING_GZIP;
	else if (span_ieq(name, SPAN("deflate")))
		coding = CODING_DEFLATE;
	else
		return -1;
	if (list->n == CODING_MAX)
		return -1;
	list->v[list->n++] = coding;
	return 0;
}

int
coding_list_of(const struct head *h, struct coding_list *ret)
{
	struct coding_list list = {.n = 0};

	for (unsigned i = 0; i < h->nfields; i++) {
		struct span rest = h->fields[i].value, item;

		if (!span_ieq(h->fields[i].name, SPAN("content-encoding")))
			continue;
		while (span_next_item(&rest, &item)) {
			if (add_coding(&list, item) != 0)
				return -1;
		}
	}
	*ret = list;
	return 0;
}

/* --- one of them ---------------------------------------------------------- */

enum undone {
	UNDONE_END,   /* the stream has ended as it should */
	UNDONE_CUT,   /* there is more, but not here, or no room for it */
	UNDONE_FAULT, /* it is none */
	UNDONE_NO_MEMORY,
};

static voidpf
take_memory(voidpf opaque, uInt items, uInt size)
{
	(void)opaque;
	return mem_alloc((size_t)items * size);
}

static void
give_memory(voidpf opaque, voidpf p)
{
	(void)opaque;
	mem_free(p);
}

/* Does another gzip member begin where this one ended? */
static bool
member_follows(const z_stream *z)
{
	return z->avail_in >= 2 && z->next_in[0] == 0x1f &&
	    z->next_in[1] == 0x8b;
}

/* At most what there is room for; false: there was more. */
static bool
put_bounded(struct strbuf *out, const unsigned char *p, size_t n)
{
	size_t room = out->max - out->n;

	strbuf_put(out, p, n < room ? n : room);
	return n <= room;
}

static enum undone
run(z_stream *z, bool members, struct strbuf *out)
{
	unsigned char chunk[CHUNK];

	for (;;) {
		z->next_out = chunk;
		z->avail_out = CHUNK;
		int rc = inflate(z, Z_NO_FLUSH);
		if (!put_bounded(out, chunk, CHUNK - z->avail_out))
			return UNDONE_CUT;
		if (out->failed || rc == Z_MEM_ERROR)
			return UNDONE_NO_MEMORY;
		if (rc == Z_STREAM_END) {
			if (!members || !member_follows(z))
				return UNDONE_END;
			if (inflateReset(z) != Z_OK)
				return UNDONE_FAULT;
		} else if (rc == Z_BUF_ERROR) {
			return UNDONE_CUT; /* the input is used up */
		} else if (rc != Z_OK) {
			return UNDONE_FAULT;
		}
	}
}

/* out: empty, but for its bound. */
static enum undone
undo_as(int window, struct span in, struct strbuf *out)
{
	z_stream z = {.zalloc = take_memory, .zfree = give_memory};

	z.next_in = (z_const Bytef *)(uintptr_t)in.p;
	z.avail_in = (uInt)in.n;
	if (inflateInit2(&z, window) != Z_OK)
		return UNDONE_NO_MEMORY;
	enum undone undone = run(&z, window == WINDOW_GZIP, out);
	(void)inflateEnd(&z);
	return undone;
}

static enum undone
undo_one(enum coding coding, struct span in, struct strbuf *out)
{
	enum undone undone;

	if (coding == CODING_GZIP)
		return undo_as(WINDOW_GZIP, in, out);
	undone = undo_as(WINDOW_ZLIB, in, out);
	if (undone == UNDONE_FAULT && out->n == 0)
		undone = undo_as(WINDOW_BARE, in, out);
	return undone;
}

/* --- all of them ---------------------------------------------------------- */

static int
undo_step(enum coding coding, struct span in, size_t max, struct strbuf *out,
    bool *whole)
{
	if (in.n > 2 * max) {
		in.n = 2 * max;
		*whole = false;
	}
	strbuf_init(out, max);
	enum undone undone = undo_one(coding, in, out);
	if (undone == UNDONE_NO_MEMORY)
		return -1;
	*whole = *whole && undone == UNDONE_END;
	return 0;
}

int
coding_undo(const struct coding_list *list, struct span in, bool whole,
    size_t max, struct strbuf *ret, bool *ret_whole)
{
	struct strbuf between;
	int rc;

	if (list->n == 1) {
		rc = undo_step(list->v[0], in, max, ret, &whole);
		*ret_whole = whole;
		return rc;
	}
	strbuf_init(ret, max);
	rc = undo_step(list->v[1], in, max, &between, &whole);
	if (rc == 0)
		rc = undo_step(list->v[0], strbuf_view(&between), max, ret,
		    &whole);
	strbuf_free(&between);
	*ret_whole = whole;
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz_chunked: any bytes as a chunked body.
 *
 * The first byte is 's' (strict) or 'l' (lenient), the second says where the
 * bytes are cut. Data, trailer, verdict and the bytes used do not depend on the
 * cut, strict accepts no more than lenient, and what was decoded reads the same
 * after it is coded anew.
 */
#include <stdlib.h>

#include "proto/chunked.h"
#include "proto/head.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

#define BYTEWISE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct body {
	struct chunked c;
	struct strbuf data;
	size_t used;
	enum chunked_result verdict;
};

static void
feed(struct body *b, const char *p, size_t n)
{
	const char *why = NULL;
	struct span data;
	size_t used;

	do {
		used = 0;
		b->verdict = chunked_next(&b->c, p, n, &used, &data, &why);
		CHECK(used <= n);
		if (b->verdict == CHUNKED_DATA) {
			CHECK(data.n > 0 && data.p >= p);
			CHECK(data.p + data.n == p + used);
			strbuf_span(&b->data, data);
		}
		p += used;
		n -= used;
		b->used += used;
	} while (b->verdict == CHUNKED_DATA);
	CHECK(b->verdict != CHUNKED_MORE || n == 0);
	CHECK((b->verdict == CHUNKED_BAD) == (why != NULL));
}

static void
decode(struct body *b, struct span in, bool lenient, size_t cut, size_t step)
{
	*b = (struct body){.verdict = CHUNKED_MORE};
	chunked_init(&b->c, lenient);
	strbuf_init(&b->data, SIZE_MAX);
	feed(b, in.p, cut);
	for (size_t at = cut; at < in.n && b->verdict == CHUNKED_MORE;) {
		size_t n = step < in.n - at ? step : in.n - at;

		feed(b, in.p + at, n);
		at += n;
	}
}

static void
body_free(struct body *b)
{
	chunked_free(&b->c);
	strbuf_free(&b->data);
}

static void
check_same(const struct body *a, const struct body *b)
{
	CHECK(a->verdict == b->verdict);
	CHECK(span_eq(strbuf_view(&a->data), strbuf_view(&b->data)));
	CHECK(span_eq(strbuf_view(&a->c.trailer), strbuf_view(&b->c.trailer)));
	if (a->verdict != CHUNKED_BAD)
		CHECK(a->used == b->used);
}

static void
check_cuts(const struct body *whole, struct span in, bool lenient, size_t cut)
{
	struct body b;

	decode(&b, in, lenient, cut, in.n);
	check_same(whole, &b);
	body_free(&b);
	if (in.n > BYTEWISE_MAX)
		return;
	decode(&b, in, lenient, 0, 1);
	check_same(whole, &b);
	body_free(&b);
}

static void
check_trailer(struct span trailer)
{
	struct span line;
	struct field f;
	const char *why;

	while (span_cut(&trailer, '\n', &line) && trailer.p != NULL) {
		CHECK(line.n > 0 && line.p[line.n - 1] == '\r');
		line.n--;
		CHECK(head_field_line(line, &f, &why) == 0);
		CHECK(f.id != FIELD_TRANSFER_ENCODING && f.id != FIELD_HOST);
		CHECK(f.id != FIELD_CONTENT_LENGTH);
	}
}

/* One chunk with all the data, and the trailer as it was kept. */
static void
check_coded_anew(const struct body *b)
{
	struct strbuf out;
	struct body c;

	strbuf_init(&out, SIZE_MAX);
	if (b->data.n > 0) {
		strbuf_fmt(&out, "%zx\r\n", b->data.n);
		strbuf_span(&out, strbuf_view(&b->data));
		strbuf_lit(&out, "\r\n");
	}
	strbuf_lit(&out, "0\r\n");
	strbuf_span(&out, strbuf_view(&b->c.trailer));
	strbuf_lit(&out, "\r\n");
	decode(&c, strbuf_view(&out), false, out.n, 1);
	/* Written plainly a trailer may pass the limit. */
	if (b->c.trailer.n + 2 <= CHUNKED_TRAILER_MAX) {
		CHECK(c.verdict == CHUNKED_DONE && c.used == out.n);
		c.used = b->used;
		check_same(b, &c);
	}
	body_free(&c);
	strbuf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct body strict, lenient;
	struct span in;
	size_t cut;

	if (size < 2)
		return 0;
	in = (struct span){(const char *)data + 2, size - 2};
	cut = in.n * data[1] / 256;
	decode(&strict, in, false, in.n, 1);
	decode(&lenient, in, true, in.n, 1);
	check_cuts(data[0] == 'l' ? &lenient : &strict, in, data[0] == 'l',
	    cut);
	if (strict.verdict == CHUNKED_DONE) {
		check_same(&strict, &lenient);
		check_trailer(strbuf_view(&strict.c.trailer));
		check_coded_anew(&strict);
	}
	body_free(&strict);
	body_free(&lenient);
	return 0;
}

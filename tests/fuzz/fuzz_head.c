/* SPDX-License-Identifier: MIT */
/*
 * fuzz_head: any bytes as a head.
 *
 * The first byte is 'q' (request) or 'r' (response), in capitals with small
 * limits; the second says where the bytes are cut. However they are cut the
 * verdict is one, and what is accepted can be forwarded: the new head is read
 * again without leniency, and forwarding that adds but one more Via.
 */
#include <stdlib.h>

#include "proto/forward.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

/* Fields that forwarding may add. */
#define ADDED 8
#define BYTEWISE_MAX 4096
#define VIA "Via: 1.1 fuzz\r\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef enum head_result scanner(const char *buf, size_t n,
    struct head_scan *scan, const struct head_limits *lim, struct head *h,
    const char **ret_why);

static const struct head_limits large = {
    .head_bytes = 1 << 20,
    .line_bytes = 1 << 16,
    .fields = HEAD_FIELDS_MAX - ADDED,
};
static const struct head_limits small = {.head_bytes = 120,
    .line_bytes = 24,
    .fields = 3};
static const struct head_limits again = {.head_bytes = 1 << 22,
    .line_bytes = 1 << 21,
    .fields = HEAD_FIELDS_MAX};

static struct head head, other;

static bool
inside(struct span part, struct span whole)
{
	return part.n == 0 ||
	    (part.p >= whole.p && part.p < whole.p + whole.n &&
		part.n <= (size_t)(whole.p + whole.n - part.p));
}

/* [0, cut), then all; the head in the end does not depend on the cut. */
static enum head_result
scan_cut(scanner *f, struct span in, size_t cut, size_t step,
    const struct head_limits *lim, struct head *h)
{
	struct head_scan scan = {0};
	const char *why = NULL;
	enum head_result r = HEAD_AGAIN;

	for (size_t n = cut;; n += step) {
		if (n > in.n)
			n = in.n;
		r = f(in.p, n, &scan, lim, h, &why);
		CHECK((why == NULL) == (r == HEAD_OK || r == HEAD_AGAIN));
		if (r != HEAD_AGAIN || n == in.n)
			return r;
	}
}

static void
check_spans(const struct head *h, struct span in)
{
	struct span whole = {in.p, h->bytes};

	CHECK(h->bytes > 0 && h->bytes <= in.n);
	CHECK(in.p[h->bytes - 1] == '\n');
	CHECK(inside(h->method, whole) && inside(h->target, whole));
	CHECK(inside(h->reason, whole));
	for (unsigned i = 0; i < h->nfields; i++) {
		const struct field *f = &h->fields[i];

		CHECK(head_is_token(f->name) && inside(f->name, whole));
		CHECK(inside(f->value, whole));
		CHECK(f->value.n == 0 || !memchr(f->value.p, '\n', f->value.n));
		CHECK(f->id == head_field_id(f->name) && head_has(h, f->id));
	}
}

static void
check_same(const struct head *a, const struct head *b)
{
	CHECK(a->bytes == b->bytes && a->nfields == b->nfields);
	CHECK(a->seen == b->seen && a->minor == b->minor);
	CHECK(a->status == b->status && span_eq(a->target, b->target));
	for (unsigned i = 0; i < a->nfields; i++)
		CHECK(a->fields[i].value.p == b->fields[i].value.p);
}

/* All there is to a forwarded head: how it was framed is how it is sent. */
static void
forward(struct strbuf *out, const struct head *h, struct framing framing)
{
	struct forward_request request = {.host = SPAN("a.test"),
	    .path = SPAN("/"),
	    .framing = framing,
	    .via = SPAN("fuzz"),
	    .upgrade = true,
	    .max_forwards = -1};
	struct forward_response response = {.framing = framing,
	    .has_length = true,
	    .via = SPAN("fuzz")};

	if (h->is_request)
		forward_request_head(out, h, &request);
	else
		forward_response_head(out, h, &response, -1);
	CHECK(!out->failed);
}

static struct framing
framing_of(const struct head *h)
{
	struct framing framing = {.kind = FRAMING_NONE};
	const char *why = NULL;
	int answer;

	if (h->is_request)
		answer = framing_request(h, &framing, &why);
	else
		answer = framing_response(h, SPAN("GET"), &framing, &why);
	CHECK((answer == 0) == (why == NULL));
	return framing;
}

/* Each LF of a head that we wrote ends a CRLF. */
static void
check_crlf(struct span text)
{
	for (size_t i = 0; i < text.n; i++)
		CHECK(text.p[i] != '\n' || (i > 0 && text.p[i - 1] == '\r'));
}

/* The end of the last Via line, which is the one that was added. */
static size_t
via_end(const struct head *h, struct span text)
{
	size_t end = 0;

	for (unsigned i = 0; i < h->nfields; i++) {
		struct span v = h->fields[i].value;

		if (h->fields[i].id == FIELD_VIA)
			end = (size_t)(v.p + v.n - text.p) + 2;
	}
	CHECK(end > 0);
	return end;
}

static void
check_forward(scanner *f, const struct head *h)
{
	struct framing framing = framing_of(h);
	struct strbuf one, two;
	struct span first;
	size_t at;

	strbuf_init(&one, SIZE_MAX);
	strbuf_init(&two, SIZE_MAX);
	forward(&one, h, framing);
	first = strbuf_view(&one);
	check_crlf(first);
	CHECK(scan_cut(f, first, first.n, 1, &again, &other) == HEAD_OK);
	CHECK(other.bytes == first.n && other.minor == 1);
	CHECK(!head_has(&other, FIELD_PROXY_AUTHORIZATION));
	CHECK(!head_has(&other, FIELD_TE) && !head_has(&other, FIELD_TRAILER));
	CHECK(forward_via_has(&other, SPAN("fuzz")));
	forward(&two, &other, framing);
	at = via_end(&other, first);
	CHECK(two.n == first.n + sizeof(VIA) - 1);
	CHECK(memcmp(two.p, first.p, at) == 0);
	CHECK(memcmp(two.p + at, VIA, sizeof(VIA) - 1) == 0);
	CHECK(memcmp(two.p + two.n - (first.n - at), first.p + at,
		  first.n - at) == 0);
	strbuf_free(&one);
	strbuf_free(&two);
}

static void
check_readers(const struct head *h)
{
	struct target t;
	const char *why = NULL;

	(void)head_keep_alive_timeout_s(h);
	(void)forward_wants_upgrade(h);
	if (!h->is_request || target_parse(h->method, h->target, &t, &why) != 0)
		return;
	CHECK(why == NULL);
	if (target_host_check(h, &t, &why) == 0)
		CHECK(h->minor == 0 || head_has(h, FIELD_HOST));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct head_limits *lim = &large;
	scanner *f = head_request;
	enum head_result r;
	struct span in;

	if (size < 2)
		return 0;
	if ((data[0] | 0x20) == 'r')
		f = head_response;
	if (!(data[0] & 0x20))
		lim = &small;
	in = (struct span){(const char *)data + 2, size - 2};
	r = scan_cut(f, in, in.n, 1, lim, &head);
	CHECK(scan_cut(f, in, in.n * data[1] / 256, in.n, lim, &other) == r);
	if (r == HEAD_OK)
		check_same(&head, &other);
	if (in.n <= BYTEWISE_MAX)
		CHECK(scan_cut(f, in, 0, 1, lim, &other) == r);
	if (r != HEAD_OK)
		return 0;
	check_spans(&head, in);
	check_readers(&head);
	check_forward(f, &head);
	return 0;
}

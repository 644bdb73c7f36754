/* SPDX-License-Identifier: MIT */
/*
 * fuzz_hello: any bytes as the first ones of a TCP stream.
 *
 * The first byte says how many bytes of the message go into each record when a
 * good hello is cut anew. A result that is final stays the same with all that
 * follows, and a hello says the same in whatever records it comes.
 */
#include <stdlib.h>

#include "base/strbuf.h"
#include "proto/hello.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

/* Bytes of all prefixes that are looked at one by one. */
#define PREFIXES_MAX 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_same(const struct hello *a, const struct hello *b)
{
	CHECK(strcmp(a->sni, b->sni) == 0);
	CHECK(a->alpn_bytes == b->alpn_bytes && a->alpn_cut == b->alpn_cut);
	CHECK(memcmp(a->alpn, b->alpn, a->alpn_bytes) == 0);
	CHECK(a->encrypted == b->encrypted);
	CHECK(a->looks_http == b->looks_http && a->why == b->why);
}

static void
check_name(const char *name)
{
	static const char may[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t n = strlen(name);

	CHECK(n <= HELLO_NAME_MAX);
	if (n == 0)
		return;
	CHECK(strspn(name, may) == n);
	CHECK(name[0] != '.' && name[n - 1] != '.' && !strstr(name, ".."));
}

static void
check_result(enum hello_result r, const struct hello *h, size_t n)
{
	CHECK((r == HELLO_BAD) == (h->why != NULL));
	CHECK(r != HELLO_AGAIN || n < HELLO_BYTES_MAX);
	CHECK(!h->looks_http || r == HELLO_NOT_TLS);
	if (r == HELLO_OK)
		check_name(h->sni);
}

/* The message of a good hello, out of its records. */
static void
unpack(struct strbuf *ret, const uint8_t *p, size_t n)
{
	size_t want = 4;

	while (ret->n < want) {
		size_t length = (size_t)p[3] << 8 | p[4], take = length;

		CHECK(n > 5);
		if (take > n - 5)
			take = n - 5;
		strbuf_put(ret, p + 5, take);
		p += 5 + take;
		n -= 5 + take;
		if (ret->n >= 4)
			want = 4 +
			    ((size_t)(uint8_t)ret->p[1] << 16 |
				(size_t)(uint8_t)ret->p[2] << 8 |
				(uint8_t)ret->p[3]);
	}
	ret->n = want;
}

static void
check_cut_anew(const struct hello *whole, const uint8_t *p, size_t n,
    size_t step)
{
	struct strbuf message, wire;
	struct hello h;

	strbuf_init(&message, SIZE_MAX);
	strbuf_init(&wire, SIZE_MAX);
	unpack(&message, p, n);
	for (size_t at = 0; at < message.n; at += step) {
		size_t part = step < message.n - at ? step : message.n - at;

		strbuf_put(&wire, "\x16\3\3", 3);
		strbuf_char(&wire, (char)(part >> 8));
		strbuf_char(&wire, (char)part);
		strbuf_put(&wire, message.p + at, part);
	}
	if (message.n <= step * HELLO_RECORDS) {
		CHECK(hello_parse(wire.p, wire.n, &h) == HELLO_OK);
		check_same(whole, &h);
		CHECK(hello_parse(wire.p, wire.n - 1, &h) == HELLO_AGAIN);
	} else {
		CHECK(hello_parse(wire.p, wire.n, &h) == HELLO_BAD);
	}
	strbuf_free(&message);
	strbuf_free(&wire);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum hello_result before = HELLO_AGAIN, r;
	struct hello h, whole;
	const char *p;

	if (size == 0)
		return 0;
	p = (const char *)data + 1;
	r = hello_parse(p, size - 1, &whole);
	check_result(r, &whole, size - 1);
	if (r == HELLO_OK)
		check_cut_anew(&whole, data + 1, size - 1,
		    data[0] ? data[0] : 256);
	for (size_t n = 0; n < size - 1 && n < PREFIXES_MAX; n++) {
		enum hello_result now = hello_parse(p, n, &h);

		check_result(now, &h, n);
		CHECK(before == HELLO_AGAIN || now == before);
		CHECK(now == HELLO_AGAIN || now == r);
		if (now != HELLO_AGAIN)
			check_same(&h, &whole);
		before = now;
	}
	return 0;
}

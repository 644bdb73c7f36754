/* SPDX-License-Identifier: MIT */
/*
 * fuzz_basic: any bytes as the value of Proxy-Authorization. What is accepted
 * has one spelling only: written anew it is the same text.
 */
#include <stdlib.h>

#include "base/strbuf.h"
#include "proto/basic.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
put_base64(struct strbuf *out, struct span s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)s.p;

	for (size_t i = 0; i < s.n; i += 3) {
		size_t left = s.n - i;
		uint32_t bits = (uint32_t)p[i] << 16;

		bits |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		bits |= left > 2 ? p[i + 2] : 0;
		strbuf_char(out, letters[bits >> 18]);
		strbuf_char(out, letters[bits >> 12 & 63]);
		strbuf_char(out, left > 1 ? letters[bits >> 6 & 63] : '=');
		strbuf_char(out, left > 2 ? letters[bits & 63] : '=');
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = {(const char *)data, size};
	char buf[BASIC_PAIR_MAX];
	struct strbuf pair, text;
	struct basic b;

	if (basic_parse(in, buf, &b) != BASIC_OK)
		return 0;
	CHECK(b.user.n <= BASIC_USER_MAX);
	CHECK(b.password.n <= BASIC_PASSWORD_MAX);
	strbuf_init(&pair, BASIC_PAIR_MAX);
	strbuf_init(&text, SIZE_MAX);
	strbuf_span(&pair, b.user);
	strbuf_char(&pair, ':');
	strbuf_span(&pair, b.password);
	for (size_t i = 0; i < pair.n; i++)
		CHECK((unsigned char)pair.p[i] >= 0x20 && pair.p[i] != 0x7f);
	CHECK(b.user.n == 0 || !memchr(b.user.p, ':', b.user.n));
	put_base64(&text, strbuf_view(&pair));
	CHECK(span_ends(in, strbuf_view(&text)));
	CHECK(in.p[in.n - text.n - 1] == ' ');
	strbuf_free(&pair);
	strbuf_free(&text);
	return 0;
}

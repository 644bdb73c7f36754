/* SPDX-License-Identifier: MIT */
/*
 * fuzz_coding: any bytes as a body with content codings.
 *
 * The first byte chooses these: 'g' gzip, 'd' deflate, 'G' gzip upon gzip, 'D'
 * deflate upon gzip. The rest is the body.
 */
#include <stdlib.h>

#include "proto/coding.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
list_of(uint8_t c, struct coding_list *ret)
{
	switch (c) {
	case 'g':
		*ret = (struct coding_list){1, {CODING_GZIP}};
		return true;
	case 'd':
		*ret = (struct coding_list){1, {CODING_DEFLATE}};
		return true;
	case 'G':
		*ret = (struct coding_list){2, {CODING_GZIP, CODING_GZIP}};
		return true;
	case 'D':
		*ret = (struct coding_list){2, {CODING_GZIP, CODING_DEFLATE}};
		return true;
	default:
		return false;
	}
}

/* A smaller bound gives the beginning of what a larger one gives. */
static void
check_prefix(const struct coding_list *list, struct span in, size_t max,
    struct span all, bool all_whole)
{
	struct strbuf out;
	bool whole;

	CHECK(coding_undo(list, in, true, max, &out, &whole) == 0);
	CHECK(out.n <= max);
	CHECK(span_starts(all, strbuf_view(&out)));
	if (whole)
		CHECK(all_whole && out.n == all.n);
	strbuf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coding_list list;
	struct strbuf out;
	bool whole, cut;

	if (size == 0 || !list_of(data[0], &list))
		return 0;
	struct span in = {(const char *)data + 1, size - 1};
	CHECK(coding_undo(&list, in, true, 65536, &out, &whole) == 0);
	CHECK(out.n <= 65536);
	check_prefix(&list, in, 4096, strbuf_view(&out), whole);
	check_prefix(&list, in, 7, strbuf_view(&out), whole);
	check_prefix(&list, in, 1, strbuf_view(&out), whole);
	strbuf_free(&out);
	/* Who says that there is more to come hears the same, not whole. */
	CHECK(coding_undo(&list, in, false, 65536, &out, &cut) == 0);
	CHECK(!cut);
	strbuf_free(&out);
	return 0;
}

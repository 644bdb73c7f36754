/* SPDX-License-Identifier: MIT */
/*
 * fuzz_expiry: any bytes as a request that may say when it ends.
 *
 * The first line is the host, the rest a request head; where it is none, it is
 * taken as a path and query alone. It is 2030-01-01T00:00:00Z.
 */
#include <stdlib.h>

#include "policy/expiry.h"

#define NOW_MS INT64_C(1893456000000)

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct head_limits limits = {65536, 65536,
	    HEAD_FIELDS_MAX};
	static const int64_t later_ms[] = {1, 999, 60000, NOW_MS};
	struct span rest = {(const char *)data, size}, host, path_query;
	struct head_scan scan = {0};
	struct head h;
	const char *why;
	int64_t left_ms;

	if (size == 0 || !span_cut(&rest, '\n', &host) || rest.p == NULL)
		return 0;
	path_query = rest;
	if (head_request(rest.p, rest.n, &scan, &limits, &h, &why) == HEAD_OK)
		path_query = h.target;
	else
		h = (struct head){.is_request = true};

	left_ms = expiry_left_ms(&h, host, path_query, NOW_MS);
	CHECK(left_ms >= -1);
	for (size_t i = 0; i < sizeof(later_ms) / sizeof(later_ms[0]); i++) {
		int64_t then_ms =
		    expiry_left_ms(&h, host, path_query, NOW_MS + later_ms[i]);

		/* time goes by: less is left, by no more than that */
		CHECK((then_ms == -1) == (left_ms == -1));
		CHECK(then_ms <= left_ms);
		CHECK(then_ms >= left_ms - later_ms[i]);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz_httpdate: any bytes as an HTTP-date. It is 2030-01-01T00:00:00Z.
 *
 * What is accepted lies within the years that can be written, and reads the
 * same once it is written by us.
 */
#include <stdlib.h>

#include "proto/httpdate.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

#define NOW_S INT64_C(1893456000)
#define DAY_S 86400
/* A date in full has no more letters than these. */
#define LONGEST "Wednesday, 01-Jan-2030 00:00:00 +0000"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span in = {(const char *)data, size};
	const int64_t last = httpdate_days(10000, 1, 1) * DAY_S;
	char text[HTTPDATE_LEN + 1];
	int64_t t = -7, u;

	if (httpdate_parse(in, NOW_S, &t) != 0) {
		CHECK(t == -7);
		return 0;
	}
	CHECK(size < sizeof(LONGEST));
	/* The very last second may be a leap second: one more. */
	CHECK(t >= httpdate_days(0, 1, 1) * DAY_S && t <= last);
	httpdate_format(t, text);
	CHECK(strlen(text) == HTTPDATE_LEN);
	CHECK(httpdate_parse(span_of(text), NOW_S, &u) == 0);
	CHECK(u == (t < last ? t : last - 1));
	/* The zone may be left out. */
	CHECK(
	    httpdate_parse((struct span){text, HTTPDATE_LEN - 4}, 0, &u) == 0);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz_hint: any bytes as a wait hint.
 *
 * The first byte chooses: '0' and on, a format in the order of enum
 * hint_format, and the rest is the value; 'H', and the rest is a response head
 * read with the default table. It is 2030-01-01T00:00:00Z.
 */
#include <stdlib.h>

#include "policy/hint.h"

#define NOW_MS INT64_C(1893456000000)
#define FOREVER_MS (INT64_MAX / 4)
#define VALUE_MAX 4096
#define DIGITS_EXACT 15

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 0: no hint. */
static int64_t
read_value(struct span value, enum hint_format f, const struct hint_clock *clk)
{
	int64_t ms = -7;

	if (hint_value(value, f, clk, &ms)) {
		CHECK(ms == -7);
		return 0;
	}
	CHECK(ms > 0 && ms <= FOREVER_MS);
	return ms;
}

/* Blanks around a value and an invalid neighbour in the list change nothing. */
static void
check_dressed(struct span value, enum hint_format f,
    const struct hint_clock *clk)
{
	static const char after[] = {'\t', ' ', ','};
	char text[VALUE_MAX + 8] = "0, \t";
	int64_t ms = read_value(value, f, clk);

	memcpy(text + 4, value.p, value.n);
	memcpy(text + 4 + value.n, after, sizeof(after));
	CHECK(read_value((struct span){text, value.n + 7}, f, clk) == ms);
}

/* Plain numbers in the relative formats, reckoned in another way. */
static void
check_digits(struct span value, const struct hint_clock *clk)
{
	uint64_t n;

	if (value.n > DIGITS_EXACT || span_u64(value, &n))
		return;
	CHECK(read_value(value, HINT_S, clk) == (int64_t)n * 1000);
	CHECK(read_value(value, HINT_MS, clk) == (int64_t)n);
	CHECK(read_value(value, HINT_DURATION, clk) == 0);
}

static void
check_head(struct span text)
{
	static const struct head_limits limits = {65536, 65536,
	    HEAD_FIELDS_MAX};
	struct head_scan scan = {0};
	struct head h;
	struct hint hint;
	const char *why;

	if (head_response(text.p, text.n, &scan, &limits, &h, &why) != HEAD_OK)
		return;
	hint = hint_find(&hint_default, &h, NOW_MS);
	if (!hint.valid) {
		CHECK(hint.wait_ms == 0);
		return;
	}
	CHECK(hint.wait_ms > 0 && hint.wait_ms <= FOREVER_MS);
	CHECK(head_find(&h, hint.source).p != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hint_clock clocks[] = {
	    {.wall_ms = NOW_MS, .date_ms = -1},
	    {.wall_ms = NOW_MS, .date_ms = NOW_MS - 5000, .age_ms = 2000},
	    {.wall_ms = 0, .date_ms = 0, .age_ms = FOREVER_MS},
	};
	struct span value;
	enum hint_format f;

	if (size == 0 || size > VALUE_MAX)
		return 0;
	value = (struct span){(const char *)data + 1, size - 1};
	if (data[0] == 'H') {
		check_head(value);
		return 0;
	}
	f = (enum hint_format)((unsigned)(data[0] - '0') % HINT_FORMAT_COUNT);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		check_dressed(value, f, &clocks[i]);
		check_digits(value, &clocks[i]);
	}
	return 0;
}

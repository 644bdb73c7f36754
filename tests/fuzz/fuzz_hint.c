/* SPDX-License-Identifier: MIT */
/*
 * fuzz_hint: any bytes as a wait hint.
 *
 * The first byte chooses: '0' and on, a format in the order of enum
 * hint_format, and the rest is the value; 'H', and the rest is a response head
 * read with the default table; 'T', and a line like "x-*-reset:auto!" comes
 * before the head, which is the table. It is 2030-01-01T00:00:00Z.
 */
#include <stdlib.h>

#include "policy/hint.h"
#include "policy/hint_name.h"

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

static bool
has_match(const struct head *h, struct span pattern)
{
	for (unsigned i = 0; i < h->nfields; i++) {
		if (hint_name_matches(pattern, h->fields[i].name))
			return true;
	}
	return false;
}

static void
check_head(const struct hint_cfg *cfg, struct span text)
{
	static const struct head_limits limits = {65536, 65536,
	    HEAD_FIELDS_MAX};
	struct head_scan scan = {0};
	struct head h;
	struct hint hint;
	struct hint_quota quota;
	const char *why;

	if (head_response(text.p, text.n, &scan, &limits, &h, &why) != HEAD_OK)
		return;
	hint = hint_find(cfg, &h, NOW_MS);
	CHECK(hint.valid == (hint.wait_ms != 0));
	CHECK(hint.wait_ms >= 0 && hint.wait_ms <= FOREVER_MS);
	CHECK(!hint.valid || has_match(&h, hint.source));
	quota = hint_quota_find(cfg, &h, NOW_MS);
	CHECK(quota.valid == (quota.reset_ms != 0));
	CHECK(quota.reset_ms >= 0 && quota.reset_ms <= FOREVER_MS);
}

static void
check_table(struct span text)
{
	struct hint_source source;
	struct hint_cfg cfg = {&source, 1};
	struct span line;
	const char *why = NULL;

	if (!span_cut(&text, '\n', &line) || text.p == NULL)
		return;
	if (hint_source_parse(line, &source, &why) == 0)
		check_head(&cfg, text);
	else
		CHECK(why != NULL);
}

/* Those that end at a comma. */
static bool
is_item(enum hint_format f)
{
	return f != HINT_TEXT && f != HINT_SF && f != HINT_PAIRS;
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
		check_head(&hint_default, value);
		return 0;
	}
	if (data[0] == 'T') {
		check_table(value);
		return 0;
	}
	f = (enum hint_format)((unsigned)(data[0] - '0') % HINT_FORMAT_COUNT);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (is_item(f))
			check_dressed(value, f, &clocks[i]);
		else
			(void)read_value(value, f, &clocks[i]);
		check_digits(value, &clocks[i]);
	}
	return 0;
}

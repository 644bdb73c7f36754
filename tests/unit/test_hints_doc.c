/* SPDX-License-Identifier: MIT */
/*
 * docs/HINTS.md says what hint_value does. Its tables are read here, by the
 * number of their cells:
 *
 *	| `field` | `field` |                             a reset, what is left
 *	| `field` | `format` | text |                      a default source
 *	| `value` | `format` | ms or none | text |         a value
 *	| `value` | `format` | s | yes or no | s | ms |    a value and the clocks
 *	| `field` `field` | ms or none | `source` | left | text |   an answer
 *
 * All times are as of 2030-01-01T00:00:00Z, as the page says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/hint.h"
#include "policy/hint_name.h"

#define NOW_MS INT64_C(1893456000000)
#define CELLS_MAX 8
#define NONE (-1)

/* A row is a line that begins with "| `"; cells are trimmed. */
struct row {
	unsigned n;
	struct span cell[CELLS_MAX];
};

static bool
row_of(struct span line, struct row *ret)
{
	struct span cell;

	*ret = (struct row){.n = 0};
	if (!span_starts(line, SPAN("| `")) || !span_ends(line, SPAN("|")))
		return false;
	line = (struct span){line.p + 1, line.n - 2};
	while (span_cut(&line, '|', &cell)) {
		assert_true(ret->n < CELLS_MAX);
		ret->cell[ret->n++] = span_trim(cell);
	}
	return true;
}

/* What stands between the backquotes. */
static struct span
code(struct span cell)
{
	assert_true(cell.n > 2);
	assert_true(cell.p[0] == '`' && cell.p[cell.n - 1] == '`');
	return (struct span){cell.p + 1, cell.n - 2};
}

static int64_t
number(struct span cell)
{
	uint64_t v;

	if (span_eq(cell, SPAN("none")))
		return NONE;
	assert_int_equal(span_u64(cell, &v), 0);
	return (int64_t)v;
}

static enum hint_format
format(struct span cell)
{
	enum hint_format f;

	assert_int_equal(hint_format_parse(code(cell), &f), 0);
	return f;
}

static void
check(const struct row *row, const struct hint_clock *clk, struct span want)
{
	struct span value = code(row->cell[0]);
	int64_t ms = NONE;

	if (hint_value(value, format(row->cell[1]), clk, &ms) != 0)
		ms = NONE;
	if (ms != number(want))
		fail_msg("%.*s as %.*s: %lld, not %.*s", SPAN_ARG(value),
		    SPAN_ARG(row->cell[1]), (long long)ms, SPAN_ARG(want));
}

static void
check_clocks(const struct row *row)
{
	bool dated = span_eq(row->cell[3], SPAN("yes"));
	struct hint_clock clk = {
	    .wall_ms = NOW_MS + number(row->cell[2]) * 1000,
	    .date_ms = dated ? NOW_MS : -1,
	    .age_ms = number(row->cell[4]) * 1000,
	};

	assert_true(dated || span_eq(row->cell[3], SPAN("no")));
	check(row, &clk, row->cell[5]);
}

/* "3 of 10 in 40000", "3 in 40000" or "none". */
static void
check_left(struct span cell, const struct hint_quota *q)
{
	char text[96] = "none";

	if (q->valid && q->limit > 0)
		(void)snprintf(text, sizeof(text), "%llu of %llu in %lld",
		    (unsigned long long)q->remaining,
		    (unsigned long long)q->limit, (long long)q->reset_ms);
	else if (q->valid)
		(void)snprintf(text, sizeof(text), "%llu in %lld",
		    (unsigned long long)q->remaining, (long long)q->reset_ms);
	if (!span_eq(cell, span_of(text)))
		fail_msg("left is %s, not %.*s", text, SPAN_ARG(cell));
}

/* An answer of that moment with the fields of a cell. */
static struct head
head_of(struct span cell)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	static char text[4096];
	struct head_scan scan = {0};
	struct head h;
	struct span part;
	const char *why = "";
	int n = snprintf(text, sizeof(text),
	    "HTTP/1.1 429 X\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT\r\n");

	for (unsigned i = 0; span_cut(&cell, '`', &part); i++) {
		if (i % 2 == 1)
			n += snprintf(text + n, sizeof(text) - (size_t)n,
			    "%.*s\r\n", SPAN_ARG(part));
	}
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\r\n");
	assert_int_equal(head_response(text, (size_t)n, &scan, &limits, &h,
			     &why),
	    HEAD_OK);
	return h;
}

static void
check_answer(const struct row *row)
{
	struct head h = head_of(row->cell[0]);
	struct hint hint = hint_find(&hint_default, &h, NOW_MS);
	struct hint_quota quota = hint_quota_find(&hint_default, &h, NOW_MS);
	int64_t ms = hint.valid ? hint.wait_ms : NONE;

	if (ms != number(row->cell[1]))
		fail_msg("%.*s: %lld", SPAN_ARG(row->cell[0]), (long long)ms);
	if (hint.valid)
		assert_true(span_eq(code(row->cell[2]), hint.source));
	else
		assert_int_equal(row->cell[2].n, 0);
	check_left(row->cell[3], &quota);
}

static void
check_sibling(const struct row *row)
{
	struct hint_name name;

	assert_true(hint_name_of_reset(code(row->cell[0]), &name));
	assert_true(hint_name_is(&name, SPAN("remaining"), code(row->cell[1])));
}

static void
check_source(const struct row *row, size_t i)
{
	assert_true(i < hint_default.n);
	const struct hint_source *s = &hint_default.v[i];

	assert_true(span_eq(code(row->cell[0]), s->name));
	assert_int_equal(format(row->cell[1]), s->format);
}

/* The page, where the tree is at hand. */
static const char *
page(void)
{
	const char *top = getenv("top_srcdir");
	static char text[65536];
	char path[4096];

	if (top == NULL)
		skip();
	(void)snprintf(path, sizeof(path), "%s/docs/HINTS.md", top);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	assert_int_equal(fclose(f), 0);
	return text;
}

static void
page_row_says_what_the_code_does(void **state)
{
	static const struct hint_clock plain = {.wall_ms = NOW_MS,
	    .date_ms = NOW_MS};
	struct span rest = span_of(page()), line;
	unsigned values = 0, clocks = 0, answers = 0;
	size_t sources = 0;
	struct row row;

	(void)state;
	while (span_cut(&rest, '\n', &line)) {
		if (!row_of(line, &row))
			continue;
		switch (row.n) {
		case 2:
			check_sibling(&row);
			break;
		case 3:
			check_source(&row, sources++);
			break;
		case 4:
			check(&row, &plain, row.cell[2]);
			values++;
			break;
		case 5:
			check_answer(&row);
			answers++;
			break;
		case 6:
			check_clocks(&row);
			clocks++;
			break;
		default:
			fail_msg("a row of %u cells: %.*s", row.n,
			    SPAN_ARG(line));
		}
	}
	assert_int_equal(sources, hint_default.n);
	assert_true(values >= 60);
	assert_true(clocks >= 6);
	assert_true(answers >= 25);
}

static void
page_shows_each_format_with_and_without_a_wait(void **state)
{
	bool with[HINT_FORMAT_COUNT] = {false},
	     without[HINT_FORMAT_COUNT] = {false};
	struct span rest = span_of(page()), line;
	struct row row;

	(void)state;
	while (span_cut(&rest, '\n', &line)) {
		if (!row_of(line, &row) || row.n != 4)
			continue;
		if (number(row.cell[2]) == NONE)
			without[format(row.cell[1])] = true;
		else
			with[format(row.cell[1])] = true;
	}
	for (unsigned f = 0; f < HINT_FORMAT_COUNT; f++) {
		if (!with[f])
			fail_msg("no wait as %s",
			    hint_format_name((enum hint_format)f));
		/* That a number in ms is none in epoch-ms goes without saying. */
		if (!without[f] && f != HINT_EPOCH_MS)
			fail_msg("no \"none\" as %s",
			    hint_format_name((enum hint_format)f));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(page_row_says_what_the_code_does),
	    cmocka_unit_test(page_shows_each_format_with_and_without_a_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

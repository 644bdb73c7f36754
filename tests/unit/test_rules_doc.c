/* SPDX-License-Identifier: MIT */
/*
 * docs/RULES.md says what rules do. Its blocks of "http" are answers, and the
 * rows of its tables are about the answer above them, by their second cell:
 *
 *	| `rule` | accepted or refused | text |     by the parser
 *	| `rule` | yes or no | text |               does it hold?
 *	| `rule` | ms or none | text |              the wait it gives
 *
 * The kind of a rule is told by its end, and a '|' in one is written "\|".
 */
#include <stdio.h>

#include "when_rig.h"

#define PAGE_MAX 65536
#define ANSWER_MAX 4096

enum said { SAID_PARSED, SAID_HOLDS, SAID_WAIT, SAID_COUNT };

struct doc {
	struct rig rig;
	char head[ANSWER_MAX], body[ANSWER_MAX]; /* of the answer at hand */
	unsigned said[SAID_COUNT][2];            /* rows, by no and yes */
};

/* --- rows ----------------------------------------------------------------- */

/* A row is a line that begins with "| `"; the three cells, trimmed. */
static bool
row_of(struct span line, struct span cell[3])
{
	unsigned n = 0;
	size_t from = 1;

	if (!span_starts(line, SPAN("| `")) || !span_ends(line, SPAN("|")))
		return false;
	for (size_t i = 1; i < line.n; i++) {
		if (line.p[i] != '|' || line.p[i - 1] == '\\')
			continue;
		assert_true(n < 3);
		cell[n++] = span_trim((struct span){line.p + from, i - from});
		from = i + 1;
	}
	assert_int_equal(n, 3);
	return true;
}

/* What stands between the backquotes, its "\|" without the backslash. */
static struct span
rule_of(struct span cell, char *buf)
{
	struct span s = {buf, 0};

	assert_true(cell.n > 2 && cell.n < ANSWER_MAX);
	assert_true(cell.p[0] == '`' && cell.p[cell.n - 1] == '`');
	for (size_t i = 1; i + 1 < cell.n; i++) {
		if (cell.p[i] != '\\' || cell.p[i + 1] != '|')
			buf[s.n++] = cell.p[i];
	}
	return s;
}

/* Behind ":" stands a duration where it begins with a digit, else a format. */
static enum when_kind
kind_of(struct span rule)
{
	size_t n = rule.n;

	while (n > 0 && rule.p[n - 1] != ' ')
		n--;
	if (n < 3 || rule.p[n - 2] != ':' || rule.p[n - 3] != ' ')
		return WHEN_RULE;
	return rule.p[n] >= '0' && rule.p[n] <= '9' ? WHEN_WAIT
						    : WHEN_WAIT_BODY;
}

/* --- what they say -------------------------------------------------------- */

static int64_t
wait_of(struct doc *d, enum when_kind kind)
{
	struct when_list list = {&d->rig.rule, 1};
	struct when_cfg cfg = {.wait = {NULL, 0}};
	struct hint hint;

	if (kind == WHEN_WAIT) {
		cfg.wait = list;
		hint = when_penalty(&cfg, &d->rig.view);
	} else {
		cfg.wait_body = list;
		hint = when_hint(&cfg, &d->rig.view, &rig_clock);
	}
	return hint.valid ? hint.wait_ms : -1;
}

static bool
holds(struct doc *d)
{
	struct when_cfg cfg = {.throttled = {&d->rig.rule, 1}};

	return when_judge(&cfg, &d->rig.view) == WHEN_THROTTLED;
}

static void
count(struct doc *d, enum said what, bool yes)
{
	d->said[what][yes]++;
}

static void
check_row(struct doc *d, const struct span cell[3])
{
	char buf[ANSWER_MAX];
	struct span rule = rule_of(cell[0], buf), says = cell[1];
	enum when_kind kind = kind_of(rule);
	struct when_fault f = {.why = ""};
	int rc = when_parse(rule, kind, &d->rig.rule, &f);
	bool right;
	uint64_t ms;

	if (span_eq(says, SPAN("accepted")) || span_eq(says, SPAN("refused"))) {
		right = (rc == 0) == span_eq(says, SPAN("accepted"));
		count(d, SAID_PARSED, rc == 0);
	} else if (kind == WHEN_RULE) {
		assert_true(
		    span_eq(says, SPAN("yes")) || span_eq(says, SPAN("no")));
		right = rc == 0 && holds(d) == span_eq(says, SPAN("yes"));
		count(d, SAID_HOLDS, span_eq(says, SPAN("yes")));
	} else if (span_eq(says, SPAN("none"))) {
		right = rc == 0 && wait_of(d, kind) == -1;
		count(d, SAID_WAIT, false);
	} else {
		assert_int_equal(span_u64(says, &ms), 0);
		right = rc == 0 && wait_of(d, kind) == (int64_t)ms;
		count(d, SAID_WAIT, true);
	}
	if (!right)
		fail_msg("%.*s: not %.*s (%s)", SPAN_ARG(rule), SPAN_ARG(says),
		    f.why);
}

/* --- answers -------------------------------------------------------------- */

/* The block that begins at *rest, up to its closing fence. */
static void
take_answer(struct doc *d, struct span *rest)
{
	bool in_body = false;
	size_t nhead = 0, nbody = 0;
	struct span line;

	while (span_cut(rest, '\n', &line) && !span_eq(line, SPAN("```"))) {
		if (in_body)
			nbody += (size_t)snprintf(d->body + nbody,
			    ANSWER_MAX - nbody, "%.*s\n", SPAN_ARG(line));
		else
			nhead += (size_t)snprintf(d->head + nhead,
			    ANSWER_MAX - nhead, "%.*s\r\n", SPAN_ARG(line));
		assert_true(nhead < ANSWER_MAX && nbody < ANSWER_MAX);
		in_body = in_body || line.n == 0;
	}
	d->body[nbody] = '\0';
	rig_close(&d->rig);
	rig_open(&d->rig, d->head, d->body);
}

/* The page, where the tree is at hand. */
static const char *
page(void)
{
	const char *top = getenv("top_srcdir");
	static char text[PAGE_MAX];
	char path[4096];

	if (top == NULL)
		skip();
	(void)snprintf(path, sizeof(path), "%s/docs/RULES.md", top);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	assert_true(n < sizeof(text) - 1);
	text[n] = '\0';
	assert_int_equal(fclose(f), 0);
	return text;
}

static void
page_row_says_what_the_code_does(void **state)
{
	static struct doc d;
	struct span rest = span_of(page()), line,
		    cell[3] = {{"", 0}, {"", 0}, {"", 0}};

	(void)state;
	rig_open(&d.rig, "HTTP/1.1 200 OK\r\n\r\n", "");
	while (span_cut(&rest, '\n', &line)) {
		if (span_eq(line, SPAN("```http")))
			take_answer(&d, &rest);
		else if (row_of(line, cell))
			check_row(&d, cell);
	}
	rig_close(&d.rig);
	for (unsigned i = 0; i < SAID_COUNT; i++)
		assert_true(d.said[i][0] >= 5 && d.said[i][1] >= 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(page_row_says_what_the_code_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

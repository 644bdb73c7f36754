/* SPDX-License-Identifier: MIT */
/*
 * script_pattern: the patterns of Lua (reference manual 5.4, 6.4.1), matched
 * within a budget. Lua's own matcher runs in one go, out of the reach of any
 * hook: a pattern with a few repetitions and a text that a server made for it
 * would hold up a worker for hours. This one counts each step.
 *
 * Knows nothing of Lua's state. A compiled pattern borrows nothing.
 */
#ifndef AB_SCRIPT_PATTERN_H
#define AB_SCRIPT_PATTERN_H

#include "base/span.h"

#define SCRIPT_PATTERN_ITEMS 128   /* characters, classes, captures */
#define SCRIPT_PATTERN_CAPTURES 32

struct script_item {
	uint8_t kind;    /* enum, of the .c file */
	char repeat;     /* 0, '*', '+', '-' or '?' */
	char a, b;       /* BALANCE: the two; BACK: a: the capture */
	uint8_t set[32]; /* ONE, FRONTIER: a bit for each character */
};

struct script_pattern {
	unsigned n;
	unsigned ncaptures;
	bool anchored;   /* '^': matches at the start only */
	struct script_item v[SCRIPT_PATTERN_ITEMS];
};

/*
 * NULL, or what is wrong with it (static, "malformed pattern (...)"). *ret is
 * then unspecified. anchors: '^' in front is one, not a character.
 */
AB_MUST const char *script_pattern_compile(struct span text, bool anchors,
    struct script_pattern *ret);

/* Nothing in it means more than itself. */
bool script_pattern_is_plain(struct span text);

struct script_capture {
	const char *p; /* into the text */
	size_t n;
	bool position; /* "()": p counts, n does not */
};

struct script_match {
	const char *p; /* the whole of it, in the text */
	size_t n;
	unsigned ncaptures;
	struct script_capture v[SCRIPT_PATTERN_CAPTURES];
};

enum script_matched { SCRIPT_MATCHED, SCRIPT_NO_MATCH, SCRIPT_TOO_LONG };

/*
 * The first match in text[from..]; an anchored one only at `from`. from <=
 * text.n. *steps: what may still be spent, taken down by what was; at 0 it is
 * SCRIPT_TOO_LONG. *ret is filled on SCRIPT_MATCHED, and points into text.
 */
AB_MUST enum script_matched script_pattern_match(
    const struct script_pattern *p, struct span text, size_t from,
    uint64_t *steps, struct script_match *ret);

#endif

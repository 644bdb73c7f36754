/* SPDX-License-Identifier: MIT */
/*
 * script: a fixed sequence of answers for the attempts on a key.
 *
 *   STEPS = STEP *( "," STEP )
 *   STEP  = ( status | "close" | "rst" | "hang" ) [ ":" hint ] [ "*" [ n ] ]
 *
 * "429:2*3,503,200": three times 429 with a hint of 2 s, a 503 without a hint,
 * a 200. "503*" goes on for ever. After the last step attempts are answered as
 * if there were no script.
 */
#ifndef AB_ORIGIN_SCRIPT_H
#define AB_ORIGIN_SCRIPT_H

#include "base/span.h"

#define SCRIPT_STEPS_MAX 64
#define SCRIPT_FOREVER   UINT64_MAX

enum step_kind {
	STEP_STATUS,
	STEP_CLOSE, /* no answer: FIN */
	STEP_RST,   /* no answer: RST */
	STEP_HANG,  /* no answer, connection open */
};

struct step {
	enum step_kind kind;
	int status;      /* STEP_STATUS: 200..599 */
	int64_t hint_ns; /* -1: none */
	uint64_t times;  /* >= 1, or SCRIPT_FOREVER */
};

struct script {
	struct step v[SCRIPT_STEPS_MAX];
	unsigned n;
	bool loop; /* start again after the last step */
};

/* Appends the steps in s. 0, or -1 and *ret_why for people. */
AB_MUST int script_parse(struct script *sc, struct span s,
    const char **ret_why);
/* Appends one step; -1 when there are too many. */
AB_MUST int script_add(struct script *sc, const struct step *st);
/* The step for the nth attempt (0 is the first), or NULL after the end. */
const struct step *script_at(const struct script *sc, uint64_t nth);
/* Equal scripts have equal digests; no steps: 0. */
uint64_t script_digest(const struct script *sc);

#endif
